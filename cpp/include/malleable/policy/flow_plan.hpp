// The plan of a set of flows, and the steps that all policies of flows share: schedules from
// recipes (how a schedule is made, kernel/flow_search.hpp), completions from pieces (a job on so
// many slots for some time), value, bound and speed.
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
  // How many times as fast the slots would have to be for the value to be the bound; NaN if flows
  // arrive later, because times then do not shrink together.
  double speed = std::numeric_limits<double>::quiet_NaN();
  // value of FlowFlex's schedule as printed, if computed (policy/flowflex)
  double literal_value = std::numeric_limits<double>::quiet_NaN();
  std::vector<Index> order;               // of flows
  std::vector<double> flow_completion;    // absolute
  std::vector<double> start, completion;  // of jobs, absolute
  std::vector<std::int64_t> allocation;   // slots of jobs now
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

// Starts, completions (absolute) and slots now of all jobs, from the pieces. If pieces of a job are
// too short for a double to represent, the job keeps the completion (from now) in the plan.
void complete_jobs(const FlowProblem& problem, FlowPlan& plan);

// The least factor >= 1 by which all completions (counted from now) would have to shrink for the
// objective to be at most `bound`.
double speed_needed(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    std::span<const double> flow_completion, double bound);

// Computes the completions of flows from those of their jobs, and the value.
void complete_flows(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    FlowPlan& plan);

// A quick lower bound; the plan must have its completions.
double quick_bound(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlowPlan& plan);

// Whether the penalties of all flows with work are step functions.
bool all_steps(const FlowProblem& problem, const Penalties& penalties);

// Whether penalties may be infinite; then sets `strict`, which has finite ones.
bool study_deadlines(const FlowProblem& problem, const Penalties& penalties,
                     StrictDeadlines& strict);

// Sets the true value, bound, status and speed of a plan that was made for finite penalties.
void settle_deadlines(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                      const StrictDeadlines& strict, FlowPlan& plan);

// Sets bound and speed of a plan that has its value, given a bound.
void finish_plan(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                 double lower, FlowPlan& plan);

}  // namespace malleable
