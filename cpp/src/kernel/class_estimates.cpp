#include "malleable/kernel/class_estimates.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// Terms: c is a class of jobs; row 2 c + p its phase p; a type is a kind of node. A guess is the
// stated time of a task (guess_: the sum over jobs). come_ counts arrivals: [0] of all jobs, [1] of
// jobs whose users have a guaranteed share (`minimum`).
constexpr double kShortest = 1e-9;  // [s] least time for rates

}  // namespace

ClassEstimates::ClassEstimates(std::size_t types, double memory) : types_(types), memory_(memory) {}

std::size_t ClassEstimates::add_class() {
  jobs_.push_back(0.0);
  for (auto& come : come_) come.emplace_back();
  for (auto* column : {&tasks_, &stated_}) column->resize(2 * jobs_.size(), 0.0);
  for (auto* column : {&guess_, &measured_, &number_}) {
    column->resize(2 * jobs_.size() * types_, 0.0);
  }
  return jobs_.size() - 1;
}

// A count in which jobs are forgotten at the rate 1 / memory.
double ClassEstimates::faded(const Count& count, double now) const {
  return std::isinf(memory_) ? count.value : count.value * std::exp((count.time - now) / memory_);
}

void ClassEstimates::arrived(std::size_t c, double now, bool minimum,
                             const std::int64_t (&tasks)[2], std::span<const double> seconds) {
  for (const int which : {0, 1}) {
    if (which == 1 && !minimum) continue;
    Count& count = come_[which][c];
    count = {faded(count, now) + 1.0, now};
  }
  jobs_[c] += 1.0;
  for (const Phase p : {kMap, kReduce}) {
    tasks_[row(c, p)] += static_cast<double>(tasks[p]);
    if (tasks[p] == 0) continue;
    stated_[row(c, p)] += 1.0;
    for (std::size_t g = 0; g < types_; ++g) {
      guess_[row(c, p) * types_ + g] += seconds[p * types_ + g];
    }
  }
}

void ClassEstimates::correct(std::size_t c, Phase p, std::size_t type, double seconds) {
  double& sum = guess_[row(c, p) * types_ + type];
  sum = std::max(0.0, sum + seconds);  // differences may round below 0
}

void ClassEstimates::finished(std::size_t c, Phase p, std::size_t type, double seconds) {
  double& sum = measured_[row(c, p) * types_ + type];
  double& number = number_[row(c, p) * types_ + type];
  if (number >= kWindow) {
    sum -= sum / number;
    number -= 1.0;
  }
  sum += seconds;
  number += 1.0;
}

double ClassEstimates::rate(std::size_t c, double now, bool minimum) const {
  const double seen = std::isinf(memory_) ? now : memory_ * -std::expm1(-now / memory_);
  // At time 0 only the ratios between classes have a meaning.
  return faded(come_[minimum ? 1 : 0][c], now) / std::max(seen, kShortest);
}

double ClassEstimates::tasks(std::size_t c, Phase p) const {
  return jobs_[c] > 0.0 ? tasks_[row(c, p)] / jobs_[c] : 0.0;
}

// The seconds of a task on nodes of a type: the guess, corrected by what was measured.
double ClassEstimates::seconds(std::size_t c, Phase p, std::size_t type) const {
  const std::size_t first = row(c, p) * types_;
  const double stated = stated_[row(c, p)];
  double sum = 0.0, expected = 0.0;
  for (std::size_t g = 0; g < types_; ++g) {
    const double guess = stated > 0.0 ? guess_[first + g] / stated : 0.0;
    sum += measured_[first + g];
    expected += number_[first + g] * guess;
  }
  const double own = stated > 0.0 ? guess_[first + type] / stated : 0.0;
  // The guess for this type counts as one task at the ratio found so far.
  const double ratio = own + expected > 0.0 ? (own + sum) / (own + expected) : 1.0;
  return (own * ratio + measured_[first + type]) / (1.0 + number_[first + type]);
}

}  // namespace malleable
