// The level of FAIR (equal shares) in whole slots, if the minima of all jobs fit: the largest l
// with sum clamp(l, m_j, M_j) <= S, where job j (of J) has from m_j to M_j of the S slots. The
// slots left over go one each to the first jobs that are at the level and below their maximum. This
// is the allocation of kernel/water_filling without weights.
//
// The level is sought from the last one by Newton steps on the number of jobs at the level, between
// bounds that are halved when a step leaves them: O(J) each, few of them. Allocates nothing.
#pragma once

#include <span>

#include "malleable/model/problem.hpp"

namespace malleable {

// The largest whole level of n jobs at which their slots, between low and low + room, are at most
// `slots`, and the slots left over. The search starts at `from`. Infinite if all jobs can have
// their maximum.
struct WholeLevel {
  double level = 0.0, left = 0.0;
  bool fits = false;  // the minima fit
};
WholeLevel whole_level(std::span<const double> low, std::span<const double> room, double slots,
                       double from);

}  // namespace malleable
