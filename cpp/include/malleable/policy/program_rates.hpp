// What slots of a program's jobs do together, learnt from the work that its jobs did.
//
// For each count of slots that was seen: work over seconds, of all jobs of the program together. A
// count between two that were seen follows the power of slots that joins them; one beyond follows
// the power up to the last, drawn by a third towards what is believed before anything is seen,
// s^0.8. One slot does 1, and more slots do no less than fewer. O(log counts) for what is seen,
// O(entries) for a table.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "malleable/model/state.hpp"

namespace malleable {

class ProgramRates {
 public:
  // Slots beyond this are taken to add nothing.
  static constexpr std::int64_t kMostEntries = 1024;

  // A job of the program did so much work [slot-seconds] in so many seconds. Says whether that
  // changes what is believed by more than rounding.
  bool observe(std::int64_t program, std::int64_t slots, double work, double seconds);
  // What 1, 2, ... `most` slots do.
  std::vector<double> rates(std::int64_t program, std::int64_t most) const;

  void state(State& s) { s(programs_); }

 private:
  struct Seen {
    std::int64_t slots;
    double work, seconds;
    double believed;  // the rate when observe() said so last
    double rate() const { return work / seconds; }
    void state(State& s) { s(slots, work, seconds, believed); }
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
