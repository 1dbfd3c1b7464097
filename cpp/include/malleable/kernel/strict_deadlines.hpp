// Deadlines after which a penalty is infinite, made finite for solvers that add and compare.
//
// A miss costs job j `miss[j]` instead: more than all finite penalties of a sensible schedule
// together, and in proportion to its weight (weights count as one to a million at most, so that the
// finite part keeps its digits). So a solver of the finite penalties first meets as many deadlines
// as it can, by weight, then minimises the rest, and a bound of the finite penalties also bounds
// the true ones. That no schedule has a finite value follows only from a proof that not all
// deadlines can be met. O(jobs).
#pragma once

#include <span>
#include <vector>

#include "malleable/model/penalties.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

class StrictDeadlines {
 public:
  // False if no job can cost infinitely much; then do not call the other functions. A job with
  // `work` 0 ends at `idle_end` (absolute) in every schedule. `horizon` (from now): a time by which
  // all work can be done.
  bool study(const Penalties& penalties, double now, double horizon, std::span<const double> work,
             std::span<const double> idle_end);

  const Penalties& finite() const { return finite_; }
  // True if only strict deadlines count: the true value is 0 or infinite.
  bool pure() const { return pure_; }
  // True if some job without work ends too late.
  bool lost() const { return lost_; }

  // Deadlines from now, stretched by a share of the tolerance within which they count as met: 1 for
  // proofs, less to schedule by. Infinite: none.
  void due(double stretch, std::span<double> due) const;

  // Turns the finite value and bound of a schedule into its true value, bound and status.
  // `impossible`: it is proved that not all deadlines can be met.
  void settle(const Penalties& penalties, Aggregate aggregate, std::span<const double> completion,
              bool impossible, double& value, double& lower_bound, Status& status) const;

 private:
  Penalties finite_;
  std::vector<double> limit_, miss_;  // times, absolute; what a miss costs
  std::vector<bool> exact_;           // without tolerance
  double now_ = 0.0, least_ = 0.0;    // least_: of miss_
  bool pure_ = true, lost_ = false;   // what pure() and lost() return
};

}  // namespace malleable
