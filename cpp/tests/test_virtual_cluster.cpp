// Virtual reduces: the reduce tasks that each job would have left if they did not wait for maps.
#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "malleable/policy/virtual_cluster.hpp"

namespace malleable::check {
namespace test_virtual_cluster {

// Jobs on 10 map and 5 reduce slots, or on 15 generic ones, given by their unfinished tasks.
struct Fixture {
  std::vector<std::int64_t> map_slots, reduce_slots, zero{0};
  std::vector<double> rate{1.0}, link{1e9}, arrival;
  std::vector<std::int64_t> maps, reduces;
  ClusterState state;
  VirtualCluster machine;

  explicit Fixture(bool generic)
      : map_slots{generic ? 15 : 10}, reduce_slots{generic ? std::int64_t{0} : 5} {
    state.cluster = {map_slots, reduce_slots, rate, zero, link, link, generic};
    state.slots[0] = map_slots[0];
    state.slots[1] = reduce_slots[0];
  }
  void jobs(std::vector<std::int64_t> map_tasks, std::vector<std::int64_t> reduce_tasks,
            double seconds = 10.0) {
    maps = std::move(map_tasks);
    reduces = std::move(reduce_tasks);
    arrival.assign(maps.size(), 0.0);
    state.jobs.arrival = arrival;
    state.jobs.tasks[kMap] = maps;
    state.jobs.tasks[kReduce] = reduces;
    state.phases.assign(2 * maps.size(), {});
    for (Index j = 0; j < maps.size(); ++j) {
      for (const Phase p : {kMap, kReduce}) {
        PhaseState& s = state.phases[2 * j + p];
        s.total = s.waiting = state.jobs.tasks[p][j];
        s.estimate = seconds;
      }
    }
  }
  // All jobs come now.
  void begin() {
    machine.begin(state);
    for (Index j = 0; j < maps.size(); ++j) {
      state.present.push_back(j);
      machine.arrive(state, j);
    }
    machine.advance(state);
  }
  void at(double now) {
    state.now = now;
    machine.advance(state);
  }
};

// 100 reduce tasks of 10 s: with slots of two kinds the five for reduces do them, half a task a
// second, with any maps of the job; with generic slots the maps take theirs first.
TEST(speed_is_that_of_the_pool) {
  Fixture separate(false);
  separate.jobs({1000}, {100});
  separate.begin();
  separate.at(10.0);
  CHECK_NEAR(separate.machine.reduces(0), 95.0, 1e-9);
  for (const std::int64_t maps : {0, 4, 11, 15, 1000}) {
    Fixture generic(true);
    generic.jobs({maps}, {100});
    generic.begin();
    generic.at(10.0);
    const auto left = static_cast<double>(std::max<std::int64_t>(15 - maps, 0));
    CHECK_NEAR(generic.machine.reduces(0), 100.0 - left, 1e-9);
  }
}

// Nodes twice as fast do twice as much; a pool without slots nothing, and when some come, at once.
TEST(speed_follows_the_nodes) {
  Fixture f(false);
  f.jobs({0}, {100});
  f.rate[0] = 2.0;
  f.begin();
  f.at(10.0);
  CHECK_NEAR(f.machine.reduces(0), 90.0, 1e-9);
  f.state.slots[1] = 0;
  f.at(10.0);
  f.at(50.0);
  CHECK_NEAR(f.machine.reduces(0), 90.0, 1e-9);
  f.state.slots[1] = 1;
  f.at(50.0);
  f.at(60.0);
  CHECK_NEAR(f.machine.reduces(0), 88.0, 1e-9);
}

// Three reduce tasks use three of five slots, the next job the two that are left until the
// next call: after 10 s the first is done, after 20 s the other has 20 - 2 - 5 tasks left.
TEST(no_more_slots_than_tasks) {
  Fixture f(false);
  f.jobs({5, 5}, {3, 20});
  f.begin();
  f.at(5.0);
  CHECK_NEAR(f.machine.reduces(0), 1.5, 1e-9);
  CHECK_NEAR(f.machine.reduces(1), 19.0, 1e-9);
  f.at(10.0);
  CHECK_EQUAL(f.machine.reduces(0), 0.0);
  CHECK_NEAR(f.machine.reduces(1), 18.0, 1e-9);
  f.at(20.0);
  CHECK_NEAR(f.machine.reduces(1), 13.0, 1e-9);
  f.at(1e12);
  CHECK_EQUAL(f.machine.reduces(1), 0.0);
}

// Seconds of all slots: job 0 has 100 maps (100 s) and 5 reduces (10 s), job 1 1 and 40 (81 s), and
// goes first until it has more left than job 0, whose maps end.
TEST(order_is_total_work_left) {
  Fixture f(false);
  f.jobs({100, 1}, {5, 40});
  f.begin();
  f.at(10.0);
  CHECK_EQUAL(f.machine.reduces(0), 5.0);
  CHECK_NEAR(f.machine.reduces(1), 35.0, 1e-9);
  f.state.phases[0].finished = 60;  // 40 s and 10 s, against 71 s
  f.at(10.0);
  f.at(20.0);
  CHECK_EQUAL(f.machine.reduces(0), 0.0);
  CHECK_NEAR(f.machine.reduces(1), 35.0, 1e-9);
}

// Work that the cluster has done is done there, too; jobs that left are forgotten.
TEST(never_behind_the_cluster) {
  Fixture f(false);
  f.jobs({0, 0}, {8, 40});
  f.begin();
  f.state.phases[3].finished = 30;
  f.at(0.0);
  CHECK_EQUAL(f.machine.reduces(1), 10.0);
  f.state.present.erase(f.state.present.begin());
  f.at(0.0);
  f.at(10.0);
  CHECK_NEAR(f.machine.reduces(1), 5.0, 1e-9);
}

// s^(1/2) together, by the job's exponent.
TEST(speed_up_below_linear) {
  Fixture root(false);
  root.jobs({0}, {100});
  const std::vector<double> exponent{0.5};
  root.state.jobs.exponent = exponent;
  root.begin();
  root.at(10.0);
  CHECK_NEAR(root.machine.reduces(0), 100.0 - std::sqrt(5.0), 1e-9);
}

// Tasks of no time, of the least and of the longest: it ends, and no job gets more slots than there
// are.
TEST(any_time_of_tasks) {
  for (const double seconds : {0.0, 5e-324, 1e-300, 1.0, 1e300, 1.7e308}) {
    for (const bool generic : {false, true}) {
      context = text("seconds ", seconds, " generic ", generic);
      Fixture f(generic);
      f.jobs({1, 1000, 0}, {3, 1, 1000}, seconds);
      f.begin();
      for (const double now : {1e-300, 1.0, 1e9, 1e300}) {
        f.at(now);
        for (const Index j : f.state.present) {
          CHECK(f.machine.reduces(j) >= 0.0);
          CHECK(f.machine.reduces(j) <= static_cast<double>(f.reduces[j]));
        }
      }
    }
  }
  context.clear();
}

}  // namespace test_virtual_cluster
}  // namespace malleable::check
