#include "malleable/policy/epoch/equal_rule.hpp"

#include <algorithm>

#include "malleable/kernel/whole_level.hpp"

namespace malleable {

// Equal shares with linear speed-up: each job has min(level, its maximum) slots, at least its
// minimum, for the largest whole level that fits; the first jobs get one more.
bool EqualRule::decide(Scene& at) {
  const JobTable& jobs = at.jobs;
  if (at.shares != Shares::kEqual || jobs.concave() || at.gang()) return false;
  if (std::find(jobs.work.begin(), jobs.work.end(), 0.0) != jobs.work.end()) return false;
  const WholeLevel found = whole_level(jobs.low, jobs.room, at.capacity(), level_);
  if (!found.fits) return false;
  level_ = found.level;
  double left = found.left;
  at.grants.give_all([&](std::size_t r) {
    const double low = jobs.low[r], high = low + jobs.room[r];
    const double own = std::max(low, found.level);
    if (own >= high) return high;
    if (!(left > 0.0) || found.level < low) return own;
    left -= 1.0;
    return own + 1.0;
  });
  return true;
}

}  // namespace malleable
