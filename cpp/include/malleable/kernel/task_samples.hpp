// What a phase's own tasks have shown: how long those took that ended, and beside how many.
//
// Tasks that run together slow each other down if the speed-up is below linear. So each task that
// ends is kept with the mean logarithm of how many ran while it did, and with how much work it
// would have done alone for each of three exponents. Sums over all tasks are kept, sums over the
// latest ones (kernel/change_point), and a bounded number of single tasks
// (kernel/speedup_likelihood). O(log steps) a task. Memory: O(1) a phase, freed when the phase
// ends.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "malleable/kernel/change_point.hpp"
#include "malleable/kernel/speedup_posterior.hpp"
#include "malleable/model/fetch.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// What takes less counts as so much.
inline constexpr double kLeastTaskSeconds = 1e-3;
inline double log_of_task(double seconds) { return std::log(std::max(seconds, kLeastTaskSeconds)); }

// How many ran, over time: a step function of its logarithm. Of old steps only the latest 64 to 128
// are known. Times lie side by side, so that a search touches few lines of memory.
class RunningOverTime {
 public:
  // From now on; never before the step before.
  void add(double now, double log);
  void forget() { *this = {}; }
  bool empty() const { return count_ == 0; }
  double first() const { return of_[0]; }
  // The mean of the logarithm from `since` to `now`.
  double mean(double since, double now) const;
  // The logarithm just before now.
  double before(double now) const;
  // A task that ran from then until now.
  EndedTask ended(double since, double now) const;
  // One of these is asked for soon.
  MALLEABLE_INLINE void fetch() const {
    if (empty()) return;
    malleable::fetch(level(count_ - 1));
    const std::size_t lines = std::min((count_ + kOfLine - 1) / kOfLine, kMostLines);
    for (std::size_t k = 0; k < lines; ++k) malleable::fetch(&of_[count_ - 1] - k * kOfLine);
  }
  void state(State& s);

 private:
  static constexpr std::size_t kMost = 128, kOfLine = 8, kMostLines = 8;

  // From a step on: integrals up to there, of the logarithm and of s^-.25, s^-.5 and s^-.75, and
  // the logarithm.
  static constexpr std::size_t kIntegrals = 4, kLog = kIntegrals, kLevel = kIntegrals + 1;
  const double* level(std::size_t k) const { return of_.data() + kMost + kLevel * k; }
  double* level(std::size_t k) { return of_.data() + kMost + kLevel * k; }
  std::size_t step_at(double time) const;
  std::array<double, kIntegrals> integrals(double time) const;
  void make_room();

  std::vector<double> of_;  // room for times, then for levels
  std::uint32_t count_ = 0;
};

// What a phase's own tasks have shown. O(1) memory.
struct TaskSamples : TaskSums {
  bool together = false;  // only their mean is known
  LatestTasks latest;     // to see since when times are others
  double until = 0.0;     // the latest end
  // What they say of p: those that have not been counted for good, what they are counted for now,
  // and how many there will be when that is looked at again.
  std::vector<EndedTask> ended;
  std::vector<double> said;
  std::uint32_t look = 0;

  // So many run from now on.
  void running(double now, double tasks);
  // None will: forgets how many did, and gives its memory back.
  void rest() {
    ran_.forget();
    std::vector<EndedTask>().swap(ended);
    std::vector<double>().swap(said);
    latest.rest();
  }
  // The mean logarithm of how many ran since then.
  double beside(double since, double now) const { return ran_.mean(since, now); }
  // So many more have finished, after as many seconds each, and none began before `arrived`;
  // whether they show p. `slope` is 1 - p, and `scatter` the standard deviation of logarithms of
  // seconds, as far as both are known.
  void finished(double tasks, double seconds, double now, double arrived = -kInfinity,
                bool shows_speedup = true, double slope = 0.0, double scatter = 0.2);
  // So many have finished in all, after as many seconds on average.
  void replace(double tasks, double seconds, double now);
  MALLEABLE_INLINE void fetch() const { ran_.fetch(); }
  void state(State& s) {
    TaskSums::state(s);
    s(together, latest, until, ended, said, look, ran_);
  }

 private:
  RunningOverTime ran_;
};

}  // namespace malleable
