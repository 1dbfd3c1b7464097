// What every policy does once its schedule stands: absolute completions, value, bound, status.
#pragma once

#include <span>

#include "malleable/kernel/lower_bound.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

// `completion` counts from problem.now. A bound or status `truncated` that the plan has already is
// kept where it is the stronger one; `quick_bound` and
// `earliest` as for LowerBound. O(J log J), the cost of the
// bound.
void finish_plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                 std::span<const double> completion, LowerBound& lower_bound, Plan& plan,
                 bool quick_bound = false, std::span<const double> earliest = {});

}  // namespace malleable
