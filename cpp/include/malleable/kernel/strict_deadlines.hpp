// Deadlines after which a penalty is infinite, made finite for solvers that add and compare.
//
// A miss costs job j `miss[j]` instead: more than everything finite that a sensible schedule could
// cost together, and in proportion to its weight (one to a million at most, so that the finite part
// keeps its digits). Whoever is good at the finite penalties thus meets as many of the deadlines,
// by weight, as it can, then cares for the rest; a bound of the finite penalties is one of the true
// ones. That a value of infinity cannot be beaten is another matter: only a proof that not all
// deadlines can be met says so. O(jobs).
#pragma once

#include <span>
#include <vector>

#include "malleable/model/penalties.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

class StrictDeadlines {
 public:
  // False if no job can cost infinitely much; the rest means nothing then. `work` 0: the job ends
  // at `idle_end` (absolute), whatever the schedule. `horizon` (from now): when all work can be
  // done.
  bool study(const Penalties& penalties, double now, double horizon, std::span<const double> work,
             std::span<const double> idle_end);

  const Penalties& finite() const { return finite_; }
  // Nothing but strict deadlines counts: the true value is 0 or infinite.
  bool pure() const { return pure_; }
  // Some job that has no work ends too late.
  bool lost() const { return lost_; }

  // Deadlines from now, stretched by a share of the tolerance within which they count as met: 1 for
  // proofs, less to schedule by. Infinite: none.
  void due(double stretch, std::span<double> due) const;

  // True value, bound and status of a schedule that was valued by finite(), with a bound of it.
  // `impossible`: somebody has proved it.
  void settle(const Penalties& penalties, Aggregate aggregate, std::span<const double> completion,
              bool impossible, double& value, double& lower_bound, Status& status) const;

 private:
  Penalties finite_;
  std::vector<double> limit_, miss_;  // absolute
  std::vector<bool> exact_;           // without tolerance
  double now_ = 0.0, least_ = 0.0;    // of miss_
  bool pure_ = true, lost_ = false;
};

}  // namespace malleable
