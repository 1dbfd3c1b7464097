// Which running task is worth a backup task, a second attempt beside it?
//
// A backup task of a task that has run for a seconds takes a new time T' (and copies again, if it
// is a reduce task, c seconds). It saves the seconds by which it ends before the first attempt,
// which has R = T - a left, given that T > a. The gain is what it saves on average, E[max(0, R - c
// - T')], over the seconds that both run, E[min(R, c + T')]; these count as a third of what it
// takes, E[c + T'], at least, as attempts are started and ended, too. The chance is that it ends
// first, P(R > c + T').
//
// Times are log-normal, but for one task in kOfStragglers: that one hangs, or is slowed down by
// something that slows no other. The chance that it has not ended after t is (M / (M + t))^2 (Lomax
// 1954), where M is the mean of the others: one that has run for a has M + a left on average. The
// log-normal alone says that a task has hardly anything left that has run for a hundred times as
// long as tasks that are alike, as such a task should not be there at all. How old a task has to be
// until it is taken for a straggler follows from how much the others scatter. Of tasks that are
// none, hardly more than a hundredth get so old.
//
// A gain of two ninths or so is worth a slot that nobody wants, if backup tasks can be ended as
// soon as somebody does. At a scatter of one half a backup task is worth it at any age, and
// shortens responses a little. Tasks that are more alike, up to a scatter of a third, get none
// while they are young: it would hardly save anything. If backup tasks can't be ended, slow tasks
// whose backup tasks are as slow cost slots: then the least gain rises as backup tasks win less
// often than their chances say. O(1) each.
#pragma once

#include <algorithm>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

struct BackupGain {
  double gain = 0.0, chance = 0.0;
};

// `copying`: seconds that a backup task copies first.
BackupGain backup_gain(double age, const LogTimes& times, double copying);

// The gain from which on a backup task is worth its slot: fixed, or after what backup tasks have
// shown.
class LeastGain {
 public:
  static constexpr double kLeast = 0.22;

  // A backup task has begun that ends first with this chance; one has ended before its first
  // attempt.
  void begun(double chance) { expected_ += chance; }
  void won() { wins_ += 1.0; }
  double shown() const { return kLeast / std::min(1.0, (wins_ + kBefore) / (expected_ + kBefore)); }

  void state(State& s) { s(wins_, expected_); }
  friend bool operator==(const LeastGain&, const LeastGain&) = default;

 private:
  static constexpr double kBefore = 5.0;  // so many wins are taken to have been seen, as expected

  double wins_ = 0.0, expected_ = 0.0;
};

}  // namespace malleable
