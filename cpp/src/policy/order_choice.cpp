#include "malleable/policy/order_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/running_sum.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: A (`beside`) is a part of the time of all work on all slots: a job whose time alone is
// long next to A cannot catch up later, so it goes earlier; patience is the span of time that
// counts as soon. A gang runs on at least its minimum, or not at all.

constexpr double kBeside[] = {0.25, 0.5, 1.0, 2.0};  // A, as parts of the time of all work
constexpr double kMiddle = 0.5;                      // the part used together with patiences
constexpr double kPatiences[] = {0.5, 2.0};          // in times of the median and the mean job

}  // namespace

void OrderChoice::study(const Problem& problem, const Penalties& penalties, double spread) {
  const std::size_t n = problem.size();
  problem_ = &problem;
  all_ = sum_of(problem.work) / problem.slots;
  middle_.clear();
  alone_.assign(n, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    if (!(problem.work[j] > 0.0)) continue;
    middle_.push_back(problem.work[j]);
    alone_[j] = problem.work[j] / problem.high[j];
  }
  const auto middle = middle_.begin() + static_cast<std::ptrdiff_t>(middle_.size() / 2);
  std::nth_element(middle_.begin(), middle, middle_.end());
  median_ = middle_.empty() ? 0.0 : *middle / problem.slots;
  spread_ = std::max(spread * median_, kTiny);
  // The mean width of gangs, as a part of all slots and weighted by work: little work may run
  // beside wide gangs. From a third of the slots on, gangs go by their time alone.
  double width = 0.0;
  for (std::size_t j = 0; j < n; ++j) width += problem.work[j] * problem.high[j];
  width /= std::max(all_, kTiny) * problem.slots * problem.slots;
  width_power_ = std::max(0.0, 1.0 - 3.0 * width);
  key_.resize(n);
  tried_.resize(n);
  chosen_.resize(n);
  std::iota(chosen_.begin(), chosen_.end(), Index{0});
  least_ = kInfinity;
  best_ = "none";
  if (penalties.linear()) return;
  paid_.resize(n);
  for (std::size_t j = 0; j < n; ++j) paid_[j] = penalties(j, problem.now);
  earliest_.resize(n);
  earliest_completions(problem, earliest_);
}

// The rate at which the job loses soon: steps in reach and slopes, with less weight the farther
// away.
double OrderChoice::rate(const Penalties& penalties, std::size_t j, double patience) const {
  if (penalties.linear()) return penalties.slope()[j];
  const std::size_t first = penalties.offset()[j];
  double sum = penalties.slope()[first];
  for (std::size_t r = first + 1; r < penalties.offset()[j + 1]; ++r) {
    const double at = penalties.at()[r], slack = at + tolerance(at) - problem_->now - alone_[j];
    const double jump = penalties.line(r, at) - penalties.line(r - 1, at);
    const double near = std::exp(-std::max(slack, 0.0) / patience);
    if (slack >= 0.0) {
      sum += jump / patience * near;
    } else if (doubt_ > 0.0 && jump > 0.0) {
      sum += jump / patience * std::exp(slack / (doubt_ * alone_[j]));
    }
    sum += (penalties.slope()[r] - penalties.slope()[r - 1]) * near;
  }
  return sum;
}

// `beside`: A; infinite: the work counts as it is.
void OrderChoice::make_keys(const Penalties& penalties, double patience, double beside,
                            double width_power) {
  for (std::size_t j = 0; j < key_.size(); ++j) {
    double work = problem_->work[j];
    if (!(work > 0.0)) {
      key_[j] = 0.0;
      continue;
    }
    if (problem_->gang) work = alone_[j] * std::pow(problem_->high[j], width_power);
    if (beside < kInfinity) work /= beside + alone_[j];
    const double loses = rate(penalties, j, patience);
    key_[j] = loses > 0.0 ? work / loses : kInfinity;
  }
}

// The mean penalty of an end that is uncertain by spread_ (a logistic distribution).
double OrderChoice::uncertain(const Penalties& penalties, std::size_t j, double end) const {
  const std::size_t first = penalties.offset()[j];
  double sum = penalties.line(first, end);
  for (std::size_t r = first + 1; r < penalties.offset()[j + 1]; ++r) {
    const double at = penalties.at()[r], z = (end - at) / spread_;
    const double vague = (end - at) / (spread_ + doubt_ * alone_[j]);
    const double jump = penalties.line(r, at) - penalties.line(r - 1, at);
    const double bend = penalties.slope()[r] - penalties.slope()[r - 1];
    if (jump != 0.0) sum += jump / (1.0 + std::exp(-vague));
    if (bend != 0.0) sum += bend * spread_ * (z > 30.0 ? z : std::log1p(std::exp(z)));
  }
  return sum;
}

// The cost of the order in tried_ beyond that of ending all jobs now; given up above `most`.
double OrderChoice::cost(const Penalties& penalties, double most) {
  double sum = 0.0;
  packing_.run_until(*problem_, tried_, [&](Index j, double end) {
    if (end == kInfinity) return true;  // a gang that is too wide
    sum += penalties.linear() ? (penalties.slope()[j] + behind_ * problem_->work[j]) * end
                              : uncertain(penalties, j, problem_->now + end) - paid_[j];
    return sum < most;
  });
  return sum;
}

void OrderChoice::consider(const Penalties& penalties, const char* name) {
  const double own = cost(penalties, least_);
  if (!(own < least_)) return;
  least_ = own;
  best_ = name;
  chosen_.swap(tried_);
}

void OrderChoice::consider_keys(const Penalties& penalties, const char* name) {
  sorter_.sort(key_, tried_);
  consider(penalties, name);
}

// Tries orders by work over the rate of loss.
void OrderChoice::consider_costs(const Penalties& penalties, double patience) {
  if (problem_->gang) {
    for (const double part : {0.0, 0.5, 1.0}) {
      make_keys(penalties, patience, kInfinity, part * width_power_);
      consider_keys(penalties, "time over loss");
    }
    return;
  }
  make_keys(penalties, patience, kInfinity, 1.0);
  consider_keys(penalties, "work over loss");
  for (const double part : kBeside) {
    if (!penalties.linear() && part != kMiddle) continue;
    make_keys(penalties, patience, part * all_, 1.0);
    consider_keys(penalties, "catch up");
  }
}

// Tries orders by work times width over the rate of loss.
void OrderChoice::consider_area(const Penalties& penalties) {
  make_keys(penalties, kTiny, kInfinity, 1.0);
  for (std::size_t j = 0; j < key_.size(); ++j) key_[j] *= problem_->high[j];
  consider_keys(penalties, "area");
}

// Tries all orders and writes the best; returns its name.
const char* OrderChoice::run(const Problem& problem, const Penalties& penalties, double spread,
                             std::span<Index> order, double coming, double doubt) {
  const std::size_t n = problem.size();
  doubt_ = doubt;
  study(problem, penalties, spread);
  behind_ = 0.0;
  if (problem.gang && penalties.linear() && all_ > 0.0) {
    const double mean = sum_of(penalties.slope()) / static_cast<double>(n);
    behind_ = coming * mean / (all_ * problem.slots);
  }
  const double mean = std::max(all_ / static_cast<double>(n), kTiny);
  if (penalties.linear()) {
    consider_costs(penalties, mean);
    if (!problem.gang) consider_area(penalties);
  } else {
    for (const double time : {std::max(median_, kTiny), mean}) {
      for (const double part : kPatiences) consider_costs(penalties, part * time);
    }
    consider_costs(penalties, std::max(all_, kTiny));
    orders_.make(OrderRule::kFittingSet, problem, penalties, earliest_, tried_);
    consider(penalties, "on-time set");
    const std::span<const double> due = orders_.due();
    key_.assign(due.begin(), due.end());
    consider_keys(penalties, "due date");
    for (std::size_t j = 0; j < n; ++j) key_[j] = due[j] - alone_[j];
    consider_keys(penalties, "latest start");
  }
  std::copy(chosen_.begin(), chosen_.end(), order.begin());
  return best_;
}

}  // namespace malleable
