// What every policy does once its schedule stands: absolute completions, value, bound, status.
#pragma once

#include <cmath>
#include <span>

#include "malleable/kernel/lower_bound.hpp"
#include "malleable/kernel/strict_deadlines.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

// Whether penalties may be infinite here; `strict` then stands for them.
bool study_deadlines(const Problem& problem, const Penalties& penalties, StrictDeadlines& strict);

// A proof that no schedule meets all strict deadlines (demand_bound.hpp). Exact but for gangs, of
// which it misses some. O(J log J).
bool deadlines_impossible(const Problem& problem, const StrictDeadlines& strict,
                          DemandBound& demand_bound);

// `completion` counts from problem.now. A bound or status `truncated` that the plan has already is
// kept; `quick_bound` and `earliest` as for LowerBound. A value may be
// infinite; a bound is so only where no schedule meets all strict deadlines, and then the status
// says `infeasible`. O(J log J), the cost of the bound.
void finish_plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                 std::span<const double> completion, LowerBound& lower_bound, Plan& plan,
                 bool quick_bound = false, std::span<const double> earliest = {});

// A value this close to the bound counts as optimal: nobody could measure the difference. For a
// maximum the bound is the level of a deadline test, which is less exact: deadlines are met within
// a tolerance.
inline bool reaches(double value, double bound, Aggregate aggregate) {
  return value <=
         bound + (aggregate == Aggregate::kMax ? kOptimalLevel : kOptimal) * std::fabs(bound);
}

}  // namespace malleable
