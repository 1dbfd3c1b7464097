// FLEX, FAIR, WDEQ and FIFO on a cluster, whose jobs have map and reduce tasks in pools of slots.
#include <vector>

#include "check.hpp"
#include "malleable/policy/cluster_epoch.hpp"

namespace malleable::check {
namespace test_cluster_epoch {

// Two jobs of 8 and 2 tasks on 4 slots, as the policy sees them.
struct Fixture {
  std::vector<std::int64_t> slots{4}, none{0}, kind{0}, tasks{8, 2}, zero{0, 0};
  std::vector<double> one{1.0}, arrival{0.0, 1.0}, seconds{10.0, 10.0};
  ClusterState state;
  std::vector<double> value{0.0, 0.0}, old;
  std::vector<Index> moved;

  Fixture() {
    state.cluster = {slots, none, one, kind, one, one, false};
    state.jobs.arrival = arrival;
    state.jobs.tasks[kMap] = tasks;
    state.jobs.tasks[kReduce] = zero;
    state.jobs.seconds[kMap] = seconds;
    state.jobs.seconds[kReduce] = seconds;
    state.slots[0] = 4;
    state.now = 1.0;
    state.size = {80.0, 20.0};
    state.rank = {0, 1};
    state.phases.resize(4);
    for (const Index j : {Index{0}, Index{1}}) {
      PhaseState& s = state.phases[2 * j];
      s.total = s.waiting = tasks[j];
      s.estimate = 10.0;
      s.ready = true;
      state.present.push_back(j);
      state.changed[0].push_back(j);
    }
  }
  void decide(const std::unique_ptr<ClusterEpoch>& policy) {
    moved.clear();
    old.clear();
    ClusterPolicy::Answer answer(value, moved, old);
    policy->decide(state, 0, answer);
    state.changed[0].clear();
  }
};

// Tasks of 1e15 s are accepted, and their end, too.
TEST(decides_beyond_the_last_time_there_is) {
  for (const Kind kind : {Kind::kResponse, Kind::kTardiness, Kind::kTardy}) {
    Fixture f;
    EpochOptions options;
    options.kind = kind;
    const auto flex = make_cluster_epoch({options});
    flex->begin(f.state);
    f.state.now = 2e15;
    f.decide(flex);
    CHECK_EQUAL(f.value[0] + f.value[1], 4.0);
  }
}

// Together they are more work than an epoch takes, whether they are new or were learned to be so
// long.
TEST(many_tasks_of_the_longest_kind) {
  Fixture f;
  const auto flex = make_cluster_epoch({});
  flex->begin(f.state);
  f.state.phases[0].estimate = 1e15;
  f.state.size[0] = 8e15;
  f.decide(flex);
  CHECK_EQUAL(f.value[0], 2.0);
  f.state.phases[2].estimate = 1e16;
  f.state.changed[0] = {0, 1};
  f.decide(flex);
  CHECK_EQUAL(f.value[0] + f.value[1], 4.0);
}

TEST(shortest_job_gets_what_it_can_use) {
  Fixture f;
  const auto flex = make_cluster_epoch({});
  flex->begin(f.state);
  f.decide(flex);
  CHECK_EQUAL(f.value[0], 2.0);
  CHECK_EQUAL(f.value[1], 2.0);
  CHECK_EQUAL(f.moved.size(), std::size_t{2});
  // One of its tasks is over: one slot is enough.
  f.state.phases[2].waiting = 1;
  f.state.phases[2].finished = 1;
  f.state.changed[0] = {1};
  f.decide(flex);
  CHECK_EQUAL(f.value[0], 3.0);
  CHECK_EQUAL(f.value[1], 1.0);
  // It leaves.
  f.state.phases[2].waiting = 0;
  f.state.phases[2].finished = 2;
  f.state.changed[0] = {1};
  f.decide(flex);
  CHECK_EQUAL(f.value[0], 4.0);
  CHECK_EQUAL(f.value[1], 0.0);
}

TEST(estimates_make_the_order) {
  Fixture f;
  f.state.phases[0].estimate = 1.0;
  f.state.phases[2].estimate = 100.0;
  const auto flex = make_cluster_epoch({});
  flex->begin(f.state);
  f.decide(flex);
  CHECK_EQUAL(f.value[0], 4.0);
  CHECK_EQUAL(f.value[1], 0.0);
  const auto gentle = make_cluster_epoch({.at_least_one = true});
  gentle->begin(f.state);
  f.state.changed[0] = {0, 1};
  f.decide(gentle);
  CHECK_EQUAL(f.value[0], 3.0);
  CHECK_EQUAL(f.value[1], 1.0);
}

TEST(fair_shares_and_generic_slots) {
  Fixture f;
  EpochOptions options;
  options.policy = EpochPolicy::kFair;
  const auto fair = make_cluster_epoch({options});
  fair->begin(f.state);
  f.decide(fair);
  CHECK_EQUAL(f.value[0], 2.0);
  CHECK_EQUAL(f.value[1], 2.0);
  // With generic slots the ready tasks of both phases count together.
  f.state.cluster.generic = true;
  PhaseState& reduce = f.state.phases[1];
  reduce.total = reduce.waiting = 3;
  reduce.estimate = 5.0;
  CHECK_EQUAL(f.state.demand(0, 0).most, std::int64_t{8});
  reduce.ready = true;
  CHECK_EQUAL(f.state.demand(0, 0).most, std::int64_t{11});
  CHECK_NEAR(f.state.demand(0, 0).work, 95.0, 1e-12);
}

}  // namespace test_cluster_epoch
}  // namespace malleable::check
