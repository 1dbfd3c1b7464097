// The adaptive policy on a simulated cluster.
#include <map>

#include "check.hpp"
#include "malleable/policy/cluster_adaptive.hpp"
#include "malleable/sim/cluster.hpp"

namespace malleable::check {
namespace test_cluster_adaptive {

// No slot idles, and programs are solved seldom.
AdaptiveOptions eager() {
  return {.grouped = true,
          .by_slots = true,
          .fallback = true,
          .threshold = 0.2,
          .memory = 3600.0,
          .max_wait = 3600.0,
          .patience = 10.0};
}

using Numbers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

struct Rates {
  Doubles arrival, execution, nodes;
};

// Every class everywhere; remembers what it was asked.
ClassMatcher everywhere(std::vector<Rates>* asked) {
  return [asked](std::span<const double> arrival, std::span<const double> execution,
                 std::span<const double> nodes) {
    asked->push_back({{arrival.begin(), arrival.end()},
                      {execution.begin(), execution.end()},
                      {nodes.begin(), nodes.end()}});
    return Doubles(execution.size(), 1.0);
  };
}

struct Case {
  Numbers map_slots = {2, 2, 4}, reduce_slots = {1, 1, 2}, type = {0, 0, 1};
  Doubles rate = {1, 1, 2}, storage = {kInfinity, kInfinity, kInfinity}, link = storage;
  Doubles arrival = {0, 0, 5, 9};
  Numbers maps = {6, 6, 1, 40}, reduces = {2, 2, 0, 1};
  Doubles map_seconds = {10, 10, 3, 1}, reduce_seconds = {20, 20, 0, 5};
  Numbers user = {0, 1, 0, 1};
  Doubles minimum = {0, 2}, priority = {1, 1};

  ClusterView cluster() const {
    return {map_slots, reduce_slots, rate, type, storage, link, false};
  }
  ClusterJobsView jobs() const {
    ClusterJobsView view;
    view.arrival = arrival;
    view.tasks[0] = maps;
    view.tasks[1] = reduces;
    view.seconds[0] = map_seconds;
    view.seconds[1] = reduce_seconds;
    view.user = user;
    view.user_minimum = minimum;
    view.user_priority = priority;
    return view;
  }
};

// A class that no node is suggested to starts when it has waited too long, though nothing else
// happens then, and however many heartbeats that takes.
TEST(who_is_suggested_nowhere_is_overdue_once) {
  Case given;
  for (auto* column : {&given.arrival, &given.map_seconds, &given.reduce_seconds})
    column->resize(1);
  for (auto* column : {&given.maps, &given.reduces, &given.user}) column->resize(1);
  given.maps[0] = 1;
  given.reduces[0] = 0;
  for (const double heartbeat : {0.0, 1.0, 0.001}) {
    AdaptiveOptions options = eager();
    options.fallback = false;
    options.placement = false;
    const auto nowhere = [](std::span<const double> arrival, std::span<const double>,
                            std::span<const double> nodes) {
      return std::vector<double>(arrival.size() * nodes.size(), 0.0);
    };
    ClusterAdaptive policy(options, nowhere);
    ClusterOptions cluster;
    cluster.heartbeat = heartbeat;
    cluster.ageing = 0.0;  // the policy's own end of waits
    ClusterSimulation simulation(given.cluster(), given.jobs(), cluster, {}, {}, policy);
    simulation.advance(kInfinity);
    CHECK_NEAR(simulation.start[0], options.max_wait, heartbeat);
  }
}

TEST(everything_is_done_and_nothing_idles) {
  const Case given;
  for (const bool grouped : {true, false}) {
    std::vector<Rates> asked;
    AdaptiveOptions options = eager();
    options.grouped = grouped;
    ClusterAdaptive policy(options, everywhere(&asked));
    ClusterOptions settings;
    settings.replicas = 2;
    ClusterSimulation simulation(given.cluster(), given.jobs(), settings, {}, {}, policy);
    simulation.advance(kInfinity);
    CHECK_EQUAL(simulation.totals().completed, std::int64_t{4});
    CHECK_EQUAL(simulation.totals().tasks, std::int64_t{58});
    CHECK_EQUAL(simulation.totals().idle[0], 0.0);
    CHECK_EQUAL(simulation.totals().idle[1], 0.0);
    // Two alike jobs share a class, the others have one each; nodes alike are one resource.
    CHECK_EQUAL(policy.scheduler().classes(), std::size_t{3});
    CHECK_EQUAL(policy.scheduler().resources(), grouped ? std::size_t{2} : std::size_t{3});
    for (Index job = 0; job < 4; ++job) CHECK_EQUAL(policy.scheduler().waiting(job, 0), 0);
    // Asked first for user 1's classes, later for all; slots by seconds of the scarcer phase.
    CHECK(!asked.empty());
    CHECK_EQUAL(asked[0].nodes[0], grouped ? 2.0 : 1.0);
    CHECK_NEAR(asked[0].execution[0], 1.0 / 40.0, 1e-15);
    CHECK_NEAR(asked[0].execution[grouped ? 1 : 2], 1.0 / 10.0, 1e-15);
  }
}

TEST(nodes_that_leave_take_nothing_with_them) {
  const Case given;
  std::vector<Rates> asked;
  ClusterAdaptive policy(eager(), everywhere(&asked));
  const Doubles time = {4, 30};
  const Numbers node = {2, 2};
  const std::vector<std::uint8_t> up = {0, 1};
  ClusterSimulation simulation(given.cluster(), given.jobs(), {}, {time, node, up}, {}, policy);
  simulation.advance(kInfinity);
  CHECK(simulation.totals().killed > 0);
  CHECK_EQUAL(simulation.totals().tasks, std::int64_t{58});
  CHECK_EQUAL(simulation.totals().idle[0], 0.0);
}

TEST(one_scheduler_runs_again) {
  const Case given;
  std::vector<Rates> asked;
  ClusterAdaptive policy(eager(), everywhere(&asked));
  Doubles first;
  for (int k = 0; k < 2; ++k) {
    ClusterSimulation simulation(given.cluster(), given.jobs(), {}, {}, {}, policy);
    simulation.advance(kInfinity);
    if (k == 0) first = simulation.completion;
    CHECK(first == simulation.completion);
  }
}

}  // namespace test_cluster_adaptive
}  // namespace malleable::check
