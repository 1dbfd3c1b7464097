// A set of jobs that can all end by their due times together, built job by job.
//
// Jobs of the set, each with a due time, can be on time together if and only if the work forced by
// t fits into S t, the work of all S slots, for all t. A job's forced work is what its maximum
// cannot do between t and its due time, and at least what its minimum does until t. Jobs outside
// the set hold their minima.
// The sum of forced work peaks at due times and where a minimum has done all work of its job, so
// the test is exact if all of these times are on the grid. On a coarser grid, due times are rounded
// down to it, so that a set that passes can still be on time, except for peaks of minima between
// two times. A job that does not fit is mostly refused at the time that refused the last one.
// O(grid) a job at worst, in vector registers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

// A job that asks to join a set with due time `due`; the least key joins first.
struct DueAsk {
  double key, due;
  Index job;
};

class OnTimeSet {
 public:
  // An empty set, for at most so many times: quantiles of `due` (from problem.now; infinite and
  // past ones are left out) and of the ends of jobs on their minima. The problem must outlive the
  // calls below. `spare`: this part of the slots stays out of the set.
  void begin(const Problem& problem, std::span<const double> due, std::size_t times,
             double spare = 0.0);
  // Adds a job that is not in the set, due then, if all can still be on time.
  bool add(Index job, double due);
  // Takes it out again; `due` as it was added.
  void drop(Index job, double due);

 private:
  struct Demand {
    double work, low, high, due;
    std::size_t first;  // grid time from which it demands more than its minimum does
  };
  // The grid: at most so many due times, and the end of all work.
  void choose_times(const Problem& problem, std::span<const double> due, std::size_t times);
  Demand demand(Index job, double due) const;
  // demand at time k beyond the work of the minimum
  double more(const Demand& job, std::size_t k) const {
    const double before = job.due > times_[k] ? job.due - times_[k] : 0.0;
    const double forced = job.work - job.high * before, own = job.low * times_[k];
    const double least = own < job.work ? own : job.work;
    return forced > least ? forced - least : 0.0;
  }
  bool fits(const Demand& job);  // whether there is room for it at all times of the grid
  // Takes the forced work of a job from the room (`sign` -1), or gives it back (1).
  void take(const Demand& job, double sign);

  const Problem* problem_ = nullptr;
  std::vector<double> times_, room_;  // the grid, and the work that still fits before each time
  std::size_t tight_ = 0;             // the time that refused the last job
};

}  // namespace malleable
