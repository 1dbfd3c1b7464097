// What an epoch learns from a loop that holds its decisions for a period.
//
// Load: arriving work, rounded up to whole slot-periods (one slot for one period), over time; the
// last 500 arrivals count most. Beyond 1 no rule is stable. The penalties of jobs a second are
// averaged with their work as weight, so that many small jobs, which hardly wait, count little.
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
  // Notes arriving work [slot-seconds in whole slot-periods], or time that passed [s]. A job of
  // this size pays `value` a second.
  void arrive(double work, double size = 0.0, double value = 0.0);
  void pass(double seconds) { seconds_ += seconds; }
  // Notes the end of a job that has done more than `least` and at most `most`.
  void finish(double estimate, double least, double most);

  // The load of `slots`; 0 as long as nothing arrived.
  double load(double slots) const;
  bool overloaded(double slots) const;
  // The expected sum of what jobs that come within `seconds` pay a second. If no time has passed
  // yet, it counts as many jobs as are `here`, of the same `value`.
  double coming(double seconds, std::size_t here, double value) const;
  // The expected spread of log(work / estimate). O(1).
  double spread() const;

  void state(State& s) { s(arrivals_, work_, seconds_, size_, worth_, likelihood_); }

 private:
  static constexpr std::array<double, 6> kSpreads{0.05, 0.25, 0.5, 0.75, 1.0, 1.5};

  double arrivals_ = 0.0, work_ = 0.0, seconds_ = 0.0;  // recent arrivals, their work, and the time
  // of recent arrivals: sums of sizes, and of values times sizes
  double size_ = 0.0, worth_ = 0.0;
  std::array<double, kSpreads.size()> likelihood_{};  // logarithms
};

}  // namespace malleable
