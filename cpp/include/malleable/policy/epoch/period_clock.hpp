// For how long the decisions of an epoch hold, and what a loop that holds them shows: the same for
// tables of flows, of map-shuffle jobs and of map-reduce jobs.
//
// Work that comes is counted in whole slot-periods, for each kind of slots by itself; policies say
// how many these are (kernel/slot_periods). O(1) a call.
#pragma once

#include <array>
#include <optional>

#include "malleable/model/domain.hpp"
#include "malleable/policy/period_history.hpp"

namespace malleable {

class PeriodClock {
 public:
  // Of decisions that do not say theirs.
  void set(double period) {
    check_amount("period", period, kWeightRange);
    usual_ = period;
  }
  // The period of a decision, if it may be this one.
  double wanted(std::optional<double> period) const {
    if (period) check_amount("period", *period, kWeightRange);
    return period.value_or(usual_);
  }
  // A decision begins that will hold so long.
  void begin(double now, double period) {
    if (period_ > 0.0) {
      for (PeriodHistory& load : load_) load.pass(now - now_);
    }
    now_ = now;
    period_ = period;
  }
  // Work comes [slot-seconds in whole slot-periods].
  void come(double work, std::size_t kind = 0) {
    if (period_ > 0.0) load_[kind].arrive(work);
  }
  bool overloaded(std::int64_t slots, std::size_t kind = 0) const {
    return period_ > 0.0 && load_[kind].overloaded(static_cast<double>(slots));
  }

  double now() const { return now_; }  // of the last decision, or -infinity
  double period() const { return period_; }
  bool any() const { return period_ > 0.0; }

  void state(State& s) { s(usual_, period_, now_, load_); }

 private:
  double usual_ = 0.0, period_ = 0.0, now_ = -kInfinity;
  std::array<PeriodHistory, 2> load_;
};

}  // namespace malleable
