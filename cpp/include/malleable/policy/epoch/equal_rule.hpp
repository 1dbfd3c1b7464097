// Equal shares (FAIR) with linear speed-up while all jobs have work and minima fit. Each of J jobs
// has min(level, its maximum) slots, at least its minimum, for the largest whole level that fits
// (kernel/whole_level.hpp), sought from that of the last decision; the first jobs get one more.
// O(J).
#pragma once

#include <algorithm>

#include "malleable/kernel/whole_level.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class EqualRule {
 public:
  bool decide(Scene& at) {  // false: it cannot decide
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
  void state(State& s) { s(level_); }

 private:
  double level_ = -kInfinity;  // of the last decision
};

}  // namespace malleable
