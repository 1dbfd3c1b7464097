#include "malleable/kernel/bundle_ascent.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Moves of weight for a point; a point is good enough if its gain is known to this part.
constexpr std::size_t kMoves = 120;
constexpr double kLoose = 1e-3;
constexpr double kNothing = 1e-6;  // of the value: a gain that is not worth an evaluation
constexpr double kWorthAMove = 0.1, kGood = 0.5;  // of what was predicted
constexpr std::size_t kIdleEvaluations = 6;       // evaluations until the step is halved
constexpr std::size_t kAtFirst = 4, kLater = 2;   // coordinates that join together
constexpr int kTries = 40;
constexpr double kFirstStep = 0.1;  // of the way to the goal

// Element by element, so that all machines agree.
MALLEABLE_VECTOR_CLONES
void add_times(double factor, const double* from, double* to, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) to[k] += factor * from[k];
}

double product(std::span<const double> a, std::span<const double> b) {
  // Eight sums side by side.
  double sum[8] = {};
  std::size_t k = 0;
  for (; k + 8 <= a.size(); k += 8) {
    for (std::size_t i = 0; i < 8; ++i) sum[i] += a[k + i] * b[k + i];
  }
  for (std::size_t i = 0; k < a.size(); ++k, ++i) sum[i] += a[k] * b[k];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

}  // namespace

void BundleAscent::begin(std::span<const double> at, double value, std::span<const double> gradient,
                         double goal) {
  centre_.assign(at.begin(), at.end());
  value_ = value;
  goal_ = goal;
  height_.assign(1, value);
  gradient_.assign(1, {gradient.begin(), gradient.end()});
  weight_.assign(1, 1.0);
  const double most = centre_.empty() ? 0.0 : *std::max_element(centre_.begin(), centre_.end());
  active_.assign(centre_.size(), 0);
  for (std::size_t k = 0; k < centre_.size(); ++k) active_[k] = centre_[k] > kNothing * most;
  activate(kAtFirst);
  double length = 0.0;
  for (std::size_t k = 0; k < centre_.size(); ++k) {
    if (active_[k]) length += gradient[k] * gradient[k];
  }
  step_ = length > 0.0 ? kFirstStep * (goal - value) / length : 0.0;
  idle_ = 0;
}

void BundleAscent::mean_gradient() {
  mean_.assign(centre_.size(), 0.0);
  for (std::size_t i = 0; i < weight_.size(); ++i) {
    if (weight_[i] > 0.0) add_times(weight_[i], gradient_[i].data(), mean_.data(), mean_.size());
  }
}

// The highest peaks of the mean gradient become active, at most so many.
void BundleAscent::activate(std::size_t most) {
  mean_gradient();
  peaks_.clear();
  const std::size_t m = mean_.size();
  for (std::size_t k = 0; k < m; ++k) {
    const bool peak = mean_[k] > 0.0 && (k == 0 || mean_[k] > mean_[k - 1]) &&
                      (k + 1 == m || mean_[k] >= mean_[k + 1]);
    if (peak && !active_[k]) peaks_.push_back(k);
  }
  most = std::min(most, peaks_.size());
  std::partial_sort(peaks_.begin(), peaks_.begin() + static_cast<std::ptrdiff_t>(most),
                    peaks_.end(), [&](std::size_t a, std::size_t b) {
                      return mean_[a] != mean_[b] ? mean_[a] > mean_[b] : a < b;
                    });
  for (std::size_t i = 0; i < most; ++i) active_[peaks_[i]] = 1;
  peaks_.resize(most);
  list_.clear();
  for (std::size_t k = 0; k < m; ++k) {
    if (active_[k]) list_.push_back(k);
  }
}

void BundleAscent::collect() {
  from_.resize(list_.size());
  for (std::size_t k = 0; k < list_.size(); ++k) from_[k] = centre_[list_[k]];
  part_.resize(gradient_.size());
  for (std::size_t i = 0; i < gradient_.size(); ++i) {
    part_[i].resize(list_.size());
    for (std::size_t k = 0; k < list_.size(); ++k) part_[i][k] = gradient_[i][list_[k]];
  }
}

// The way from the centre that the weights of the cuts lead to.
void BundleAscent::weigh(std::span<const double> weight) {
  move_.assign(list_.size(), 0.0);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] > 0.0) add_times(weight[i], part_[i].data(), move_.data(), move_.size());
  }
  for (std::size_t k = 0; k < move_.size(); ++k) move_[k] = std::max(-from_[k], step_ * move_[k]);
  reached_.resize(weight.size());
  for (std::size_t i = 0; i < weight.size(); ++i) {
    reached_[i] = height_[i] + product(part_[i], move_);
  }
}

// Moves weight to the lowest cut from the highest that has any. Returns the predicted value.
double BundleAscent::solve() {
  for (std::size_t round = 0;; ++round) {
    weigh(weight_);
    std::size_t low = 0, high = weight_.size();
    double mean = 0.0, before = 0.0;
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      mean += weight_[i] * reached_[i];
      before += weight_[i] * height_[i];
      if (reached_[i] < reached_[low]) low = i;
      if (weight_[i] > 0.0 && (high == weight_.size() || reached_[i] > reached_[high])) high = i;
    }
    const double gap = mean - reached_[low];
    if (round == kMoves || low == high || gap <= kLoose * std::max(0.0, mean - before)) {
      return reached_[low];
    }
    double length = 0.0;
    for (std::size_t k = 0; k < list_.size(); ++k) {
      const double d = part_[low][k] - part_[high][k];
      length += d * d;
    }
    const double wanted = reached_[high] - reached_[low];
    const double share = length > 0.0 && step_ > 0.0
                             ? std::min(weight_[high], wanted / (step_ * length))
                             : weight_[high];
    weight_[low] += share;
    weight_[high] -= share;
  }
}

bool BundleAscent::next(std::span<double> point) {
  if (!(step_ > 0.0) || !(goal_ > value_)) return false;
  for (int round = 0; round < kTries; ++round) {
    collect();
    predicted_ = solve() - value_;
    if (predicted_ > kNothing * std::fabs(value_)) {
      std::copy(centre_.begin(), centre_.end(), point.begin());
      for (std::size_t k = 0; k < list_.size(); ++k) {
        point[list_[k]] = std::max(0.0, from_[k] + move_[k]);
      }
      return true;
    }
    activate(kAtFirst);
    step_ *= peaks_.empty() ? 4.0 : 2.0;
  }
  return false;
}

void BundleAscent::drop_cuts() {
  if (weight_.size() <= kCuts) return;
  // The last one stays, and those of weight.
  std::vector<std::size_t> order(weight_.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weight_[a] > weight_[b]; });
  order.resize(kCuts - 5);
  std::sort(order.begin(), order.end());
  order.push_back(weight_.size() - 1);
  double sum = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t from = order[i];
    height_[i] = height_[from];
    weight_[i] = weight_[from];
    if (i != from) gradient_[i].swap(gradient_[from]);
    sum += weight_[i];
  }
  height_.resize(order.size());
  weight_.resize(order.size());
  gradient_.resize(order.size());
  for (double& weight : weight_) weight /= sum;
}

void BundleAscent::tell(std::span<const double> point, double value,
                        std::span<const double> gradient) {
  assert(point.size() == centre_.size() && gradient.size() == centre_.size());
  const auto rise = [&](std::span<const double> along) {
    double sum = 0.0;
    for (const std::size_t k : list_) sum += along[k] * (point[k] - centre_[k]);
    return sum;
  };
  weight_.push_back(0.0);
  gradient_.emplace_back(gradient.begin(), gradient.end());
  if (value > value_ + kWorthAMove * predicted_) {
    for (std::size_t i = 0; i < height_.size(); ++i) height_[i] += rise(gradient_[i]);
    height_.push_back(value);
    if (value > value_ + kGood * predicted_) step_ *= 2.0;
    centre_.assign(point.begin(), point.end());
    value_ = value;
    idle_ = 0;
    activate(kLater);
  } else {
    height_.push_back(value - rise(gradient));
    if (++idle_ > kIdleEvaluations) {
      step_ /= 2.0;
      idle_ = 0;
    }
  }
  drop_cuts();
}

}  // namespace malleable
