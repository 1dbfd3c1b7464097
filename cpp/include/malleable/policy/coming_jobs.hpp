// The mean number of jobs in the system that came after the first decision: an epoch (the object
// that decides the slots of present jobs in a loop) learns it from its loop.
//
// Only jobs that were added after the time of the first decision count, so that a batch has none.
// The last 500 arrivals count most. O(1) an event.
#pragma once

#include <cstdint>
#include <limits>

#include "malleable/model/state.hpp"

namespace malleable {

class ComingJobs {
 public:
  // A job with this id was added; ids only rise.
  void add(std::int64_t id) {
    if (id < first_) return;
    ++here_;
    seconds_ *= kKept;
    sum_ *= kKept;
  }
  void remove(std::int64_t id) {
    if (id >= first_) --here_;
  }
  // A decision now; the next job that is added will have this id.
  void decide(double now, std::int64_t next_id) {
    if (decided_) {
      seconds_ += now - now_;
      sum_ += (now - now_) * static_cast<double>(were_);
      if (now > now_ && first_ == kNever) first_ = next_id;
    }
    decided_ = true;
    now_ = now;
    were_ = here_;
  }
  double expected() const { return seconds_ > 0.0 ? sum_ / seconds_ : 0.0; }

  void state(State& s) { s(first_, here_, were_, decided_, now_, seconds_, sum_); }

 private:
  // above every id: no job came later
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr double kKept = 1.0 - 1.0 / 500.0;  // weight of the past at each arrival

  std::int64_t first_ = kNever;       // id of the first job that came later
  std::int64_t here_ = 0, were_ = 0;  // present jobs that came later, now and at the last decision
  bool decided_ = false;
  double now_ = 0.0;                  // time of the last decision
  double seconds_ = 0.0, sum_ = 0.0;  // recent seconds; integral of the number of jobs over them
};

}  // namespace malleable
