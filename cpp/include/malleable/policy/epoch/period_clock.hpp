// How long the decisions of an epoch hold, and the load that a loop with periods shows. It serves
// tables of flows, of map-shuffle jobs and of map-reduce jobs.
//
// Arriving work is counted in whole slot-periods (one slot for one period), separately for each
// kind of slots; policies compute how many these are (kernel/slot_periods). O(1) a call.
#pragma once

#include <array>
#include <optional>

#include "malleable/model/domain.hpp"
#include "malleable/policy/period_history.hpp"

namespace malleable {

class PeriodClock {
 public:
  // Sets the period of decisions without their own.
  void set(double period) {
    check_amount("period", period, kWeightRange);
    usual_ = period;
  }
  // The period of a decision; throws if it is not allowed.
  double wanted(std::optional<double> period) const {
    if (period) check_amount("period", *period, kWeightRange);
    return period.value_or(usual_);
  }
  // Begins a decision that will hold for `period`.
  void begin(double now, double period) {
    if (period_ > 0.0) {
      for (PeriodHistory& load : load_) load.pass(now - now_);
    }
    now_ = now;
    period_ = period;
  }
  // Notes arriving work [slot-seconds], rounded up to whole slot-periods.
  void come(double work, std::size_t kind = 0) {
    if (period_ > 0.0) load_[kind].arrive(work);
  }
  bool overloaded(std::int64_t slots, std::size_t kind = 0) const {
    return period_ > 0.0 && load_[kind].overloaded(static_cast<double>(slots));
  }

  double now() const { return now_; }  // time of the last decision, or -infinity
  double period() const { return period_; }
  bool any() const { return period_ > 0.0; }

  void state(State& s) { s(usual_, period_, now_, load_); }

 private:
  // the period of decisions without their own; period and time of the last decision
  double usual_ = 0.0, period_ = 0.0, now_ = -kInfinity;
  std::array<PeriodHistory, 2> load_;
};

}  // namespace malleable
