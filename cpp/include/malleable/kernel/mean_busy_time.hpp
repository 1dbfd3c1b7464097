// A lower bound on sum_j lambda_j C_j for weights lambda_j, and on any convex sum, from mean busy
// times and minima.
//
// C_j is the completion of job j, W_j its work, m_j and M_j its least and most slots, and S the
// number of all slots. Let A_j(t) be the work of job j done by time t. In every schedule
//   min(W_j, m_j t) <= A_j(t) <= min(W_j, M_j t)   and   sum_j A_j(t) <= S t,
// so at each t by itself sum_j rho_j A_j(t), for any prices rho_j of a unit of work, is at most
// what a greedy filling by decreasing rho gives: upper limits for jobs before a frontier, lower
// limits behind it. The frontier only moves forward in t, so one sweep over the times where a limit
// is reached integrates the bound exactly and yields B_j = (1/W_j) int (W_j - A_j) dt, the mean
// busy times of the relaxation.
//
// A job that runs between m_j and M_j slots from the start until it ends at C has its mean busy
// time at most g_j(C), with g_j concave and g_j(C) = C - W/(2M) for m = 0; hence C_j >= h_j(B_j),
// h_j convex. Minimising sum f_j(h_j(B_j)) over the relaxed mean busy times by Frank and Wolfe's
// method gives a valid bound in every round; f_j is the convex envelope of the job's penalty
// between its earliest completion and the end of the longest sensible schedule. O(J log J) a round.
//
// Goemans et al. 2002 (mean busy times); Beaumont et al. 2012 (caps); the use of minima is ours.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/event_heap.hpp"
#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"

namespace malleable {

class MeanBusyTime {
 public:
  // Lower bound on the sum of penalties over all malleable schedules of `problem`. `start` holds
  // completions (from problem.now) to linearise around, best those of a good schedule; `earliest`
  // the result of earliest_completions() (demand_bound.hpp). At least one round. A gang's minimum
  // may be unused, so gangs count as minimum 0.
  double bound(const Problem& problem, const Penalties& penalties, std::span<const double> start,
               std::span<const double> earliest, int rounds);

 private:
  // Minimises sum_j price_j B_j over the relaxation; fills busy_ and returns the sum.
  double relax(const Problem& problem);
  void sort_by_price(const Problem& problem);
  struct Support {
    double value, slope;
  };
  // A line below the penalty's convex envelope on [from, to], supporting it at t (all from now).
  Support support(const Problem& problem, const Penalties& penalties, std::size_t j, double from,
                  double to, double t);

  KeySort sorter_;
  JobEvents upper_events_, lower_events_;
  // By job: price and value of its mean busy time, where its penalty is touched by a line.
  Scratch<double> price_, busy_, point_, key_, low_;
  std::vector<std::uint8_t> ended_;  // by position: the job's lower limit has stopped growing
  Scratch<Index> order_;
  std::vector<double> hull_t_, hull_v_;  // corners of a penalty's convex envelope: times, values
};

}  // namespace malleable
