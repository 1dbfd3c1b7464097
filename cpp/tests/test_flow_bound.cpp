// Lower bounds for flows (jobs that wait for each other), against schedules that exist.
#include <numeric>

#include "flow_instances.hpp"
#include "malleable/kernel/flow_bound.hpp"
#include "malleable/kernel/flow_search.hpp"

namespace malleable::check {
namespace test_flow_bound {

constexpr Kind kKinds[] = {Kind::kResponse, Kind::kCompletion, Kind::kStretch,
                           Kind::kTardy,    Kind::kTardiness,  Kind::kSla};

// Completions (from now) of many schedules: random orders and ready lists.
template <typename Visit>
void schedules(Random& random, const FlowProblem& problem, Visit visit) {
  FlowChains chains;
  chains.build(problem);
  std::vector<Index> order(problem.flows()), rank(problem.jobs());
  std::iota(order.begin(), order.end(), Index{0});
  std::iota(rank.begin(), rank.end(), Index{0});
  for (int k = 0; k < 12; ++k) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (std::size_t i = rank.size(); i > 1; --i) std::swap(rank[i - 1], rank[random() % i]);
    std::vector<double> end(problem.flows(), 0.0), jobs(problem.jobs(), 0.0);
    const auto done = [&](Index j, double t) {
      end[j] = t;
      return true;
    };
    DeadlineGreedy().run(problem, chains, order, done);
    visit(end);
    ReadyList().run(problem, rank, jobs, done);
    visit(end);
  }
}

double value_of(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                std::vector<double> end) {
  for (std::size_t j = 0; j < end.size(); ++j) {
    end[j] = problem.volume[j] > 0.0 ? problem.now + end[j] : problem.idle_end[j];
  }
  return evaluate(penalties, aggregate, end);
}

TEST(profiles_hold_what_schedules_do) {
  // One chain of a narrow and a wide job on 4 slots: 2 s at 1 slot, then 3 s at 4.
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(2.0, 1);
  table.add_job(12.0, 6, {0});
  const FlowProblem problem = table.problem(4);
  FlowBound bound;
  bound.build(problem);
  CHECK_EQUAL(bound.earliest()[0], 5.0);
  CHECK_EQUAL(bound.all().at(0, 1.0), 1.0);
  CHECK_EQUAL(bound.all().at(0, 3.0), 6.0);
  CHECK_EQUAL(bound.all().at(0, 9.0), 14.0);
}

TEST(no_schedule_beats_a_bound) {
  trials(1, 400, [](Random& random) {
    const FlowTable table = random_flows(random, 6, 6, true);
    if (table.arrival.empty()) return;
    const FlowProblem problem = table.problem(integer(random, 1, 8));
    const Kind kind = kKinds[random() % std::size(kKinds)];
    const Penalties penalties = table.penalties(kind);
    double best_sum = kInfinity, best_max = kInfinity;
    std::vector<double> some;
    schedules(random, problem, [&](const std::vector<double>& end) {
      best_sum = std::min(best_sum, value_of(problem, penalties, Aggregate::kSum, end));
      best_max = std::min(best_max, value_of(problem, penalties, Aggregate::kMax, end));
      some = end;
    });
    FlowBound bound;
    bound.build(problem);
    // Bounds that get a larger value must not use it.
    const double far = 2.0 * best_sum + 10.0, margin = 1e-8 * (1.0 + best_sum);
    CHECK_AT_MOST(bound.alone(penalties, Aggregate::kSum), best_sum, margin);
    CHECK_AT_MOST(bound.alone(penalties, Aggregate::kMax), best_max, margin);
    CHECK_AT_MOST(bound.busy_bound(penalties, some), best_sum, margin);
    CHECK_EQUAL(bound.grid_bound(penalties, far, 1e-4), -kInfinity);
    for (const double share : {1.0, 0.3, 0.001}) {
      CHECK_AT_MOST(bound.grid_bound(penalties, far, share), best_sum, margin);
    }
    CHECK_AT_MOST(bound.max_level(penalties, -kInfinity, 2.0 * best_max + 10.0), best_max, margin);
    if (kind == Kind::kTardy || kind == Kind::kSla) {
      std::vector<double> due(problem.flows());
      for (const std::uint64_t nodes : {0, 50, 100'000}) {
        CHECK_AT_MOST(bound.step_bound(penalties, far, nodes, due), best_sum, margin);
      }
    }
  });
}

// 8 slot-seconds at 0 and, ten times as heavy, 4 at 1, on 4 slots: the second one is served from 1
// to 2, between the halves of the first, whose mean busy time is 1.5 and whose end so 2.5 at least.
TEST(flows_that_come_later_are_served_when_they_are_here) {
  FlowTable table;
  table.add_flow(0.0, 1.0, kInfinity);
  table.add_job(8.0, 4);
  table.add_flow(1.0, 10.0, kInfinity);
  table.add_job(4.0, 4);
  const FlowProblem problem = table.problem(4);
  FlowBound bound;
  bound.build(problem);
  const std::vector<double> end{3.0, 2.0};
  CHECK_NEAR(bound.busy_bound(table.penalties(Kind::kResponse), end), 12.5, 1e-9);
  CHECK_NEAR(bound.busy_bound(table.penalties(Kind::kCompletion), end), 22.5, 1e-9);
}

TEST(a_single_flow_is_bounded_exactly) {
  trials(2, 200, [](Random& random) {
    FlowTable table;
    table.add_flow(0.0, 2.0, 1.0);
    double path = 0.0;
    for (std::int64_t i = 0, jobs = integer(random, 1, 5); i < jobs; ++i) {
      const double work = real(random, 0.5, 4.0);
      const std::int64_t most = integer(random, 1, 4);
      table.add_job(work, most,
                    i > 0 ? std::vector<std::int64_t>{i - 1} : std::vector<std::int64_t>{});
      path += work / static_cast<double>(most);
    }
    const FlowProblem problem = table.problem(4);
    FlowBound bound;
    bound.build(problem);
    const Penalties penalties = table.penalties(Kind::kCompletion);
    CHECK_NEAR(bound.max_level(penalties, -kInfinity, 100.0), 2.0 * path, 1e-8 * path);
  });
}

}  // namespace test_flow_bound
}  // namespace malleable::check
