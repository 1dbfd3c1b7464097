// The best lower bound of an objective that the other kernels give:
//   sum  the larger of two: all penalties at the jobs' earliest completions; and for linear and
//        custom penalties the program over mean busy times (mean_busy_time.hpp), for all others
//        prices of slots (lagrangian_bound.hpp)
//   max  the least level (value of the objective) whose deadlines pass the exact test of
//        demand_bound.hpp
// It is a snapshot bound: for these estimates, these limits, and no further arrivals. O(J log J) a
// round for J jobs; rounds, times and steps shrink as J grows so that a bound never costs more than
// a search.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/lagrangian_bound.hpp"
#include "malleable/kernel/mean_busy_time.hpp"

namespace malleable {

class LowerBound {
 public:
  // `completion` (from problem.now) is a known schedule's, whose objective is `value`. `quick`
  // settles for one round, or fewer prices. `earliest` is the result of earliest_completions()
  // (demand_bound.hpp), if you have it already.
  double run(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
             std::span<const double> completion, double value, bool quick = false,
             std::span<const double> earliest = {});

 private:
  MeanBusyTime mean_busy_time_;
  DemandBound demand_bound_;
  LagrangianBound prices_;
  std::vector<double> earliest_, absolute_;  // earliest completions: from now; absolute
};

}  // namespace malleable
