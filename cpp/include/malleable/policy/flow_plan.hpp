// The plan of a set of flows, and what every policy of flows does to one: schedules from recipes,
// completions from pieces, value, bound and speed.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "malleable/kernel/flow_search.hpp"
#include "malleable/kernel/strict_deadlines.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

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

// Completions of flows from those of their jobs; value.
void complete_flows(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    FlowPlan& plan);

// No schedule is better, by what does not take long; the plan has its ends.
double quick_bound(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlowPlan& plan);

// Every flow with work pays by steps alone.
bool all_steps(const FlowProblem& problem, const Penalties& penalties);

// Whether penalties may be infinite here; `strict` then stands for them.
bool study_deadlines(const FlowProblem& problem, const Penalties& penalties,
                     StrictDeadlines& strict);

// True value, bound, status and speed of a plan that was made for finite penalties.
void settle_deadlines(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                      const StrictDeadlines& strict, FlowPlan& plan);

// Bound and speed of a plan that has its value, given a bound.
void finish_plan(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                 double lower, FlowPlan& plan);

}  // namespace malleable
