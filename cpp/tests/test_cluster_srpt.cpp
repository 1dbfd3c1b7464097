// Shortest-first policies on a cluster, by estimated work left.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/policy/cluster_srpt.hpp"

namespace malleable::check {
namespace test_cluster_srpt {

// Three jobs on 10 map and 5 reduce slots; maps are ready, reduces as given.
struct Fixture {
  std::vector<std::int64_t> map_slots{10}, reduce_slots{5}, zero{0}, maps{20, 10, 5},
      reduces{2, 10, 1};
  std::vector<double> one{1.0}, arrival{0.0, 0.0, 0.0}, seconds{10.0, 10.0, 10.0};
  ClusterState state;
  std::vector<double> value{0.0, 0.0, 0.0}, old;
  std::vector<Index> moved;

  explicit Fixture(bool reduces_ready) {
    state.cluster = {map_slots, reduce_slots, one, zero, one, one, false};
    state.jobs.arrival = arrival;
    state.jobs.tasks[kMap] = maps;
    state.jobs.tasks[kReduce] = reduces;
    state.jobs.seconds[kMap] = state.jobs.seconds[kReduce] = seconds;
    state.slots[0] = 10;
    state.slots[1] = 5;
    state.phases.resize(6);
    for (const Index j : {Index{0}, Index{1}, Index{2}}) {
      for (const Phase p : {kMap, kReduce}) {
        PhaseState& s = state.phases[2 * j + p];
        s.total = s.waiting = state.jobs.tasks[p][j];
        s.estimate = 10.0;
        s.ready = p == kMap || reduces_ready;
      }
      state.size.push_back(10.0 * static_cast<double>(maps[j] + reduces[j]));
      state.present.push_back(j);
      state.came.push_back(j);
      state.changed[0].push_back(j);
      state.changed[1].push_back(j);
    }
  }
  void decide(ClusterSrpt& policy, int pool) {
    policy.begin(state);
    for (const Index j : state.present) policy.job_arrived(state, j);
    ClusterPolicy::Answer answer(value, moved, old);
    policy.decide(state, pool, answer);
  }
};

// Seconds of all slots: maps 20, 10, 5; reduces 4, 20, 2.
TEST(ranks_are_work_left) {
  Fixture f(true);
  ClusterSrpt srpt(SrptKind::kSrpt, 1.0);
  f.decide(srpt, 0);
  CHECK_EQUAL(f.value[0], 24.0);
  CHECK_EQUAL(f.value[1], 30.0);
  CHECK_EQUAL(f.value[2], 7.0);
  ClusterSrpt larger(SrptKind::kMaxSrpt, 1.0);
  f.decide(larger, 1);
  CHECK_EQUAL(f.value[0], 20.0);
  CHECK_EQUAL(f.value[1], 20.0);
  CHECK_EQUAL(f.value[2], 5.0);
}

// Seconds of all slots, maps + reduces: 20 + 4, 10 + 20, 5 + 2. After 10 s of the five reduce slots
// the virtual machine is done with the reduces of jobs 2 (one slot) and 0 (two), and with two of
// job 1's ten; map tasks go by what is left there, reduce tasks by what is really left.
TEST(map_tasks_follow_the_virtual_machine) {
  Fixture f(true);
  ClusterSrpt asrpt(SrptKind::kAsrpt, 1.0);
  f.decide(asrpt, 0);
  CHECK_EQUAL(f.value[0], 24.0);
  CHECK_EQUAL(f.value[1], 30.0);
  CHECK_EQUAL(f.value[2], 7.0);
  f.state.now = 10.0;
  ClusterPolicy::Answer answer(f.value, f.moved, f.old);
  asrpt.decide(f.state, 0, answer);
  CHECK_NEAR(f.value[0], 20.0, 1e-9);
  CHECK_NEAR(f.value[1], 26.0, 1e-9);
  CHECK_NEAR(f.value[2], 5.0, 1e-9);
  asrpt.decide(f.state, 1, answer);
  CHECK_EQUAL(f.value[0], 24.0);
  CHECK_EQUAL(f.value[1], 30.0);
  CHECK_EQUAL(f.value[2], 7.0);
  // Once its maps are done, a job has the work that is really left in either pool.
  f.state.phases[0].finished = f.maps[0];
  asrpt.decide(f.state, 0, answer);
  CHECK_EQUAL(f.value[0], 4.0);
}

// p = 1/2: of three jobs the smallest gets 1 - 4/9 of ten slots, the next 3/9, the largest 1/9; but
// the smallest has only five tasks.
TEST(parts_for_sublinear_speed_up) {
  Fixture f(false);
  ClusterSrpt hesrpt(SrptKind::kHeSrpt, 0.5);
  f.decide(hesrpt, 0);
  CHECK_EQUAL(f.value[2], 5.0);
  CHECK_EQUAL(f.value[1], 4.0);
  CHECK_EQUAL(f.value[0], 1.0);
  ClusterSrpt linear(SrptKind::kHeSrpt, 1.0);
  f.decide(linear, 0);
  CHECK_EQUAL(f.value[2], 5.0);
  CHECK_EQUAL(f.value[1], 5.0);
  CHECK_EQUAL(f.value[0], 0.0);
}

// Exponents 0.2, 0.5 and 0.8 are one half on average, and job 1 gains nothing beyond two slots:
// what it does not use goes to the next smaller ones first, then on.
TEST(exponents_of_jobs) {
  Fixture f(false);
  SrptOptions options;
  options.kind = SrptKind::kHeSrpt;
  options.exponents = {0.2, 0.5, 0.8};
  options.useful = {10, 2, 10};
  ClusterSrpt hesrpt(options);
  f.decide(hesrpt, 0);
  CHECK_EQUAL(f.value[2], 5.0);
  CHECK_EQUAL(f.value[1], 2.0);
  CHECK_EQUAL(f.value[0], 3.0);
}

// Two users: jobs 0 and 2 belong to one, job 1 to the other; five map slots each, shortest first.
TEST(users_share_before_jobs) {
  for (const SrptKind kind : {SrptKind::kSrpt, SrptKind::kMaxSrpt, SrptKind::kAsrpt}) {
    Fixture f(true);
    f.maps[2] = f.state.phases[4].total = f.state.phases[4].waiting = 3;
    const std::vector<std::int64_t> user{0, 1, 0};
    f.state.jobs.user = user;
    f.state.user_running.assign(2, 0);
    SrptOptions options;
    options.kind = kind;
    options.by_user = true;
    ClusterSrpt policy(options);
    CHECK(policy.style() == ClusterPolicy::Style::kTargets);
    f.decide(policy, 0);
    CHECK_EQUAL(f.value[2], 3.0);
    CHECK_EQUAL(f.value[0], 2.0);
    CHECK_EQUAL(f.value[1], 5.0);
  }
}

// Sorted again at every decision after any change: the same as a policy that begins there.
TEST(order_is_kept_between_decisions) {
  trials(3, 100, [](Random& random) {
    Fixture f(true);
    ClusterSrpt kept(SrptKind::kHeSrpt, 0.5);
    f.decide(kept, 0);
    for (int step = 0; step < 10; ++step) {
      for (const Index j : f.state.present) {
        f.state.phases[2 * j].waiting = integer(random, 0, 9);
        f.state.phases[2 * j].estimate = static_cast<double>(integer(random, 1, 4));
      }
      ClusterPolicy::Answer answer(f.value, f.moved, f.old);
      kept.decide(f.state, 0, answer);
      const std::vector<double> found = f.value;
      ClusterSrpt fresh(SrptKind::kHeSrpt, 0.5);
      f.decide(fresh, 0);
      for (const Index j : f.state.present) CHECK_EQUAL(found[j], f.value[j]);
    }
  });
}

}  // namespace test_cluster_srpt
}  // namespace malleable::check
