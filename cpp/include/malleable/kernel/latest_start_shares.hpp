// Slots by latest start that are held until something ends.
//
// The latest start of a job is the time from which it needs its maximum to meet its due time. While
// the job has the part x of its room (its slots beyond the minimum), its latest start moves by x
// seconds a second. A slot lowers the work that is forced before any time t (demand_bound.hpp) if
// the job's latest start lies before t. So slots that go, at each moment, to the jobs with the
// least latest start leave most to any jobs that come later, whenever those are due.
//
// By this rule a job whose latest start is caught up by that of another goes on together with it,
// both by equal parts of their rooms, so that slots change all the time. Here slots are held: each
// job has what the rule gives it on average until the first job ends. Parts of slots are rounded
// up, and then slots are taken from the jobs that would have the largest latest starts without
// them; from the job that ends first only if no others are left. O(J log J) for J jobs, and O(J)
// each time that latest starts meet.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class LatestStartShares {
 public:
  // `start`: latest starts, from problem.now; may be infinite. Fills `slots` (minima included), and
  // `order`: jobs that have their maximum, the one that ends first, and the others, each by latest
  // start. Without gangs.
  void run(const Problem& problem, std::span<const double> start, std::span<Index> order,
           std::span<double> slots);

 private:
  double room(Index j) const {
    return problem_->work[j] > 0.0 ? problem_->high[j] - problem_->low[j] : 0.0;
  }
  // When the jobs that have their maximum, or have their minimum only, end at first.
  void note_ends(std::span<const Index> order);
  // Runs the rule until a job ends.
  void run_until_end(std::span<const double> start, std::span<const Index> order);
  // Rounds the average shares of the jobs that go on together.
  void round(std::span<const double> start, std::span<const Index> order, std::span<double> slots);

  const Problem* problem_ = nullptr;
  double free_ = 0.0;  // slots beyond all minima
  // In the order, jobs before `full_` have their maximum, and those from there to `last_` go on
  // together.
  std::size_t full_ = 0, last_ = 0;
  double full_room_ = 0.0;
  double time_ = 0.0, level_ = 0.0;  // from problem.now; the latest start of those together
  Index ends_ = kNone;               // of those together, the one that ends first
  std::vector<double> first_end_;    // of the first jobs in the order, if they have their maximum
  double least_end_ = kInfinity;     // of any job on its minimum
  struct Loss {
    bool ends;     // the job ends first
    double start;  // latest start in the end, without one of its slots
    Index job;
    bool operator<(const Loss& other) const {
      if (ends != other.ends) return ends;
      return start != other.start ? start < other.start : job < other.job;
    }
  };
  std::vector<Loss> losses_;  // a heap
  KeySort sorter_;
};

}  // namespace malleable
