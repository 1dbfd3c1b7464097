// Integer water-filling: the fair scheduler's allocation (FLEX: Wolf et al. 2010, section 1), with
// weights w_j. Job j (of J) has from m_j to M_j of the S slots, in number x_j.
//
//   x_j = clamp(level w_j, m_j, M_j)  with  sum_j x_j = min(S, sum_j M_j),
//
// rounded down, the remaining slots one each to the largest fractions, ties to the lower index. The
// level is found by Newton steps on a piecewise-linear function: O(J) each, few of them. Fractions
// are doubles: if shares exceed a million slots, a slot may go to a job whose fraction is less by
// about 1e-9. With minima 0 and weights this is WDEQ (Beaumont, Bonichon, Eyraud-Dubois, Marchal
// 2012), which needs no sizes. With fluid shares it is within twice the least weighted completion
// time; with whole slots this does not hold if there are fewer slots than jobs.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class WaterFilling {
 public:
  // Slots now. `weight` may be empty (all 1). Jobs without work get none. Gangs (which run on at
  // least their minimum, or not at all) are admitted by index while their minima fit. Allocates
  // nothing once warm.
  void allocate(const Problem& problem, std::span<const double> weight, std::span<double> slots);

  // The whole schedule: a water-filling again at every completion. O(log J) for each slot that
  // changes hands, O(J) a completion with weights, gangs or so many slots that most jobs get one.
  void plan(const Problem& problem, std::span<const double> weight, std::span<double> completion,
            Plan& plan);

 private:
  struct Share {
    double fraction;
    Index job;
  };
  // Shares the slots at one level.
  void fill(const Problem& problem, std::span<const double> weight, std::span<double> slots);
  // The same for these jobs and so many slots.
  void fill_group(const Problem& problem, std::span<const double> weight,
                  std::span<const Index> jobs, double slots_for_all, std::span<double> slots);

  // Gives the slots of an ended job one by one to the job with the fewest.
  void give_freed(const Problem& problem, double freed, std::span<double> slots);
  // Gives the remaining whole slots to the largest fractions.
  void hand_out_fractions(double left, std::span<double> slots);

  struct Schedule;
  void hold_changed(Schedule& run);  // jobs whose slots changed hold the new ones from now on
  double end_next(Schedule& run);    // advances to the next end; returns the slots that it frees
  void share_again(Schedule& run, std::span<const double> weight);  // computes a new level
  void list_growing(const Schedule& run);                           // fills growing_

  // Jobs that may have slots; that are left; whose slots changed.
  std::vector<Index> active_, unfinished_, changed_;
  IndexedHeap ends_, growing_;  // jobs by end; by slots, jobs that could use one more
  std::vector<double> low_;     // by job: minima
  std::vector<Share> shares_;
  double level_ = 0.0;  // start of the next search, because levels only rise while jobs leave
};

}  // namespace malleable
