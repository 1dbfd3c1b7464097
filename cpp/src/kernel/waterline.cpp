#include "malleable/kernel/waterline.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

constexpr double kSameFraction = 1e-9;

}  // namespace

void Waterline::fill(const Problem& problem, std::span<const double> weight,
                     std::span<double> slots) {
  if (weight.empty()) {
    fill_group(problem, {}, active_, problem.slots, slots);
    return;
  }
  // Weight 0 is the limit of small weights: minima until all others are at their maxima, then equal
  // shares of what is left.
  const auto middle = std::stable_partition(active_.begin(), active_.end(),
                                            [&](Index j) { return weight[j] > 0.0; });
  const std::span<const Index> weighted(active_.begin(), middle), idle(middle, active_.end());
  double most = 0.0, reserved = 0.0;
  for (const Index j : weighted) most += problem.high[j];
  for (const Index j : idle) reserved += low_[j];
  const double used = std::min(most, problem.slots - reserved);
  fill_group(problem, weight, weighted, used, slots);
  const double level = std::exchange(level_, 0.0);
  fill_group(problem, {}, idle, problem.slots - used, slots);
  level_ = level;
}

void Waterline::fill_group(const Problem& problem, std::span<const double> weight,
                           std::span<const Index> jobs, double slots_for_all,
                           std::span<double> slots) {
  const auto weight_of = [&](Index j) { return weight.empty() ? 1.0 : weight[j]; };
  double most = 0.0;
  for (const Index j : jobs) most += problem.high[j];
  const double capacity = std::min(slots_for_all, most);
  // sum clamp(level w, m, M) is piecewise linear and non-decreasing in the level. Newton steps from
  // the bottom may pass the solution where the slope grows; then they come back from above.
  double below = 0.0, above = kInfinity, level = level_;
  for (int step = 0; step < 200; ++step) {
    double sum = 0.0, slope = 0.0, next = kInfinity;
    for (const Index j : jobs) {
      const double w = weight_of(j), wanted = level * w;
      if (wanted < low_[j]) {
        sum += low_[j];
        // Rounding may put the kink at the level itself; the next level is above it all the same.
        next = std::min(next, std::max(low_[j] / w, std::nextafter(level, kInfinity)));
      } else if (wanted >= problem.high[j]) {
        sum += problem.high[j];
      } else {
        sum += wanted;
        slope += w;
      }
    }
    const double error = capacity - sum;
    if (std::fabs(error) <= 1e-12 * capacity) break;
    (error > 0.0 ? below : above) = level;
    double guess = slope > 0.0 ? level + error / slope : next;
    if (slope > 0.0 && error > 0.0) guess = std::max(guess, level);
    if (!(guess > below && guess < above)) {
      if (above == kInfinity) {
        guess = guess < kInfinity ? guess : kInfinity;
        if (guess == kInfinity) break;  // everybody is at a maximum
      } else {
        guess = below + (above - below) / 2.0;
      }
    }
    if (guess == level) break;
    level = guess;
  }
  level_ = level;
  shares_.clear();
  double used = 0.0;
  for (const Index j : jobs) {
    const double share = std::clamp(level * weight_of(j), low_[j], problem.high[j]);
    double whole = std::floor(share + kSameFraction);
    slots[j] = std::min(whole, problem.high[j]);
    used += slots[j];
    if (slots[j] < problem.high[j]) {
      const double fraction = std::max(0.0, share - whole);
      // Fractions that differ by rounding only count as equal.
      shares_.push_back({std::round(fraction / kSameFraction), j});
    }
  }
  const auto first = [](const Share& a, const Share& b) {
    return a.fraction != b.fraction ? a.fraction > b.fraction : a.job < b.job;
  };
  // Beyond 1e12 slots the level itself is off by whole slots. Those too many go back from the
  // largest shares, where they matter least.
  for (double over = used - capacity; over > 0.5;) {
    Index largest = jobs.front();
    for (const Index j : jobs) {
      if (slots[j] - low_[j] > slots[largest] - low_[largest]) largest = j;
    }
    const double back = std::min(over, slots[largest] - low_[largest]);
    if (!(back > 0.0)) break;
    slots[largest] -= back;
    over -= back;
  }
  for (double left = capacity - used; left > 0.5 && !shares_.empty();) {
    const auto count =
        static_cast<std::ptrdiff_t>(std::min(left, static_cast<double>(shares_.size())));
    std::nth_element(shares_.begin(), shares_.begin() + count - 1, shares_.end(), first);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      slots[shares_[static_cast<std::size_t>(k)].job] += 1.0;
      left -= 1.0;
    }
    std::erase_if(shares_, [&](const Share& s) { return slots[s.job] >= problem.high[s.job]; });
  }
}

void Waterline::allocate(const Problem& problem, std::span<const double> weight,
                         std::span<double> slots) {
  level_ = 0.0;
  active_.clear();
  low_.assign(problem.low.begin(), problem.low.end());
  double left = problem.slots;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    slots[j] = 0.0;
    if (problem.work[j] == 0.0) continue;
    if (problem.gang) {
      if (std::max(1.0, low_[j]) > left) continue;
      left -= std::max(1.0, low_[j]);
    }
    active_.push_back(static_cast<Index>(j));
  }
  fill(problem, weight, slots);
}

void Waterline::plan(const Problem& problem, std::span<const double> weight,
                     std::span<double> completion, Plan& plan) {
  const std::size_t n = problem.size();
  plan.start.assign(n, problem.now);
  plan.allocation.assign(n, 0);
  plan.pieces.clear();
  Problem rest = problem;
  // What a job holds, since when, what is left of it then, and when it ends at that rate.
  std::vector<double> slots(n, 0.0), held(n, 0.0), since(n, 0.0), end(n, kInfinity);
  std::vector<Index> unfinished;
  for (std::size_t j = 0; j < n; ++j) {
    completion[j] = 0.0;
    if (problem.work[j] > 0.0) unfinished.push_back(static_cast<Index>(j));
  }
  const auto close = [&](Index j, double time) {
    if (held[j] > 0.0 && problem.now + time > problem.now + since[j]) {
      plan.pieces.add(j, problem.now + since[j], problem.now + time, held[j]);
    }
  };
  double time = 0.0;
  allocate(rest, weight, slots);
  while (!unfinished.empty()) {
    for (const Index j : unfinished) {
      if (slots[j] == held[j]) continue;
      close(j, time);
      if (held[j] == 0.0 && rest.work[j] == problem.work[j]) plan.start[j] = problem.now + time;
      if (time == 0.0) plan.allocation[j] = static_cast<std::int64_t>(slots[j]);
      rest.work[j] = std::max(rest.work[j] - held[j] * (time - since[j]), 1e-300);
      held[j] = slots[j];
      since[j] = time;
      end[j] = held[j] > 0.0 ? time + rest.work[j] / held[j] : kInfinity;
    }
    double first = kInfinity;
    for (const Index j : unfinished) first = std::min(first, end[j]);
    if (first == kInfinity) break;  // gangs that need more slots than there are
    time = std::max(time, first);
    // Ends that differ by rounding only are one event.
    const double until = time * (1.0 + 1e-14);
    std::erase_if(unfinished, [&](Index j) {
      if (end[j] > until) return false;
      completion[j] = time;
      close(j, time);
      rest.work[j] = rest.low[j] = slots[j] = 0.0;
      return true;
    });
    if (problem.gang) {
      allocate(rest, weight, slots);
    } else {
      std::erase_if(active_, [&](Index j) { return rest.work[j] == 0.0; });
      fill(rest, weight, slots);
    }
  }
  for (const Index j : unfinished) plan.start[j] = completion[j] = kInfinity;
}

}  // namespace malleable
