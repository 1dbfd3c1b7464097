// What a phase's own tasks have shown: how long ended tasks took, and how many ran beside them.
//
// Tasks that run together slow each other down if the speed-up is below linear. So for each ended
// task the logarithm of the time that it would have taken alone is kept for four p; between them it
// is a cubic in p. These logarithms are normal around one mean if p is right, and their squares
// around it follow, for any p, from the sums of their products. The times are of ended tasks, so
// each density has the factor s^(p - 1) / V (s tasks ran just before the end, V is the task's time
// alone). Without this factor long tasks, which end beside few others, would bias p.
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

// A shorter task counts as this.
inline constexpr double kLeastTaskSeconds = 1e-3;
inline double log_of_task(double seconds) { return std::log(std::max(seconds, kLeastTaskSeconds)); }

// A logarithm for each p of 1, 0.75, 0.5 and 0.25.
using ByExponent = std::array<double, 4>;
// The weight of each of the four at another p, and the interpolated value there.
ByExponent weights_at(double speedup);
double value_at(const ByExponent& logs, double speedup);

// The number of running tasks over time, as a step function of its logarithm. Only the latest 64 to
// 128 steps are kept.
class RunningOverTime {
 public:
  // The logarithm from `now` on; times never fall.
  void add(double now, double log);
  void forget() { std::vector<Step>().swap(steps_); }
  bool empty() const { return steps_.empty(); }
  double first() const { return steps_.front().time; }
  // The mean rate of one of the running tasks from `since` to `now`; before the first step it is as
  // in that step.
  ByExponent rate(double since, double now) const;
  // The logarithm just before now.
  double before(double now) const;
  // Prefetches the steps, because a rate will soon be asked for.
  MALLEABLE_INLINE void fetch() const {
    if (!empty()) malleable::fetch(&steps_.back());
  }
  void state(State& s) { s(steps_); }

 private:
  static constexpr std::size_t kMost = 128;  // steps; then the older half is dropped
  // A step from `time` on, and the integrals of rates up to then.
  struct Step {
    double time = 0.0, log = 0.0;
    ByExponent done{};
    void state(State& s) { s(time, log, done); }
  };
  // The last step up to `time`, or the first step.
  const Step& step_at(double time) const;
  static ByExponent until(const Step& step, double time);

  std::vector<Step> steps_;
};

// Running tasks: their number, and their mean age as if they ran alone.
struct RunningTasks {
  double count = 0.0, age = 0.0;
};

// Sums over ended tasks: of their seconds; of the logarithms of their seconds alone, and of the
// products of these; of the logarithm of the number of tasks that ran just before each end.
struct TaskSamples {
  using Products = std::array<double, 10>;  // of each pair of the four

  double count = 0.0, seconds = 0.0, ending = 0.0;
  ByExponent alone{};
  Products products{};
  bool together = false;  // only the mean of the tasks' seconds is known
  // `ending`: sum of the logarithms of the number of tasks just before each end. The log-likelihood
  // of p reported so far, and the number of tasks at which to report again.
  std::vector<double> reported;
  double next_report = 4.0;
  // How much longer, as a logarithm, the latest tasks took than all before them: a mean that fades
  // over half of the tasks.
  double later = 0.0;

  // `tasks` run from `now` on.
  void running(double now, double tasks);
  // No task will run any more: gives the memory back.
  void rest() {
    ran_.forget();
    std::vector<double>().swap(reported);
  }
  // How much less the logarithm of the seconds of a task that runs since `since` would be if it ran
  // alone.
  ByExponent slowed(double since, double now) const { return ran_.rate(since, now); }
  // The mean logarithm of the seconds of ended tasks, as if each had run alone.
  double mean_alone(double speedup) const { return value_at(alone, speedup) / count; }
  // The same, if it is clear: 0 unless it is more than two of its standard deviations, shrunk
  // towards 0 (James and Stein 1961). A machine that was busy at first, or is now, is seen so.
  double drift() const;
  // `tasks` more have finished, after `seconds` each.
  void finished(double tasks, double seconds, double now);
  // `tasks` have finished in all, after `seconds` on average.
  void replace(double tasks, double seconds, double now);
  // Products of the logarithms around their means.
  struct Around {
    Products products{};
    double freedom = 0.0;

    // The sum of squares at a p.
    double left(double speedup) const;
    void add(const Around& more);
    void state(State& s) { s(products, freedom); }
  };
  Around around() const;
  // The log-likelihood of each p, relative to p = 1. `variances`: for each p, the variance of
  // logarithms of seconds in other phases if that p is right. It depends on p: if tasks that began
  // together end one after the other, small differences at a large p next_report like large ones at
  // a small p.
  SpeedupCurve likelihood(const SpeedupCurve& variances) const;
  MALLEABLE_INLINE void fetch() const { ran_.fetch(); }
  void state(State& s) {
    s(count, seconds, ending, alone, products, together, reported, next_report, later, ran_);
  }

 private:
  void add(double tasks, double each, const ByExponent& rate);

  RunningOverTime ran_;
};

}  // namespace malleable
