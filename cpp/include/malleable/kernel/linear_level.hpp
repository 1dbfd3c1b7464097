// About the least level of a maximum at which the deadlines of very many jobs can all be met, where
// each penalty is a line: slope x (completion - at). It is what DemandBound::level finds, but for
// what happens within cells of time; without an instance, without sorting, from a level that may be
// near. An order of decisions needs no more.
//
// The work forced before a time t falls with the level L and is convex in it, so a Newton step at
// any t ends at or below the least level: steps go up from below. One pass at the time that was
// full before gives such a step. A pass over cells of time (256 for each doubling) then adds up, by
// cell, where what is forced turns: this gives the excess over S t at all borders, and the next
// step is at the border where it is largest.
//
// O(J) for each of the passes, of which there are three or four from a level that is near, and some
// ten otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class LinearLevel {
 public:
  // By job: work above 0, minimum, what it may get beyond that (in all at least 1), and its line.
  struct Jobs {
    std::span<const double> work, low, room, at, slope;

    std::size_t size() const { return work.size(); }
  };
  // The level on `slots`, which all minima fit into; `near`: one that may not be far from it, or
  // -infinity; `floor`: lower ones do not count. Nothing if some slope or work is 0.
  std::optional<double> find(const Jobs& jobs, double slots, double now, double near,
                             double floor = -kInfinity);

  void state(State& s) { s(full_); }

 private:
  struct Cell {
    double plus, minus;  // by which the rate of what is forced rises and falls within it
    double gained;       // until its end, by these turns
    double fall;         // by which what falls with the level changes
  };
  struct Peak {
    double time, excess, fall;
  };
  bool start(const Jobs& jobs, double near, double floor);
  void spread(const Jobs& jobs, double level);
  Peak look(double minima) const;

  double slots_ = 0.0, now_ = 0.0;
  double level_ = 0.0;       // at most the least one
  double full_ = kInfinity;  // absolute: a time that was full at the last level
  std::vector<Cell> cells_;
  std::vector<double> edge_;
  std::vector<double> turn_[5];  // of a block of jobs
};

}  // namespace malleable
