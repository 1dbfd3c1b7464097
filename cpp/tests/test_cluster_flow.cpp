#include <limits>
#include <vector>

#include "check.hpp"
#include "malleable/policy/cluster_flow.hpp"
#include "malleable/sim/cluster.hpp"

namespace malleable::check {
namespace {

constexpr double kEnd = std::numeric_limits<double>::infinity();

// One node with two generic slots; jobs of map tasks.
struct World {
  std::vector<std::int64_t> slots{2}, none{0};
  std::vector<double> rate{1.0}, speed{kEnd}, arrival, seconds, no_seconds;
  std::vector<std::int64_t> maps, reduces, offset{0}, after, user, flow;
  ClusterFlowOptions flows;

  void job(std::int64_t number, std::int64_t tasks, double each,
           std::vector<std::int64_t> waits_for, std::int64_t owner) {
    arrival.push_back(0.0);
    maps.push_back(tasks);
    seconds.push_back(each);
    reduces.push_back(0);
    no_seconds.push_back(0.0);
    after.insert(after.end(), waits_for.begin(), waits_for.end());
    offset.push_back(static_cast<std::int64_t>(after.size()));
    user.push_back(owner);
    flow.push_back(number);
  }
  std::vector<double> completions() const {
    const ClusterView cluster{slots, none, rate, none, none, speed, speed, true};
    ClusterJobsView jobs;
    jobs.arrival = arrival;
    jobs.tasks[kMap] = maps;
    jobs.tasks[kReduce] = reduces;
    jobs.seconds[kMap] = seconds;
    jobs.seconds[kReduce] = no_seconds;
    jobs.after_offset = offset;
    jobs.after = after;
    jobs.user = user;
    jobs.flow = flow;
    validate(cluster);
    validate(jobs);
    ClusterOptions options;
    options.epoch = 0.0;
    ClusterFlow policy(flows);
    ClusterSimulation simulation(cluster, jobs, options, {}, {}, policy);
    simulation.advance(kEnd);
    return simulation.completion;
  }
};

// The short flow gets a slot at once; the other one's first job has the other slot, and both from 1
// on: until 11. Then its second job.
TEST(flows_by_hand) {
  World world;
  world.job(0, 2, 10.0, {}, 0);
  world.job(0, 1, 5.0, {0}, 0);
  world.job(1, 1, 1.0, {}, 0);
  const std::vector<double> found = world.completions();
  CHECK_EQUAL(found[0], 11.0);
  CHECK_EQUAL(found[1], 16.0);
  CHECK_EQUAL(found[2], 1.0);
}

// Ten tasks of a second each: one flow after the other, or a slot each for their users.
TEST(users_share_before_flows) {
  World world;
  world.job(0, 10, 1.0, {}, 0);
  world.job(1, 10, 1.0, {}, 1);
  CHECK_EQUAL(world.completions()[0], 5.0);
  CHECK_EQUAL(world.completions()[1], 10.0);
  world.flows.by_user = true;
  CHECK_EQUAL(world.completions()[0], 10.0);
  CHECK_EQUAL(world.completions()[1], 10.0);
}

}  // namespace
}  // namespace malleable::check
