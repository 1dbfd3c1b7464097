// What an epoch learns from a loop that holds its decisions for a period.
//
// Load: work that arrives, rounded up to whole slot-periods, over the time in which it does; the
// last 500 arrivals count most. Beyond 1 no rule is stable. Below, a slot-period that is missing
// delays others for 1 / (1 - load) periods: the factor of period_prices, 2 where nothing arrives.
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
  // So much work [slot-seconds in whole slot-periods] arrived, or time [s] passed.
  void arrive(double work);
  void pass(double seconds) { seconds_ += seconds; }
  // A job of this estimate ended, having done more than `least` and at most `most`.
  void finish(double estimate, double least, double most);

  // Of so many slots; 0 as long as nothing arrived.
  double load(double slots) const;
  bool overloaded(double slots) const;
  // How many periods a slot-period that is missing delays others.
  double scarcity(double slots) const;
  // Spread of log(work / estimate), as expected. O(1).
  double spread() const;

  void state(State& s) { s(arrivals_, work_, seconds_, likelihood_); }

 private:
  static constexpr std::array<double, 6> kSpreads{0.05, 0.25, 0.5, 0.75, 1.0, 1.5};

  double arrivals_ = 0.0, work_ = 0.0, seconds_ = 0.0;  // recent ones
  std::array<double, kSpreads.size()> likelihood_{};    // logarithms
};

}  // namespace malleable
