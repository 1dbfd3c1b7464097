// FlowFlex (Nagarajan, Wolf, Balmin, Hildrum: Middleware 2013): flows of malleable jobs, any
// penalty, sum or max, with guarantees.
//
// Decides: an order of flows and how a schedule is made from it. The authors' own way (literal):
// chains of pseudo-jobs (stage 1, flow_chains.hpp), deadlines from half of each flow's work in a
// minimum-cost flow (sums) or from bracket and bisection (max), the greedy in the order of those
// deadlines (stage 2, deadline_greedy.hpp: a chain at a time, as early and as wide as free slots
// allow), back to the jobs by the wrap-around rule (stage 3, wrap_around.hpp). Around it: other
// shares than one half, orders from the flows as malleable jobs, the choice of steps behind the
// bound for step penalties (flow_bound.hpp), ready lists (ready jobs get slots by rank) in place of
// the greedy, then local search over orders of flows and over keys of jobs. The best schedule is
// kept, so none is worse than the literal one.
//
// Strict deadlines are aimed at first, by figure 5's greedy in their order; a miss costs its weight
// (strict_deadlines.hpp), so the search meets as many as it can. That some must be missed is proved
// by the bound's profiles of forced work, which imply figure 5's own test (a chain that ends after
// twice its deadline), or by the step bound.
//
// Theorems 1 to 4 (all flows present at the start): literal sums cost at most twice the bound when
// the slots run at speed 3, literal maxima at most the bound at speed 2. `speed` is the speed that
// a plan really needs: the least factor by which all times would have to shrink for its value to be
// no more than its lower bound (definition 2).
//
// Kernels: flow_chains, min_cost_flow, time_cells, deadline_greedy, wrap_around, ready_list,
// fair_list, flow_search, key_search, flow_bound, priority_orders. O(jobs log jobs) per order or
// candidate.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "malleable/kernel/flow_search.hpp"
#include "malleable/kernel/key_search.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/kernel/strict_deadlines.hpp"
#include "malleable/kernel/time_cells.hpp"
#include "malleable/policy/flow_plan.hpp"

namespace malleable {

// Default number of candidates after the fixed orders; fewer for large instances, so that all of
// them together cost about as much.
inline constexpr std::uint64_t kFlowEffort = 4000;
std::uint64_t default_flow_effort(std::size_t jobs);

enum class FlowMethod : std::uint8_t {
  kBest,     // everything above
  kFast,     // a few orders without the minimum-cost flow: the authors' variant for clusters
  kLiteral,  // figures 3, 5, 6 and 8 to the letter
};

struct FlowOptions {
  FlowMethod method = FlowMethod::kBest;
  std::uint64_t effort = kFlowEffort;
  // Seconds. All fixed orders are tried; bounds that take longer than a few orders, and the search,
  // end when the budget is over.
  double budget = kInfinity;
  std::span<const Index> warm;  // an order of flows to try among the first; may be empty
  // `warm` is kept unless another order is better by more than this share; infinite: always.
  double hysteresis = 0.0;
};

class FlowFlex {
 public:
  void plan(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
            const FlowOptions& options, FlowPlan& plan);
  // Orders of flows that the last plan was chosen from, its own first, for callers that serve flows
  // by an order and compare lists.
  void orders(const FlowPlan& plan, std::vector<std::vector<Index>>& orders) const;

 private:
  void plan_finite(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlowOptions& options, FlowPlan& plan);
  // Scores a schedule's recipe (an order and how to follow it), and keeps it among the best.
  void consider(FlowRecipe recipe);
  // Tries an order in all forms, as far as tries are left.
  void consider_all(const std::vector<Index>& order, std::span<const double> due);
  void begin(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
             const FlowOptions& options);
  // The schedule as printed, which comes first; returns its value.
  double take_literal();
  // Tries the caller's order, that of strict deadlines, and those of flows as malleable jobs.
  void take_orders();
  // These set lower_, and try the orders that the bound suggests.
  void bound_sum();
  double cell_bound();
  void bound_max();
  // Keeps the caller's order unless another is better by more than the hysteresis.
  void keep_warm();
  // Whether the best value is as good as the bound.
  bool reached() const;
  const std::function<bool()>* late_if_timed() const;
  void literal(FlowRecipe& recipe);
  // For a maximum: the least level (value of the maximum; it sets each flow a deadline) that the
  // greedy meets within twice the time.
  void bisect(double low, double high, FlowRecipe& recipe);
  void solve_cells(TimeCells::Charge charge, const std::function<bool()>* late);
  // Tries orders of the flows as malleable jobs.
  void relaxed_orders();
  // For a maximum: searches keys of jobs for levels between the bound and the best value.
  void search_levels(FlowRecipe& top, Score& best, std::uint64_t& left);
  void search(std::uint64_t& left);
  void order_by(std::span<const double> due, std::vector<Index>& order);

  const FlowProblem* problem_ = nullptr;
  const Penalties* penalties_ = nullptr;
  Aggregate aggregate_ = Aggregate::kSum;
  const FlowOptions* options_ = nullptr;
  std::function<bool()> late_;  // the budget is over
  FlowChains chains_;
  FlowBound bound_;
  FlowSearch search_;
  KeySearch keys_;
  DeadlineGreedy greedy_;
  TimeCells cells_;
  CellCosts costs_;
  MinCostFlow min_cost_flow_;
  PriorityOrders orders_;
  StrictDeadlines strict_;
  KeySort sorter_;
  Problem relaxed_;
  std::vector<double> due_, finite_due_, placed_end_;  // by flow, from now
  std::vector<double> strict_due_;                     // from now; empty: no strict deadlines
  std::vector<Index> order_, placed_;
  std::vector<FlowRecipe> recipes_;
  FlowRecipe kept_;  // recipe of the warm order (options.warm), if hysteresis is used
  std::vector<Score> scores_;
  std::size_t tries_ = 0;  // tries left for fixed orders
  // effort over the default effort, at most 1; bounds scale their time by it
  double share_ = 1.0;
  double lower_ = -kInfinity;  // lower bound so far
};

}  // namespace malleable
