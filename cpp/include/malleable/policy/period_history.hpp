// What an epoch learns from a loop that holds its decisions for a period.
//
// Load: work that arrives, rounded up to whole slot-periods, over the time in which it does; the
// last 500 arrivals count most. Beyond 1 no rule is stable. What jobs pay a second counts by their
// work: that of many small jobs, which hardly wait, little.
//
// Errors of sizes: a job that ends within a period has done between what it did before and that
// and the period's slots. The spread of log(work / estimate) is found by the likelihood of these
// intervals for a few spreads; the last 200 jobs count most. O(1) a job.
#pragma once

#include <array>
#include <cstdint>

#include "malleable/model/state.hpp"

namespace malleable {

class PeriodHistory {
 public:
  // So much work [slot-seconds in whole slot-periods] arrived, or time [s] passed. A job of this
  // size pays `value` a second.
  void arrive(double work, double size = 0.0, double value = 0.0);
  void pass(double seconds) { seconds_ += seconds; }
  // A job of this estimate ended, having done more than `least` and at most `most`.
  void finish(double estimate, double least, double most);

  // Of so many slots; 0 as long as nothing arrived.
  double load(double slots) const;
  bool overloaded(double slots) const;
  // What jobs pay a second that come in so much time, as expected: as many jobs as are `here`, of
  // the same `value`, if no time has passed yet.
  double coming(double seconds, std::size_t here, double value) const;
  // Spread of log(work / estimate), as expected. O(1).
  double spread() const;

  void state(State& s) { s(arrivals_, work_, seconds_, size_, worth_, likelihood_); }

 private:
  static constexpr std::array<double, 6> kSpreads{0.05, 0.25, 0.5, 0.75, 1.0, 1.5};

  double arrivals_ = 0.0, work_ = 0.0, seconds_ = 0.0;  // recent ones
  double size_ = 0.0, worth_ = 0.0;                     // of these: sizes, and values times sizes
  std::array<double, kSpreads.size()> likelihood_{};    // logarithms
};

}  // namespace malleable
