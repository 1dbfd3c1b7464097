// Which of many jobs with steps can be on time together, roughly: a price of work by due time in
// place of a test job by job (on_time_set.hpp).
//
// A job that is to end by d needs e = W - min(W, m d) slot-seconds beyond its minimum: as if one
// half were due after a quarter of its shortest run before d, the other after three quarters. These
// are counted in cells of (value, due time), value being log(W / what a late end costs), small
// first. Values join in order, as far as all due times after theirs have room. What is full stays
// full for all due times before, so the jobs that are in are those whose value lies below a bound
// that rises with time, taken at their latest start. Jobs refused may ask again with a later step:
// each round has bounds of its own. A few slots in a hundred are left out: they make up for what
// cells do not see.
//
// O(1) a job and round, and O(values x times) a round. Bounds are kept until they are made anew;
// times are absolute. What it cannot see: how the room within one cell of time is used.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class OnTimePrices {
 public:
  static constexpr std::size_t kRounds = 4;

  struct Job {
    double work, low, high;
    double due;    // absolute
    double value;  // log(W / cost)
  };

  // On so many slots, for jobs of so much work in all, whether they ask or not. `sample` is some of
  // those who ask: the cells follow from their due times and values.
  void begin(double now, double slots, std::span<const Job> sample, double total_work);
  // Counts what a job does on its minimum, whichever jobs join. Call it before all else.
  void take_minimum(double work, double low);
  // A job asks in the round that is open.
  void ask(const Job& job);
  // All of the round have asked: bounds are made. The next round is open then.
  void close();
  // Whether a job would be in, by the bounds of a round; after the last one nobody is.
  bool in(const Job& job, std::size_t round) const;

  std::size_t rounds() const { return bound_.size(); }
  bool empty() const { return bound_.empty(); }
  void clear() { bound_.clear(); }
  // From bounds' times' begin to their end.
  double now() const { return now_; }
  double span() const { return edge_.empty() ? 0.0 : edge_.back(); }

  void state(State& s) { s(now_, edge_, bound_, least_, step_); }

 private:
  double need(const Job& job) const;
  // Of the time at which so much of its shortest run is left.
  std::size_t time_cell(const Job& job, double left) const;
  double value_cell(double value) const { return (value - least_) / step_; }
  bool fit(std::size_t value, std::size_t first, double& share, std::size_t& full) const;

  double now_ = 0.0;
  std::vector<double> edge_;                // ends of the cells of time, from now_
  std::vector<std::vector<double>> bound_;  // by round and cell: in, if the value is below
  double least_ = 0.0, step_ = 1.0;         // of values
  // While bounds are made: what is left of the slots until each edge, what is asked for.
  std::vector<double> room_, level_, ramp_, asked_;
};

}  // namespace malleable
