#include "malleable/kernel/task_samples.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// s^-.25, s^-.5, s^-.75.
std::array<double, 3> powers(double log) {
  const double root = std::exp(-0.25 * log);
  return {root, root * root, root * root * root};
}

}  // namespace

void RunningOverTime::add(double now, double log) {
  if (empty()) {
    make_room();
    of_[0] = now;
    std::fill_n(level(0), kIntegrals, 0.0);
    level(0)[kLog] = log;
    ++count_;
    return;
  }
  if (of_[count_ - 1] >= now) {
    level(count_ - 1)[kLog] = log;
    return;
  }
  if (level(count_ - 1)[kLog] == log) return;
  const std::array<double, kIntegrals> sums = integrals(now);
  make_room();
  of_[count_] = now;
  std::copy(sums.begin(), sums.end(), level(count_));
  level(count_)[kLog] = log;
  ++count_;
}

// For one step more.
void RunningOverTime::make_room() {
  if (of_.empty()) of_.resize((1 + kLevel) * kMost);  // at once: later events allocate nothing
  if (count_ < kMost) return;
  constexpr std::size_t kHalf = kMost / 2;
  std::copy_n(of_.begin() + kHalf, kHalf, of_.begin());
  std::copy_n(level(kHalf), kLevel * kHalf, level(0));
  count_ = kHalf;
}

// The last one up to then, or the first.
std::size_t RunningOverTime::step_at(double time) const {
  // Mostly among the last steps: from the end on, by doubling.
  std::size_t after = count_, step = 1;
  while (step < after && time < of_[after - step]) {
    after -= step;
    step *= 2;
  }
  const double* const times = of_.data();
  const double* const found =
      std::upper_bound(times + (after - std::min(step, after)), times + after, time);
  return found == times ? 0 : static_cast<std::size_t>(found - times) - 1;
}

std::array<double, RunningOverTime::kIntegrals> RunningOverTime::integrals(double time) const {
  const std::size_t k = step_at(time);
  const double* const known = level(k);
  const double since = time - of_[k], log = known[kLog];
  const std::array<double, 3> rates = powers(log);
  return {known[0] + log * since, known[1] + rates[0] * since, known[2] + rates[1] * since,
          known[3] + rates[2] * since};
}

double RunningOverTime::mean(double since, double now) const {
  if (empty()) return 0.0;
  // What lies before the first step is taken to be like it.
  if (!(now > since)) return level(count_ - 1)[kLog];
  const auto integral = [&](double time) {
    const std::size_t k = step_at(time);
    return level(k)[0] + level(k)[kLog] * (time - of_[k]);
  };
  return (integral(now) - integral(since)) / (now - since);
}

double RunningOverTime::before(double now) const {
  if (empty()) return 0.0;
  const std::size_t k = step_at(now);
  return level(k > 0 && of_[k] >= now ? k - 1 : k)[kLog];
}

EndedTask RunningOverTime::ended(double since, double now) const {
  EndedTask task{since, before(now), {}};
  const double log = log_of_task(now - since);
  task.alone.fill(log);
  if (empty()) return task;
  if (!(now - since > kLeastTaskSeconds)) {
    for (std::size_t k = 1; k < kIntegrals; ++k) {
      task.alone[k] = log - 0.25 * static_cast<double>(k) * task.beside;
    }
    return task;
  }
  const auto until = integrals(now), from = integrals(since);
  for (std::size_t k = 1; k < kIntegrals; ++k) {
    task.alone[k] = std::log(std::max(until[k] - from[k], kTiny));
  }
  return task;
}

// As a list of steps.
void RunningOverTime::state(State& s) {
  struct Step {
    double time = 0.0;
    std::array<double, kLevel> level{};
    void state(State& step) { step(time, level); }
  };
  std::vector<Step> steps(count_);
  for (std::size_t k = 0; k < count_; ++k) {
    steps[k].time = of_[k];
    std::copy_n(level(k), kLevel, steps[k].level.begin());
  }
  s(steps);
  if (!s.reading()) return;
  forget();
  for (const Step& step : steps) {
    make_room();
    of_[count_] = step.time;
    std::copy(step.level.begin(), step.level.end(), level(count_++));
  }
}

void TaskSamples::running(double now, double tasks) {
  if (ran_.empty()) {  // at once: later events allocate nothing
    ended.reserve(kSpeedupTasks);
    said.reserve(kSpeedups);
    latest.reserve();
  }
  ran_.add(now, tasks > 1.0 ? std::log(tasks) : 0.0);
}

void TaskSamples::finished(double tasks, double each, double now, double arrived,
                           bool shows_speedup, double slope, double scatter) {
  if (together) replace(0.0, 0.0, now);  // what is told of tasks goes before what is guessed
  together = false;
  const double others = beside(now - each, now), log = log_of_task(each);
  const TaskSums more = TaskSums::of(tasks, std::max(now - each, arrived), each, others, log,
                                     draw_near(*this, others, log, slope, scatter));
  until = now;
  add(more);
  latest.add(more);
  if (!shows_speedup) return;
  const double room = static_cast<double>(kSpeedupTasks - std::min(kSpeedupTasks, ended.size()));
  ended.resize(ended.size() + static_cast<std::size_t>(std::min(tasks, room)),
               ran_.ended(now - each, now));
}

void TaskSamples::replace(double tasks, double mean, double now) {
  const double first = ran_.empty() ? now : ran_.first();
  const double others = beside(first, now), log = log_of_task(mean);
  static_cast<TaskSums&>(*this) = TaskSums::of(tasks, first, mean, others, log, log);
  until = now;
  latest.clear();
  together = true;
  ended.resize(0);
}

}  // namespace malleable
