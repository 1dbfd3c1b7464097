// The speed-up of a program's jobs, learnt from the work that they did.
//
// For each count of slots that was seen, the rate is work over seconds of all jobs of the program.
// Between two seen counts a power of slots interpolates; beyond the last, the power up to there is
// drawn by a third towards the prior, s^0.8. One slot has rate 1, and rates never fall. O(log
// counts) for an observation, O(entries) for a table.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/model/speedups.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class ProgramRates {
 public:
  // Slots beyond this number count as adding nothing.
  static constexpr std::int64_t kMostEntries = 1024;

  // Notes that a job of the program did `work` [slot-seconds] in `seconds`. Returns whether that
  // changes the rates by more than rounding.
  bool observe(std::int64_t program, std::int64_t slots, double work, double seconds);
  // The rates of 1, 2, ... `most` slots.
  std::vector<double> rates(std::int64_t program, std::int64_t most) const;
  // Speed-ups of rows: those learnt, up to its max_slots and `slots`, for rows that have a program
  // from 0 on; `own` for other rows. `storage` owns them.
  SpeedupView learnt(const SpeedupView& own, std::span<const std::int64_t> programs,
                     std::span<const std::int64_t> max_slots, std::int64_t slots,
                     SpeedupColumns& storage) const;
  // FieldError unless each program is a number from 0 on, or -1.
  static void check(std::span<const std::int64_t> programs);

  void state(State& s) { s(programs_); }

 private:
  struct Seen {
    std::int64_t slots;
    double work, seconds;
    double reported;  // the rate when observe() last returned true
    double rate() const { return work / seconds; }
    void state(State& s) { s(slots, work, seconds, reported); }
  };
  struct Program {
    std::int64_t name;
    std::vector<Seen> seen;  // by slots
    void state(State& s) { s(name, seen); }
  };
  const Program* find(std::int64_t program) const;

  std::vector<Program> programs_;  // by name
};

}  // namespace malleable
