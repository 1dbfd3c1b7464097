// Which running task is worth a backup task, a second attempt beside it?
//
// A backup task of a task that has run for a seconds takes a new time T (and copies again, if it is
// a reduce task), while the first attempt is expected to need E[T - a | T > a] more. The gain is
// the latter over the former: above 1 the backup task would probably end first, and the chance that
// it does is about g / (1 + g). If backup tasks can be ended as soon as somebody wants their slots,
// a gain of one half is worth a slot that nobody wants. If they can't be, slow tasks whose backup
// tasks are as slow cost slots: then the least gain rises as backup tasks win less often than their
// gains say. O(1) each.
#pragma once

#include <algorithm>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// `copying`: seconds that a backup task copies first.
inline double backup_gain(double age, const LogTimes& times, double copying) {
  return times.left_after(age) / (times.seconds() + copying);
}

// The gain from which on a backup task is worth its slot: fixed, or after what backup tasks have
// shown.
class LeastGain {
 public:
  static constexpr double kLeast = 0.5;

  // A backup task has begun whose gain was this; one has ended before its first attempt.
  void begun(double gain) { expected_ += gain / (1.0 + gain); }
  void won() { wins_ += 1.0; }
  double shown() const { return kLeast / std::min(1.0, (wins_ + kBefore) / (expected_ + kBefore)); }

  void state(State& s) { s(wins_, expected_); }
  friend bool operator==(const LeastGain&, const LeastGain&) = default;

 private:
  static constexpr double kBefore = 5.0;  // so many wins are taken to have been seen, as expected

  double wins_ = 0.0, expected_ = 0.0;
};

}  // namespace malleable
