// The last step of every policy's plan: absolute completions, value, bound, status.
#pragma once

#include <cmath>
#include <span>

#include "malleable/kernel/lower_bound.hpp"
#include "malleable/kernel/strict_deadlines.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

// Whether penalties may be infinite; then sets `strict`, which has finite ones.
bool study_deadlines(const Problem& problem, const Penalties& penalties, StrictDeadlines& strict);

// Whether it is proved that no schedule meets all strict deadlines (demand_bound.hpp). Exact,
// except that some infeasible gangs (jobs that run on at least their minimum, or not at all) are
// missed. O(J log J).
bool deadlines_impossible(const Problem& problem, const StrictDeadlines& strict,
                          DemandBound& demand_bound);

// `completion` counts from problem.now. A bound or the status `truncated` that the plan has already
// is kept; `quick_bound` and `earliest` as for LowerBound::run() (kernel/lower_bound.hpp: one
// round, or fewer prices; the earliest completions). A value may be infinite; a bound is infinite
// only if no schedule meets all strict deadlines, and then the status is `infeasible`. O(J log J),
// the cost of the bound.
void finish_plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                 std::span<const double> completion, LowerBound& lower_bound, Plan& plan,
                 bool quick_bound = false, std::span<const double> earliest = {});

// Whether a value is so close to the bound that it counts as optimal. For a maximum the bound is
// the level of a deadline test, which is less exact: deadlines are met within a tolerance.
inline bool reaches(double value, double bound, Aggregate aggregate) {
  return value <=
         bound + (aggregate == Aggregate::kMax ? kOptimalLevel : kOptimal) * std::fabs(bound);
}

}  // namespace malleable
