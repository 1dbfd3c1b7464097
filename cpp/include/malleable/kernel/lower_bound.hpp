// The best floor under an objective that the other kernels can give (see their headers):
//   sum  the larger of  sum_j w_j(earliest completion)  and the mean-busy-time program (which
//   contains
//        the squashed area); for step penalties the cheapest choice of steps whose forced work fits
//   max  the least level that passes the exact deadline test
// It is a snapshot bound: for these estimates, these limits, and no further arrivals. O(J log J) a
// round; `rounds` and the tried times shrink as J grows so that a bound costs about as much as a
// few packings.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/forced_work.hpp"
#include "malleable/kernel/mean_busy_time.hpp"
#include "malleable/kernel/price_bound.hpp"

namespace malleable {

class LowerBound {
 public:
  // `completion` (from problem.now) is a known schedule's, whose objective is `value`. `quick`
  // settles for the cheaper form of the mean-busy-time bound. `earliest` is what
  // earliest_completions says, for those who know it already.
  double run(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
             std::span<const double> completion, double value, bool quick = false,
             std::span<const double> earliest = {});

 private:
  MeanBusyTime mean_busy_time_;
  ForcedWork forced_work_;
  PriceBound prices_;
  std::vector<double> earliest_, absolute_;
};

}  // namespace malleable
