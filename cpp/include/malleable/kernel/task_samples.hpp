// What a phase's own tasks have shown: how long those took that ended, and beside how many.
//
// Tasks that run together slow each other down if the speed-up is below linear. So each task that
// ends is kept by how long it would have taken alone, for four p; between them the logarithm is
// taken for a cubic in p. These logarithms are normal around one mean if p is right, and their
// squares around it follow, for any p, from the sums of their products. Times are those of tasks
// that ended, so each density has the factor s^(p - 1) / V (s tasks ran just before the end, V is
// the task's time alone); without it long tasks, which end beside few others, would speak for a p
// near 1, or far from it.
//
// O(log steps) a task. Memory: at most 5 KB a phase, freed when the phase ends.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "malleable/model/fetch.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/speedup_curve.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// What takes less counts as so much.
inline constexpr double kLeastTaskSeconds = 1e-3;
inline double log_of_task(double seconds) { return std::log(std::max(seconds, kLeastTaskSeconds)); }

// A logarithm for each p of 1, 0.75, 0.5 and 0.25.
using ByExponent = std::array<double, 4>;
// What each of these counts at another p, and their value there.
ByExponent weights_at(double speedup);
double value_at(const ByExponent& logs, double speedup);

// How many ran, over time: a step function of its logarithm. Of old steps only the latest 64 to 128
// are known.
class RunningOverTime {
 public:
  // From now on; never before the step before.
  void add(double now, double log);
  void forget() { std::vector<Step>().swap(steps_); }
  bool empty() const { return steps_.empty(); }
  double first() const { return steps_.front().time; }
  // What one of so many tasks does in a second, on average from `since` to `now`; what lies before
  // the first step is like it.
  ByExponent rate(double since, double now) const;
  // The logarithm just before now.
  double before(double now) const;
  // One of these is asked for soon.
  MALLEABLE_INLINE void fetch() const {
    if (!empty()) malleable::fetch(&steps_.back());
  }
  void state(State& s) { s(steps_); }

 private:
  static constexpr std::size_t kMost = 128;
  // From then on, and the integrals of rates up to then.
  struct Step {
    double time = 0.0, log = 0.0;
    ByExponent done{};
    void state(State& s) { s(time, log, done); }
  };
  // The last one up to then, or the first.
  const Step& step_at(double time) const;
  static ByExponent until(const Step& step, double time);

  std::vector<Step> steps_;
};

// Tasks that run: how many they are, and their mean age, as if they ran alone.
struct RunningTasks {
  double count = 0.0, age = 0.0;
};

// Sums over tasks: their seconds, and the logarithms of their seconds alone; of these also their
// products, and of how many ran just before each ended the logarithm.
struct TaskSamples {
  using Products = std::array<double, 10>;  // of each two of four

  double count = 0.0, seconds = 0.0, ending = 0.0;
  ByExponent alone{};
  Products products{};
  bool together = false;  // only their mean is known
  // Of p: what they are counted for now, and how many there will be when that is looked at again.
  std::vector<double> said;
  double look = 4.0;

  // So many run from now on.
  void running(double now, double tasks);
  // None will: gives the memory back.
  void rest() {
    ran_.forget();
    std::vector<double>().swap(said);
  }
  // By what the logarithm of seconds of one that runs since then would be less if it ran alone.
  ByExponent slowed(double since, double now) const { return ran_.rate(since, now); }
  // The mean logarithm of seconds of those that ended, as if each had run alone.
  double mean_alone(double speedup) const { return value_at(alone, speedup) / count; }
  // So many more have finished, after as many seconds each.
  void finished(double tasks, double seconds, double now);
  // So many have finished in all, after as many seconds on average.
  void replace(double tasks, double seconds, double now);
  // Products of what is left of the logarithms around their means.
  struct Around {
    Products products{};
    double freedom = 0.0;

    // Their squares at a p.
    double left(double speedup) const;
    void add(const Around& more);
    void state(State& s) { s(products, freedom); }
  };
  Around around() const;
  // The logarithm of the likelihood of each p; 0 for p = 1. If p is right, logarithms of seconds in
  // other phases have this variance. It depends on p: where tasks that began together end one after
  // the other, small differences at a large p look like large ones at a small p.
  SpeedupCurve says(const SpeedupCurve& variances) const;
  MALLEABLE_INLINE void fetch() const { ran_.fetch(); }
  void state(State& s) { s(count, seconds, ending, alone, products, together, said, look, ran_); }

 private:
  void add(double tasks, double each, const ByExponent& rate);

  RunningOverTime ran_;
};

}  // namespace malleable
