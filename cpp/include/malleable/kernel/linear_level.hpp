// The approximate least level of a maximum at which the deadlines of very many jobs can all be met,
// if each penalty is a line: slope x (completion - at). (A level is a value of the objective; it
// sets each job a deadline, the time at which its penalty is the level.) DemandBound::level finds
// the exact one; this ignores what happens within cells of time, and needs no instance and no
// sorting, only a level that may be near. The order of a decision needs no more.
//
// The work forced before a time t (that must be done by t so that all deadlines are met) falls with
// the level L and is convex in it, so a Newton step at any t ends at or below the least level:
// steps go up from below. One pass at the time that was full before gives such a step. A pass over
// cells of time (256 for each doubling) then adds up, by cell, where what is forced turns: this
// gives the excess over S t (the work of all S slots) at all borders, and the next step is at the
// border where it is largest.
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
  // By job: work above 0, minimum, slots it may get beyond its minimum (at least 1 in all), and its
  // line.
  struct Jobs {
    std::span<const double> work, low, room, at, slope;

    std::size_t size() const { return work.size(); }
  };
  // The level on `slots`, into which all minima fit. `near`: a level that may be close to it, or
  // -infinity; `floor`: the least level to return. Nothing if some slope or work is 0.
  std::optional<double> find(const Jobs& jobs, double slots, double now, double near,
                             double floor = -kInfinity);

  void state(State& s) { s(full_); }

 private:
  struct Cell {
    double plus, minus;  // by how much the rate of forced work rises and falls within the cell
    double gained;       // work forced by the cell's end by these changes
    double fall;         // change of the rate at which forced work falls with the level
  };
  struct Peak {
    double time, excess, fall;
  };
  // Sets a first lower bound of the level, and the cells; false if a slope or work is 0.
  bool start(const Jobs& jobs, double near, double floor);
  // Adds all changes at this level to their cells (spans of time).
  void fill_cells(const Jobs& jobs, double level);
  Peak worst_border(double minima) const;  // `minima`: of all jobs together

  double slots_ = 0.0, now_ = 0.0;
  double level_ = 0.0;       // at most the least level
  double full_ = kInfinity;  // absolute: a time that was full at the last level
  std::vector<Cell> cells_;
  std::vector<double> edge_;        // borders of cells
  std::vector<double> changes_[5];  // changes of the rate of forced work, of a block of jobs
};

}  // namespace malleable
