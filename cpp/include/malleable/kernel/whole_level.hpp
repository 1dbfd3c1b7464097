// FAIR's level in whole slots, where the minima of all jobs fit: the largest l with
// sum clamp(l, m_j, M_j) <= S. What is left over goes one each to the first jobs that are at the
// level and below their maximum: the allocation of kernel/water_filling without weights.
//
// The level is sought from the last one by Newton steps on the number of jobs at the level, between
// bounds that are halved when a step leaves them: O(J) each, few of them. Allocates nothing.
#pragma once

#include <span>

#include "malleable/model/problem.hpp"

namespace malleable {

// The largest whole level of n jobs at which their slots, between low and low + room, are at most
// `slots`, and what it leaves over; sought from `from`. Infinite if everybody can have the maximum.
struct WholeLevel {
  double level = 0.0, left = 0.0;
  bool fits = false;  // the minima do
};
WholeLevel whole_level(std::span<const double> low, std::span<const double> room, double slots,
                       double from);

}  // namespace malleable
