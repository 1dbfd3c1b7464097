// Stage 2 of FlowFlex: chains of pseudo-jobs (parts of a flow in which the same jobs run) take free
// slots as early as possible.
#include <numeric>

#include "flow_instances.hpp"
#include "malleable/kernel/deadline_greedy.hpp"

namespace malleable::check {
namespace test_deadline_greedy {

std::vector<Index> random_order(Random& random, std::size_t count) {
  std::vector<Index> order(count);
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t k = count; k > 1; --k) std::swap(order[k - 1], order[random() % k]);
  return order;
}

// Figure 5 with a histogram that is searched from its beginning every time.
std::vector<double> slowly(const FlowProblem& problem, const FlowChains& chains,
                           const std::vector<Index>& order) {
  std::vector<double> end(problem.flows(), 0.0);
  std::map<double, double> free{{0.0, problem.slots}};  // from there on
  for (const Index j : order) {
    double time = problem.release[j];
    for (std::size_t k = chains.offset[j]; k < chains.offset[j + 1]; ++k) {
      double left = chains.work(k);
      while (left > 1e-12 * chains.work(k)) {
        auto at = std::prev(free.upper_bound(time));
        if (at->first < time) at = free.emplace_hint(std::next(at), time, at->second);
        const auto next = std::next(at);
        const double until = next == free.end() ? kInfinity : next->first;
        const double slots = std::min(at->second, chains.height[k]);
        if (slots == 0.0) {
          time = until;
          continue;
        }
        const double stop = std::min(until, time + left / slots);
        if (stop < until) free.emplace_hint(next, stop, at->second);
        at->second -= slots;
        left -= slots * (stop - time);
        time = stop;
      }
    }
    end[j] = time;
  }
  return end;
}

TEST(greedy_is_figure_5) {
  trials(1, 600, [](Random& random) {
    const FlowTable table = random_flows(random, 7, 6, true);
    const FlowProblem problem = table.problem(integer(random, 1, 9));
    FlowChains chains;
    chains.build(problem);
    const auto order = random_order(random, problem.flows());
    const auto expected = slowly(problem, chains, order);
    DeadlineGreedy greedy;
    ChainPieces pieces;
    std::size_t calls = 0;
    greedy.run(
        problem, chains, order,
        [&](Index j, double end) {
          CHECK_NEAR(end, expected[j], 1e-9 * (1.0 + expected[j]));
          ++calls;
          return true;
        },
        &pieces);
    CHECK_EQUAL(calls, problem.flows());
    std::map<double, double> change;
    std::vector<double> done(chains.length.size(), 0.0);
    for (std::size_t q = 0; q < pieces.pseudo_job.size(); ++q) {
      const std::size_t k = pieces.pseudo_job[q];
      CHECK(pieces.height[q] > 0.0 && pieces.height[q] <= chains.height[k]);
      CHECK(pieces.end[q] > pieces.start[q]);
      done[k] += pieces.height[q] * (pieces.end[q] - pieces.start[q]);
      change[pieces.start[q]] += pieces.height[q];
      change[pieces.end[q]] -= pieces.height[q];
    }
    for (std::size_t k = 0; k < done.size(); ++k) {
      CHECK_NEAR(done[k], chains.work(k), 1e-10 * (1.0 + chains.work(k)));
    }
    double used = 0.0;
    for (const auto& [time, slots] : change) CHECK((used += slots) <= problem.slots);
  });
}

TEST(a_run_can_be_ended) {
  FlowTable table;
  for (int j = 0; j < 3; ++j) {
    table.add_flow(0.0, 1.0, 9.0);
    table.add_job(2.0, 2);
  }
  const FlowProblem problem = table.problem(2);
  FlowChains chains;
  chains.build(problem);
  const std::vector<Index> order{2, 0, 1};
  std::vector<Index> seen;
  DeadlineGreedy().run(problem, chains, order, [&](Index j, double) {
    seen.push_back(j);
    return seen.size() < 2;
  });
  CHECK(seen == (std::vector<Index>{2, 0}));
}

// Theorem 2: if the deadlines can be met at all, the greedy meets twice their time. Deadlines of a
// schedule that exists (another order's) can be met.
TEST(twice_every_deadline_that_can_be_met) {
  trials(2, 600, [](Random& random) {
    const FlowTable table = random_flows(random, 7, 6);
    const FlowProblem problem = table.problem(integer(random, 1, 9));
    FlowChains chains;
    chains.build(problem);
    const auto due = slowly(problem, chains, random_order(random, problem.flows()));
    std::vector<Index> order(problem.flows());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return due[a] < due[b]; });
    DeadlineGreedy().run(problem, chains, order, [&](Index j, double end) {
      CHECK_AT_MOST(end, 2.0 * due[j], 1e-9 * (1.0 + due[j]));
      return true;
    });
  });
}

}  // namespace test_deadline_greedy
}  // namespace malleable::check
