// The scheduler that an engine drives: events in, decisions and task starts out.
#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_gittins.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/scheduler/scheduler.hpp"

namespace malleable::check {
namespace test_scheduler {

ClusterNodes two_nodes() {
  ClusterNodes nodes;
  nodes.slots[0] = {2, 2};
  nodes.slots[1] = {1, 1};
  nodes.type = {0, 0};
  nodes.rate = {1.0, 1.0};
  nodes.storage = nodes.link = {kInfinity, kInfinity};
  return nodes;
}

struct Jobs {
  std::vector<double> arrival, weight, deadline, seconds[2];
  std::vector<std::int64_t> tasks[2], least, user, group, flow, after_offset{0}, after;

  void add(std::int64_t maps, double map_seconds, std::int64_t reduces, double reduce_seconds) {
    flow.push_back(static_cast<std::int64_t>(arrival.size()));
    arrival.push_back(0.0);
    weight.push_back(1.0);
    deadline.push_back(kInfinity);
    tasks[0].push_back(maps);
    tasks[1].push_back(reduces);
    seconds[0].push_back(map_seconds);
    seconds[1].push_back(reduce_seconds);
    least.push_back(0);
    user.push_back(0);
    group.push_back(-1);
    after_offset.push_back(0);
  }
  Scheduler::Additions view() const {
    Scheduler::Additions added;
    added.arrival = arrival;
    added.weight = weight;
    added.deadline = deadline;
    for (const Phase p : {kMap, kReduce}) {
      added.seconds[p] = seconds[p];
      added.tasks[p] = tasks[p];
      added.min_slots[p] = least;
    }
    added.user = user;
    added.group = group;
    added.flow = flow;
    added.after_offset = after_offset;
    added.after = after;
    return added;
  }
};

struct World {
  std::unique_ptr<ClusterEpoch> policy;
  Scheduler scheduler;

  explicit World(const SchedulerOptions& options = {})
      : policy(make_cluster_epoch({flex()})), scheduler(two_nodes(), {}, options, *policy) {}
  static EpochOptions flex() {
    EpochOptions options;
    options.policy = EpochPolicy::kFlex;
    return options;
  }
};

TEST(queue_of_free_slots) {
  SlotQueue queue;
  const std::vector<std::int64_t> slots{2, 1};
  queue.reset(slots);
  CHECK_EQUAL(queue.size(), std::size_t{3});
  CHECK_EQUAL(queue.pop(), Index{0});
  CHECK_EQUAL(queue.pop(), Index{1});
  queue.push(1);
  queue.erase(0);
  CHECK_EQUAL(queue.size(), std::size_t{1});
  CHECK_EQUAL(queue.pop(), Index{1});
}

TEST(events_decisions_and_starts) {
  World world;
  Jobs jobs;
  jobs.add(4, 5.0, 1, 1.0);
  jobs.add(2, 1.0, 0, 0.0);
  const auto added = world.scheduler.add(jobs.view(), 0.0);
  const std::vector<std::int64_t> ids(added.begin(), added.end());
  const auto rows = world.scheduler.decide(0.0);
  CHECK_EQUAL(rows.size(), std::size_t{2});
  // The shorter one has what it can use.
  CHECK_EQUAL(rows[0].slots[0], std::int64_t{2});
  CHECK_EQUAL(rows[1].slots[0], std::int64_t{2});
  CHECK(rows[1].bound[0] == Bound::kMaximum);
  const std::vector<std::int64_t> maps{2, 2}, reduces{1, 1};
  const auto starts = world.scheduler.assign(0.0, {maps, reduces});
  CHECK_EQUAL(starts.size(), std::size_t{4});
  const std::vector<std::int64_t> phase{0, 0}, twice{ids[1], ids[1]};
  const std::vector<double> seconds{1.0, 1.0};
  CHECK_EQUAL(world.scheduler.ended({twice, phase, {}, {}, {}, seconds}, 1.0), std::int64_t{0});
  CHECK_EQUAL(world.scheduler.ended({twice, phase}, 1.0), std::int64_t{2});
  world.scheduler.finish(std::span(ids).subspan(1), 1.0);
  CHECK_EQUAL(world.scheduler.size(), std::size_t{1});
  CHECK_EQUAL(world.scheduler.decide(1.0).size(), std::size_t{1});
  CHECK_EQUAL(world.scheduler.ended({twice, phase}, 2.0), std::int64_t{2});
}

// A policy without sizes gets none: decisions leave estimates unchanged, and a caller that asks for
// one still gets what was learnt.
TEST(estimates_are_for_those_who_read_them) {
  SchedulerOptions options;
  options.learn = true;
  EpochOptions fair;
  fair.policy = EpochPolicy::kFair;
  ClusterFifo first;
  ClusterGittins least(false);
  const auto equal = make_cluster_epoch({fair}), sized = make_cluster_epoch({World::flex()});
  for (ClusterPolicy* policy :
       std::initializer_list<ClusterPolicy*>{&first, &least, equal.get(), sized.get()}) {
    Scheduler scheduler(two_nodes(), {}, options, *policy);
    Jobs jobs;
    jobs.add(20, 2.0, 0, 0.0);
    const auto ids = scheduler.add(jobs.view(), 0.0);
    const std::vector<std::int64_t> id(ids.begin(), ids.end()), map{0}, four{4};
    const double before = scheduler.state().phase(0, kMap).estimate;
    scheduler.started({id, map, four}, 0.0);
    scheduler.ended({id, map, four, {}, {}, std::vector<double>{9.0}}, 9.0);
    scheduler.decide(9.0);
    const bool same = scheduler.state().phase(0, kMap).estimate == before;
    CHECK_EQUAL(same, policy != sized.get());
    CHECK(scheduler.estimate_of(0, kMap).seconds > 1.5 * before);
  }
}

// The same bytes, and the same decisions after.
TEST(state_goes_on) {
  SchedulerOptions options;
  options.learn = true;
  World world(options), other(options);
  Jobs jobs;
  for (int k = 0; k < 5; ++k) jobs.add(3 + k, 2.0, 1, 1.0);
  const auto added = world.scheduler.add(jobs.view(), 0.0);
  const std::vector<std::int64_t> ids(added.begin(), added.end()), phase(5, 0);
  world.scheduler.decide(0.0);
  const std::vector<std::int64_t> maps{2, 2}, reduces{1, 1};
  world.scheduler.assign(0.0, {maps, reduces});
  world.scheduler.finish(std::span(ids).first(1), 1.0);
  const std::string bytes = save_state("Scheduler", world.scheduler);
  load_state("Scheduler", bytes, other.scheduler);
  CHECK(save_state("Scheduler", other.scheduler) == bytes);
  for (Scheduler* each : {&world.scheduler, &other.scheduler}) {
    each->ended({ids, phase, {}, {}, {}, std::vector<double>(5, 4.0)}, 3.0);
    each->decide(3.0);
    each->assign(3.0, {maps, reduces});
  }
  CHECK(save_state("Scheduler", other.scheduler) == save_state("Scheduler", world.scheduler));
}

}  // namespace test_scheduler
}  // namespace malleable::check
