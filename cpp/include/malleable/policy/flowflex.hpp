// FlowFlex (Nagarajan, Wolf, Balmin, Hildrum: Middleware 2013): flows of malleable jobs, any
// penalty, sum or max, with guarantees.
//
// Decides: an order of flows and what a schedule is made of it. The paper's own way (literal):
// chains of pseudo-jobs (stage 1), deadlines from half of each flow's work in a minimum-cost flow
// (sums) or from bracket and bisection (max), the greedy in the order of those deadlines (stage 2),
// back to the jobs by the wrap-around rule (stage 3). Around it: other shares than one half, orders
// from the flows as malleable jobs, the choice of steps behind the step bound, ready lists in place
// of the greedy, then local search over orders of flows and over keys of jobs. The best schedule is
// kept, so none is worse than the literal one.
//
// Strict deadlines are aimed at first, by figure 5's greedy in their order; a miss costs its weight
// (strict_deadlines.hpp), so as many as can be found are met. That some must be missed is proved by
// the bound's profiles of forced work, which imply figure 5's own test (a chain that ends after
// twice its deadline), or by the step bound.
//
// Theorems 1 to 4 (all flows present at the start): literal sums cost at most twice the bound when
// the slots run at speed 3, literal maxima at most the bound at speed 2. `speed` says what a plan
// really needs: the least factor by which all times would have to shrink for its value to be no
// more than its lower bound (definition 2).
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

#include "malleable/kernel/fair_list.hpp"
#include "malleable/kernel/flow_search.hpp"
#include "malleable/kernel/key_search.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/kernel/strict_deadlines.hpp"
#include "malleable/kernel/time_cells.hpp"
#include "malleable/kernel/wrap_around.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

// Candidates after the fixed orders unless the caller says otherwise: fewer for large instances, so
// that they cost about as much in all.
inline constexpr std::uint64_t kFlowEffort = 4000;
std::uint64_t default_flow_effort(std::size_t jobs);

enum class FlowMethod : std::uint8_t {
  kBest,     // everything above
  kFast,     // a few orders without the minimum-cost flow: the paper's variant for clusters
  kLiteral,  // figures 3, 5, 6 and 8 to the letter
};

struct FlowOptions {
  FlowMethod method = FlowMethod::kBest;
  std::uint64_t effort = kFlowEffort;
  // Seconds. Fixed orders are all tried; the bounds that take longer than a few of them, and the
  // search, end when it is over.
  double budget = std::numeric_limits<double>::infinity();
  std::span<const Index> warm;  // an order of flows to try among the first; may be empty
  // `warm` is kept unless something is better by more than this share; infinite: `warm` decides.
  double hysteresis = 0.0;
};

struct FlowPlan {
  Status status = Status::kOk;
  double value = 0.0, lower_bound = -kInfinity;
  // Least speed at which the value would be the bound; NaN where flows arrive later, since times
  // then do not shrink together.
  double speed = std::numeric_limits<double>::quiet_NaN();
  double literal_value = std::numeric_limits<double>::quiet_NaN();  // of the paper's way, if taken
  std::vector<Index> order;                                         // of flows
  std::vector<double> flow_completion;                              // absolute
  std::vector<double> start, completion;
  std::vector<std::int64_t> allocation;
  Pieces pieces;
  std::uint64_t candidates = 0;

  void state(State& s) {
    s(status, value, lower_bound, speed, literal_value, order, flow_completion, start, completion);
    s(allocation, pieces, candidates);
  }
};

class FlowFlex {
 public:
  void plan(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
            const FlowOptions& options, FlowPlan& plan);

 private:
  void plan_finite(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlowOptions& options, FlowPlan& plan);
  void consider(FlowRecipe recipe);
  void consider_all(const std::vector<Index>& order, std::span<const double> due);
  void literal(Aggregate aggregate, FlowRecipe& recipe);
  void bisect(double low, double high, FlowRecipe& recipe);
  void solve_cells(TimeCells::Charge charge, const std::function<bool()>* late);
  void relaxed_orders();
  void pursue(double low, FlowRecipe& top, Score& best, std::uint64_t& left,
              const std::function<bool()>& late);
  void search(double low, std::uint64_t& left, const std::function<bool()>& late);
  bool all_steps() const;
  void order_by(std::span<const double> due, std::vector<Index>& order);

  const FlowProblem* problem_ = nullptr;
  const Penalties* penalties_ = nullptr;
  Aggregate aggregate_ = Aggregate::kSum;
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
  std::vector<double> due_, finite_due_, placed_end_;
  std::vector<double> strict_due_;  // from now; empty: no strict deadlines
  std::vector<Index> order_, placed_;
  std::vector<FlowRecipe> recipes_;
  FlowRecipe kept_;  // of the warm order, while hysteresis asks for it
  std::vector<Score> scores_;
  std::size_t tries_ = 0;  // left for fixed orders
  double lower_ = -kInfinity;
};

// The schedule of a recipe, in full: pieces, starts, completions, slots now, value. O(pieces log).
void schedule_flows(const FlowProblem& problem, const FlowChains& chains,
                    const Penalties& penalties, Aggregate aggregate, const FlowRecipe& recipe,
                    FlowSearch& search, FlowPlan& plan);

// Starts, completions (absolute) and slots now of all jobs, from the pieces. A job some of whose
// pieces are too short for the clock keeps the completion (from now) that stands in the plan.
void complete_jobs(const FlowProblem& problem, FlowPlan& plan);

// Least factor >= 1 by which all completions would have to come sooner (counted from now) for the
// objective to be at most `bound`.
double speed_needed(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    std::span<const double> flow_completion, double bound);

// The schedulers that FlowFlex is measured against, as ready lists (section 5.1): FIFO serves flows
// by arrival, FAIR all ready jobs alike. Both know only what is ready.
enum class FlowBaseline : std::uint8_t { kFifo, kFair };
void plan_baseline(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   FlowBaseline which, std::span<const double> arrival, FlowPlan& plan);

}  // namespace malleable
