// How often do jobs of each class come, and how long do their tasks take on each type of node?
//
// Arrival rates are counts over time, both with the weight exp(-age / memory): the plain average as
// long as the run is shorter than the memory. Seconds of a task start as a guess (the mean of what
// the class's jobs stated for this type), which counts like one finished task. A task that finishes
// on a type corrects the estimate of this type, and by its ratio to the guess, those of all types.
// Beyond `kWindow` finished tasks the oldest fade. p is a phase, c a class. O(1) an arrival for
// each type and O(1) a task; O(types) a class queried. Memory: O(classes x types). Source: Rasooli
// and Down 2011, section 6.2, 1 and 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/cluster.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class ClassEstimates {
 public:
  static constexpr double kWindow = 100.0;  // tasks

  // `memory` [s] above 0; infinity: nothing fades.
  ClassEstimates(std::size_t types, double memory);

  std::size_t types() const { return types_; }
  std::size_t classes() const { return jobs_.size(); }
  std::size_t add_class();

  // A job with tasks[p] tasks of seconds[p * types + g] on type g. `minimum`: its user has a
  // guaranteed share. Times must not fall.
  void arrived(std::size_t c, double now, bool minimum, const std::int64_t (&tasks)[2],
               std::span<const double> seconds);
  // A job's stated time of its tasks on a type was too short by `seconds`.
  void correct(std::size_t c, Phase p, std::size_t type, double seconds);
  void finished(std::size_t c, Phase p, std::size_t type, double seconds);

  // Jobs a second: of all users, or only of users with a guaranteed share.
  double rate(std::size_t c, double now, bool minimum) const;
  // Tasks of a job, on average.
  double tasks(std::size_t c, Phase p) const;
  double seconds(std::size_t c, Phase p, std::size_t type) const;

  void state(State& s) {
    s(types_, memory_, come_, jobs_, tasks_, guess_, stated_, measured_, number_);
  }

 private:
  struct Count {
    double value = 0.0, time = 0.0;
    void state(State& s) { s(value, time); }
  };
  double faded(const Count& count, double now) const;
  std::size_t row(std::size_t c, Phase p) const { return 2 * c + p; }

  std::size_t types_;
  double memory_;
  std::vector<Count> come_[2];             // all, with a minimum
  std::vector<double> jobs_;               // jobs that have come, the divisor of the means
  std::vector<double> tasks_;              // sums by class and phase
  std::vector<double> guess_;              // sums by class, phase and type
  std::vector<double> stated_;             // jobs that stated times, by class and phase
  std::vector<double> measured_, number_;  // finished tasks: sum of seconds, and their number
};

}  // namespace malleable
