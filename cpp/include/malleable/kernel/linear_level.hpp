// The least level of a maximum at which the deadlines of very many jobs can all be met, where each
// penalty is a line: slope x (completion - at). It is what ForcedWork::level finds, without an
// instance and without sorting all turns, from a level that may be near.
//
// The work forced before a time t falls with the level L and is convex in it, so a Newton step at
// any t ends at or below the least level: steps go up from below. One pass at the time that was
// full before gives such a step. A pass over cells of time (256 for each doubling) then adds up, by
// cell, where what is forced turns: this gives the excess over S t at all borders, and a bound of
// it within each cell. No time that a lower level does not overload is overloaded by a higher one.
// So only cells whose bound is above 0 remain; what jobs force there is one line in t and L for all
// but those that turn in or near these cells, and these alone are sorted, once for each Newton
// step.
//
// O(J) for each of the passes, of which there are three or four from a level that is near, and some
// ten otherwise; O(T log T) for the T jobs that turn near the full times.
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
  // The least level on `slots`, which all minima fit into; `near`: one that may not be far from it,
  // or -infinity; `floor`: lower ones do not count. Nothing if some slope or work is 0, or if too
  // many jobs turn near full times.
  std::optional<double> find(const Jobs& jobs, double slots, double now, double near,
                             double floor = -kInfinity);

  void state(State& s) { s(full_); }

 private:
  struct Cell {
    double plus, minus;  // by which the rate of what is forced rises and falls within it
    double gained;       // until its end, by these turns
    double fall;         // by which what falls with the level changes
  };
  struct Turn {
    double time, change, fall;
  };
  struct Window {
    double from, until;
  };
  // What jobs force within a window, near a level: one line, and jobs of their own.
  struct Part {
    double work, rate, fall;
  };
  struct Peak {
    double time, excess, fall;
  };
  bool start(const Jobs& jobs, double near, double floor);
  void spread(const Jobs& jobs, double level);
  Peak look(double minima);
  bool gather(const Jobs& jobs, Window window, double level, double cap);
  Peak peak(Window window, double level);
  bool settle(const Jobs& jobs, double cap);

  double slots_ = 0.0, now_ = 0.0;
  double level_ = 0.0;       // at most the least one
  double reach_ = 0.0;       // how much further bounds of excesses would raise it
  double full_ = kInfinity;  // absolute: a time that was full at the last level
  std::vector<Cell> cells_;
  std::vector<double> edge_;
  std::vector<Window> windows_;
  std::vector<double> work_, low_, high_, at_, slope_;  // of jobs that turn in a window
  std::vector<double> turn_[6];                         // of a block of jobs
  std::vector<Turn> turns_;
  Part others_{};
  double base_ = 0.0;  // the level that others_ is for
};

}  // namespace malleable
