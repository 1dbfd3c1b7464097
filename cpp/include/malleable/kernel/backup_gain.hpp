// Which running task is worth a backup task, a second attempt beside it?
//
// A backup task of a task that has run for a seconds takes a new time T' (and copies again, if it
// is a reduce task, c seconds). It saves the seconds by which it ends before the first attempt,
// which has R = T - a left, given that T > a. The gain is what it saves on average, E[max(0, R - c
// - T')], over the seconds that both run, E[min(R, c + T')]; these count as a third of what it
// takes, E[c + T'], at least, as attempts are started and ended, too. The chance is that it ends
// first, P(R > c + T').
//
// Times are log-normal; their scatter is the standard deviation of the logarithm. But one task in
// kOfStragglers hangs, or is slowed down by something that slows no other task. The chance that it
// has not ended after t is (M / (M + t))^2 (Lomax 1954), where M is the mean of the others: one
// that has run for a has M + a left on average. With the log-normal alone, a task that has run a
// hundred times as long as similar tasks would have hardly anything left. The age from which a task
// counts as a straggler follows from the scatter of the others: hardly more than one in a hundred
// normal tasks gets so old.
//
// A gain of about two ninths is worth a slot that no other task wants, if the backup task can be
// ended as soon as one does. At a scatter of one half a backup task is worth it at any age, and
// shortens responses a little. Tasks that are more alike, up to a scatter of a third, get none
// while they are young, because it would hardly save anything. If backup tasks cannot be ended,
// slow tasks whose backup tasks are as slow cost slots: then the least gain rises when backup tasks
// win less often than their chances say. O(1) each.
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

// The gain from which a backup task is worth its slot: fixed, or learnt from earlier backup tasks.
class LeastGain {
 public:
  static constexpr double kLeast = 0.22;  // the fixed one: seconds saved over seconds that both run

  // A backup task has begun, which ends first with this chance; a backup task has ended before its
  // first attempt.
  void begun(double chance) { expected_ += chance; }
  void won() { wins_ += 1.0; }
  // The least gain, given what backup tasks have shown so far.
  double shown() const { return kLeast / std::min(1.0, (wins_ + kBefore) / (expected_ + kBefore)); }

  void state(State& s) { s(wins_, expected_); }
  friend bool operator==(const LeastGain&, const LeastGain&) = default;

 private:
  // expected wins that count as seen before the first backup task
  static constexpr double kBefore = 5.0;

  double wins_ = 0.0, expected_ = 0.0;  // backup tasks that ended first, and how many should have
};

}  // namespace malleable
