#include "malleable/policy/finish_plan.hpp"

#include <algorithm>

namespace malleable {

bool study_deadlines(const Problem& problem, const Penalties& penalties, StrictDeadlines& strict) {
  if (!penalties.may_be_infinite()) return false;
  double total = 0.0, longest = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    total += problem.work[j];
    longest = std::max(longest, problem.work[j] / problem.high[j]);
  }
  return strict.study(penalties, problem.now, total / problem.slots + longest, problem.work,
                      problem.idle_end);
}

// Whether no schedule can meet all strict deadlines (behind which penalties are infinite).
bool deadlines_impossible(const Problem& problem, const StrictDeadlines& strict,
                          DemandBound& demand_bound) {
  if (strict.lost()) return true;
  std::vector<double> due(problem.size());
  strict.due(1.0, due);
  for (std::size_t j = 0; j < problem.size(); ++j) {
    // A gang that never runs, or a job that is late even alone.
    const bool never = problem.gang && problem.low[j] > problem.slots;
    if (problem.work[j] == 0.0 || due[j] == kInfinity) continue;
    if (never || problem.work[j] > problem.high[j] * due[j]) return true;
  }
  return demand_bound.peak(problem, due).excess > 0.0;
}

// Sets value, bound and status of a plan with these completions; `earliest`: lower bounds of
// completions, if they are known.
void finish_plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                 std::span<const double> completion, LowerBound& lower_bound, Plan& plan,
                 bool quick_bound, std::span<const double> earliest) {
  const std::size_t n = problem.size();
  plan.completion.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const bool idle = problem.work[j] == 0.0;
    plan.completion[j] = idle ? problem.idle_end[j] : problem.now + completion[j];
    if (idle && !plan.start.empty()) plan.start[j] = problem.idle_end[j];
  }
  // Pieces too short for doubles are not written: a job starts with its first written piece.
  const Pieces& pieces = plan.pieces;
  for (std::size_t k = 0; k < pieces.size(); ++k) plan.start[pieces.job[k]] = kInfinity;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    double& start = plan.start[pieces.job[k]];
    start = std::min(start, pieces.start[k]);
  }
  if (StrictDeadlines strict; study_deadlines(problem, penalties, strict)) {
    finish_plan(problem, strict.finite(), aggregate, completion, lower_bound, plan, quick_bound,
                earliest);
    DemandBound demand_bound;
    strict.settle(penalties, aggregate, plan.completion,
                  deadlines_impossible(problem, strict, demand_bound), plan.value, plan.lower_bound,
                  plan.status);
    return;
  }
  plan.value = evaluate(penalties, aggregate, plan.completion);
  // An existing bound is kept, so that it does not depend on the length of the search.
  if (plan.lower_bound == -kInfinity) {
    plan.lower_bound = lower_bound.run(problem, penalties, aggregate, completion, plan.value,
                                       quick_bound, earliest);
  }
  plan.lower_bound = std::min(plan.lower_bound, plan.value);
  plan.status = problem.beyond_reach                ? Status::kInfeasible
                : plan.status == Status::kTruncated ? Status::kTruncated
                : problem.minima_scaled             ? Status::kMinimaScaled
                                                    : Status::kOk;
}

}  // namespace malleable
