#include "malleable/kernel/task_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// If k tasks run at once, each is slower by the factor k^(p - 1), with an unknown exponent p. Sums
// of logarithms are kept for the four exponents 1, 3/4, 1/2, 1/4 (ByExponent) and interpolated
// between them.
namespace {

// The scatter of other phases counts as so many tasks.
constexpr double kKnown = 2.0;
// The latest tasks are the n / kFading last ones of n, with fading weights. They differ clearly if
// they do so by this many standard deviations.
constexpr double kFading = 2.0, kDiffers = 2.0;

// The rate of one of exp(log) running tasks, for each of the four p.
ByExponent rates(double log) {
  const double root = std::exp(-0.25 * log);
  return {1.0, root, root * root, root * root * root};
}

// Calls see(product, first, second) for all pairs.
template <typename Products, typename See>
void each_pair(Products& products, const See& see) {
  auto product = products.begin();
  for (std::size_t a = 0; a < std::tuple_size_v<ByExponent>; ++a) {
    for (std::size_t b = a; b < std::tuple_size_v<ByExponent>; ++b) see(*product++, a, b);
  }
}

}  // namespace

// Lagrange's polynomials through q = 0, 1, 2, 3.
ByExponent weights_at(double speedup) {
  const double q = 4.0 * (1.0 - speedup), a = q - 1.0, b = q - 2.0, c = q - 3.0;
  return {-a * b * c / 6.0, q * b * c / 2.0, -q * a * c / 2.0, q * a * b / 6.0};
}

double value_at(const ByExponent& logs, double speedup) {
  const ByExponent weights = weights_at(speedup);
  return std::inner_product(logs.begin(), logs.end(), weights.begin(), 0.0);
}

ByExponent RunningOverTime::until(const Step& step, double time) {
  ByExponent found = rates(step.log);
  for (std::size_t k = 0; k < found.size(); ++k) {
    found[k] = step.done[k] + found[k] * (time - step.time);
  }
  return found;
}

// From now on exp(log) tasks run.
void RunningOverTime::add(double now, double log) {
  if (steps_.empty()) {
    steps_.reserve(kMost);  // reserved at once, so that later events allocate nothing
    steps_.push_back({now, log, {}});
    return;
  }
  Step& last = steps_.back();
  if (last.time >= now) {
    last.log = log;
    return;
  }
  if (last.log == log) return;
  const Step next{now, log, until(last, now)};
  if (steps_.size() == kMost) steps_.erase(steps_.begin(), steps_.begin() + kMost / 2);
  steps_.push_back(next);
}

const RunningOverTime::Step& RunningOverTime::step_at(double time) const {
  const auto after = std::upper_bound(steps_.begin() + 1, steps_.end(), time,
                                      [](double at, const Step& step) { return at < step.time; });
  return *(after - 1);
}

// The logarithm of a task's mean speed between two times.
ByExponent RunningOverTime::rate(double since, double now) const {
  ByExponent found{};
  if (empty()) return found;
  if (!(now - since > kLeastTaskSeconds)) {
    found = rates(steps_.back().log);
  } else {
    found = until(step_at(now), now);
    const ByExponent from = until(step_at(since), since);
    for (std::size_t k = 0; k < found.size(); ++k) found[k] = (found[k] - from[k]) / (now - since);
  }
  for (double& rate : found) rate = std::log(std::max(rate, kTiny));
  found[0] = 0.0;
  return found;
}

double RunningOverTime::before(double now) const {
  if (empty()) return 0.0;
  const Step* step = &step_at(now);
  return step->time >= now && step != &steps_.front() ? step[-1].log : step->log;
}

void TaskSamples::running(double now, double tasks) {
  if (ran_.empty()) reported.reserve(kSpeedups);
  ran_.add(now, tasks > 1.0 ? std::log(tasks) : 0.0);
}

void TaskSamples::add(double tasks, double each, const ByExponent& rate) {
  count += tasks;
  seconds += tasks * each;
  ByExponent logs;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    logs[k] = log_of_task(each) + rate[k];
    alone[k] += tasks * logs[k];
  }
  each_pair(products,
            [&](double& sum, std::size_t a, std::size_t b) { sum += tasks * logs[a] * logs[b]; });
}

void TaskSamples::finished(double tasks, double each, double now) {
  if (together) replace(0.0, 0.0, now);  // reported times replace estimated ones
  together = false;
  if (count > 0.0) {
    const double off = log_of_task(each) - mean_alone(1.0);
    later += std::min(1.0, kFading * tasks / (count + tasks)) * (off - later);
  }
  add(tasks, each, slowed(now - each, now));
  ending += tasks * ran_.before(now);
}

// Replaces all samples by a mean that an engine reports.
void TaskSamples::replace(double tasks, double mean, double now) {
  count = seconds = ending = later = 0.0;
  alone = {};
  products = {};
  add(tasks, mean, slowed(ran_.empty() ? now : ran_.first(), now));
  together = true;
}

double TaskSamples::drift() const {
  const Around squares = around();
  if (later == 0.0 || squares.freedom == 0.0) return 0.0;
  // The fading mean and the mean of all both vary.
  const double variance = (0.5 * kFading + 1.0) * squares.left(1.0) / squares.freedom / count;
  return later * std::max(0.0, 1.0 - kDiffers * kDiffers * variance / (later * later));
}

// The sum of squares around the mean, at this exponent.
double TaskSamples::Around::left(double speedup) const {
  const ByExponent weights = weights_at(speedup);
  double sum = 0.0;
  each_pair(products, [&](double product, std::size_t a, std::size_t b) {
    sum += (a == b ? 1.0 : 2.0) * weights[a] * weights[b] * product;
  });
  return std::max(0.0, sum);
}

void TaskSamples::Around::add(const Around& more) {
  for (std::size_t k = 0; k < products.size(); ++k) products[k] += more.products[k];
  freedom += more.freedom;
}

// Sums of squares around the mean, for all pairs of exponents.
TaskSamples::Around TaskSamples::around() const {
  if (together || !(count > 1.0)) return {};
  Around found{products, count - 1.0};
  each_pair(found.products,
            [&](double& sum, std::size_t a, std::size_t b) { sum -= alone[a] * alone[b] / count; });
  return found;
}

// The log-likelihood of each exponent, less that of linear speed-up.
SpeedupCurve TaskSamples::likelihood(const SpeedupCurve& variances) const {
  SpeedupCurve found{};
  const Around squares = around();
  if (squares.freedom == 0.0) return found;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double speedup = speedup_at(g), known = kKnown * variances[g];
    found[g] = (speedup - 1.0) * ending - value_at(alone, speedup) +
               0.5 * kKnown * std::log(known) -
               0.5 * (squares.freedom + kKnown) * std::log(squares.left(speedup) + known);
  }
  const double linear = found.back();
  for (double& log : found) log -= linear;
  return found;
}

}  // namespace malleable
