#include "malleable/kernel/waterline.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace malleable {
namespace {

constexpr double kSameFraction = 1e-9;
// Newton steps follow the kinks, of which there are as many as jobs; after these, halving in the
// binary form of the level ends within 64 more.
constexpr int kNewtonSteps = 64, kSteps = kNewtonSteps + 66;

constexpr double kNearly = 1e-12;  // of the slots, that a level may be off

// Halves the doubles between two levels rather than the distance, which a few steps of that shape
// would not bring across the powers of ten.
double middle_of(double below, double above) {
  const auto low = std::bit_cast<std::uint64_t>(below), high = std::bit_cast<std::uint64_t>(above);
  return std::bit_cast<double>(low + (high - low) / 2);
}

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
  for (int step = 0; step < kSteps; ++step) {
    if (step == kNewtonSteps && above == kInfinity) {  // by then everybody is at a maximum
      for (const Index j : jobs) level = std::max(level, problem.high[j] / weight_of(j));
      level *= 2.0;
    }
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
    if (std::fabs(error) <= kNearly * capacity) break;
    (error > 0.0 ? below : above) = level;
    double guess = slope > 0.0 ? level + error / slope : next;
    if (slope > 0.0 && error > 0.0) guess = std::max(guess, level);
    if (step >= kNewtonSteps || (above < kInfinity && !(guess > below && guess < above))) {
      guess = middle_of(below, above);
    } else if (!(guess > below && guess < kInfinity)) {
      break;  // everybody is at a maximum
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
  // Beyond 1e12 slots the level itself is off by whole slots, by kNearly of them at most. Those too
  // many go back from the largest shares, where they matter least; each round empties a job.
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

// The slots that a finished job leaves go one by one to whoever has least, lower indices first: the
// waterline, as long as nobody's share counts for more than another's.
void Waterline::pour(const Problem& problem, double freed, std::span<double> slots) {
  for (; freed > 0.0 && !growing_.empty(); freed -= 1.0) {
    const Index j = growing_.top();
    changed_.push_back(j);
    slots[j] += 1.0;
    if (slots[j] < problem.high[j]) {
      growing_.set(j, slots[j]);
    } else {
      growing_.erase(j);
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
}

void Waterline::plan(const Problem& problem, std::span<const double> weight,
                     std::span<double> completion, Plan& plan) {
  const std::size_t n = problem.size();
  plan.start.assign(n, problem.now);
  plan.allocation.assign(n, 0);
  plan.pieces.clear();
  Problem rest = problem;
  // What a job holds, since when, and what is left of it then.
  std::vector<double> slots(n, 0.0), held(n, 0.0), since(n, 0.0);
  std::vector<Index> rank(n);
  std::iota(rank.begin(), rank.end(), Index{0});
  ends_.reset(rank);
  growing_.reset(rank);
  unfinished_.clear();
  for (std::size_t j = 0; j < n; ++j) {
    completion[j] = 0.0;
    if (problem.work[j] > 0.0) unfinished_.push_back(static_cast<Index>(j));
  }
  const auto close = [&](Index j, double time) {
    if (held[j] > 0.0 && problem.now + time > problem.now + since[j]) {
      plan.pieces.add(j, problem.now + since[j], problem.now + time, held[j]);
    }
  };
  const bool alike = weight.empty() && !problem.gang;
  const auto finished = [&](Index j) { return rest.work[j] == 0.0; };
  std::size_t left = unfinished_.size();
  bool stale = true;  // growing_ does not know the slots
  double time = 0.0;
  allocate(rest, weight, slots);
  changed_.assign(unfinished_.begin(), unfinished_.end());
  while (left > 0) {
    for (const Index j : changed_) {
      if (slots[j] == held[j]) continue;
      close(j, time);
      if (held[j] == 0.0 && rest.work[j] == problem.work[j]) plan.start[j] = problem.now + time;
      if (time == 0.0) plan.allocation[j] = static_cast<std::int64_t>(slots[j]);
      rest.work[j] = std::max(rest.work[j] - held[j] * (time - since[j]), 1e-300);
      held[j] = slots[j];
      since[j] = time;
      if (held[j] > 0.0) {
        ends_.set(j, time + rest.work[j] / held[j]);
      } else {
        ends_.erase(j);
      }
    }
    if (ends_.empty()) break;  // gangs that need more slots than there are
    time = std::max(time, ends_.top_key());
    // Ends that differ by rounding only are one event.
    const double until = time * (1.0 + 1e-14);
    changed_.clear();
    while (!ends_.empty() && ends_.top_key() <= until) {
      changed_.push_back(ends_.top());
      ends_.erase(ends_.top());
    }
    std::sort(changed_.begin(), changed_.end());
    double freed = 0.0;
    for (const Index j : changed_) {
      completion[j] = time;
      close(j, time);
      freed += slots[j];
      rest.work[j] = rest.low[j] = slots[j] = 0.0;
      growing_.erase(j);
    }
    left -= changed_.size();
    changed_.clear();
    // A new level costs as much as there are jobs.
    if (alike && freed < static_cast<double>(left)) {
      if (stale) {
        std::erase_if(unfinished_, finished);
        for (const Index j : unfinished_) {
          if (slots[j] < problem.high[j]) growing_.set(j, slots[j]);
        }
        stale = false;
      }
      pour(problem, freed, slots);
      continue;
    }
    std::erase_if(unfinished_, finished);
    if (problem.gang) {
      allocate(rest, weight, slots);
    } else {
      std::erase_if(active_, finished);
      fill(rest, weight, slots);
    }
    growing_.reset(rank);
    stale = true;
    changed_.assign(unfinished_.begin(), unfinished_.end());
  }
  std::erase_if(unfinished_, finished);
  for (const Index j : unfinished_) plan.start[j] = completion[j] = kInfinity;
}

}  // namespace malleable
