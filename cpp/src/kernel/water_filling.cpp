#include "malleable/kernel/water_filling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// Each job has level * weight slots, within its minimum m and maximum M, for one level at which all
// slots are used. A kink is a level at which a job reaches its minimum or maximum. A gang runs on
// at least its minimum, or not at all.
namespace {

// error of the sum of shares, too small to change a fraction
constexpr double kNearly = kCount / 10.0;
// Newton steps follow the kinks, of which there are as many as jobs; after kNewtonSteps, halving
// between the levels on either side ends when no double lies between them.
constexpr int kNewtonSteps = 64, kAllSteps = kNewtonSteps + 66;

// Halves the number of doubles between two levels, and not their distance, because that would take
// many steps across powers of ten.
double middle_of(double below, double above) {
  const auto low = std::bit_cast<std::uint64_t>(below), high = std::bit_cast<std::uint64_t>(above);
  return std::bit_cast<double>(low + (high - low) / 2);
}

// Jobs that share slots at one level; `weight` may be empty (all 1).
struct Sharers {
  std::span<const Index> jobs;
  std::span<const double> weight, low, high;

  double weight_of(Index j) const { return weight.empty() ? 1.0 : weight[j]; }
};

// Sums at a level: the slots of jobs that no longer rise, the weight of jobs that do, and the kinks
// above and below.
struct AtLevel {
  double fixed = 0.0, rate = 0.0, next = kInfinity, last = 0.0;
};

AtLevel sums_at(const Sharers& all, double level) {
  AtLevel found;
  for (const Index j : all.jobs) {
    const double w = all.weight_of(j), wanted = level * w;
    if (wanted < all.low[j]) {
      found.fixed += all.low[j];
      found.next = std::min(found.next, all.low[j] / w);
    } else if (wanted >= all.high[j]) {
      found.fixed += all.high[j];
      found.last = std::max(found.last, all.high[j] / w);
    } else {
      found.rate += w;
    }
  }
  return found;
}

// sum clamp(level w, m, M) is piecewise linear and non-decreasing in the level. Newton steps from
// the bottom may pass the solution where the slope grows; then they come back from above. Rounding
// gives too few slots rather than too many.
double level_for(const Sharers& all, double capacity, double level) {
  double below = 0.0, above = kInfinity;
  for (int step = 0; step < kAllSteps; ++step) {
    const AtLevel at = sums_at(all, level);
    const double water = capacity - at.fixed, error = water - level * at.rate;
    if (std::fabs(error) <= kNearly) return level;
    (error > 0.0 ? below : above) = level;
    // Beside the kink, because rounding may miss the kink itself.
    double guess = at.rate > 0.0 ? water / at.rate
                   : error > 0.0 ? std::nextafter(at.next, kInfinity)
                                 : std::nextafter(at.last, 0.0);
    if (step >= kNewtonSteps || !(guess > below && guess < above)) guess = middle_of(below, above);
    if (guess == level) break;
    level = guess;
  }
  return below;
}

}  // namespace

// Shares the slots; jobs of weight 0 get minima, and what the others cannot use.
void WaterFilling::fill(const Problem& problem, std::span<const double> weight,
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

void WaterFilling::fill_group(const Problem& problem, std::span<const double> weight,
                              std::span<const Index> jobs, double slots_for_all,
                              std::span<double> slots) {
  const Sharers all{jobs, weight, low_, problem.high};
  double most = 0.0;
  for (const Index j : jobs) most += problem.high[j];
  const double capacity = std::min(slots_for_all, most);
  level_ = level_for(all, capacity, level_);
  shares_.clear();
  double left = capacity;
  for (const Index j : jobs) {
    const double share = level_ * all.weight_of(j);
    slots[j] = low_[j];
    double fraction = 0.0;
    if (share >= problem.high[j]) {
      slots[j] = problem.high[j];
    } else if (share >= low_[j]) {
      slots[j] = std::floor(share);
      fraction = share - slots[j];
      const double carry = std::floor(fraction + kCount);
      slots[j] += carry;
      fraction -= carry;
    }
    left -= slots[j];
    // Fractions that differ only by rounding count as equal.
    if (slots[j] < problem.high[j]) shares_.push_back({std::round(fraction / kCount), j});
  }
  hand_out_fractions(left, slots);
}

// Gives the remaining whole slots to the largest fractions, lower indices first.
void WaterFilling::hand_out_fractions(double left, std::span<double> slots) {
  const auto first = [](const Share& a, const Share& b) {
    return a.fraction != b.fraction ? a.fraction > b.fraction : a.job < b.job;
  };
  const auto count =
      static_cast<std::ptrdiff_t>(std::min(left, static_cast<double>(shares_.size())));
  if (count <= 0) return;
  std::nth_element(shares_.begin(), shares_.begin() + count - 1, shares_.end(), first);
  for (std::ptrdiff_t k = 0; k < count; ++k) slots[shares_[static_cast<std::size_t>(k)].job] += 1.0;
}

void WaterFilling::allocate(const Problem& problem, std::span<const double> weight,
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

// Gives the slots of a finished job one by one to the job with the fewest, lower indices first:
// this is water-filling, as long as all weights are equal.
void WaterFilling::give_freed(const Problem& problem, double freed, std::span<double> slots) {
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

// The slots of a job, the time since which it holds them, and its work left then.
struct WaterFilling::Schedule {
  const Problem& problem;
  Plan& plan;
  std::span<double> completion;
  Problem rest = problem;
  std::vector<double> slots = std::vector<double>(problem.size(), 0.0);
  std::vector<double> held = slots, since = slots;
  double time = 0.0;

  bool finished(Index j) const { return rest.work[j] == 0.0; }
  void close(Index j) const {
    if (held[j] > 0.0 && problem.now + time > problem.now + since[j]) {
      plan.pieces.add(j, problem.now + since[j], problem.now + time, held[j]);
    }
  }
};

// Jobs whose slots changed hold the new ones from now on.
void WaterFilling::hold_changed(Schedule& run) {
  const Problem& problem = run.problem;
  for (const Index j : changed_) {
    double &held = run.held[j], &work = run.rest.work[j];
    if (run.slots[j] == held) continue;
    run.close(j);
    if (held == 0.0 && work == problem.work[j]) run.plan.start[j] = problem.now + run.time;
    if (run.time == 0.0) run.plan.allocation[j] = static_cast<std::int64_t>(run.slots[j]);
    work = std::max(work - held * (run.time - run.since[j]), 1e-300);
    held = run.slots[j];
    run.since[j] = run.time;
    if (held > 0.0) {
      ends_.set(j, run.time + work / held);
    } else {
      ends_.erase(j);
    }
  }
}

// Advances to the next end: changed_ gets the jobs that end; returns their slots.
double WaterFilling::end_next(Schedule& run) {
  run.time = std::max(run.time, ends_.top_key());
  // Ends that differ only by rounding are one event.
  const double until = run.time * (1.0 + kSameTime);
  changed_.clear();
  while (!ends_.empty() && ends_.top_key() <= until) {
    changed_.push_back(ends_.top());
    ends_.erase(ends_.top());
  }
  std::sort(changed_.begin(), changed_.end());
  double freed = 0.0;
  for (const Index j : changed_) {
    run.completion[j] = run.time;
    run.close(j);
    freed += run.slots[j];
    run.rest.work[j] = run.rest.low[j] = run.slots[j] = 0.0;
    growing_.erase(j);
  }
  return freed;
}

// Computes a new level, in O(jobs).
void WaterFilling::share_again(Schedule& run, std::span<const double> weight) {
  const auto finished = [&](Index j) { return run.finished(j); };
  std::erase_if(unfinished_, finished);
  if (run.problem.gang) {
    allocate(run.rest, weight, run.slots);
  } else {
    std::erase_if(active_, finished);
    fill(run.rest, weight, run.slots);
  }
  changed_.assign(unfinished_.begin(), unfinished_.end());
}

// Lists the jobs below their maxima, by their slots.
void WaterFilling::list_growing(const Schedule& run) {
  std::erase_if(unfinished_, [&](Index j) { return run.finished(j); });
  for (const Index j : unfinished_) {
    if (run.slots[j] < run.problem.high[j]) growing_.set(j, run.slots[j]);
  }
}

// Shares slots again at each end of a job, until all have ended.
void WaterFilling::plan(const Problem& problem, std::span<const double> weight,
                        std::span<double> completion, Plan& plan) {
  const std::size_t n = problem.size();
  plan.start.assign(n, problem.now);
  plan.allocation.assign(n, 0);
  plan.pieces.clear();
  Schedule run{problem, plan, completion};
  std::vector<Index> rank(n);
  std::iota(rank.begin(), rank.end(), Index{0});
  ends_.reset(rank);
  growing_.reset(rank);
  unfinished_.clear();
  for (std::size_t j = 0; j < n; ++j) {
    completion[j] = 0.0;
    if (problem.work[j] > 0.0) unfinished_.push_back(static_cast<Index>(j));
  }
  const bool alike = weight.empty() && !problem.gang;
  std::size_t left = unfinished_.size();
  bool stale = true;  // growing_ must be filled again
  allocate(run.rest, weight, run.slots);
  changed_.assign(unfinished_.begin(), unfinished_.end());
  while (left > 0) {
    hold_changed(run);
    if (ends_.empty()) break;  // gangs that need more slots than there are
    const double freed = end_next(run);
    left -= changed_.size();
    changed_.clear();
    if (alike && freed < static_cast<double>(left)) {
      if (std::exchange(stale, false)) list_growing(run);
      give_freed(problem, freed, run.slots);
      continue;
    }
    share_again(run, weight);
    growing_.reset(rank);
    stale = true;
  }
  std::erase_if(unfinished_, [&](Index j) { return run.finished(j); });
  for (const Index j : unfinished_) plan.start[j] = completion[j] = kInfinity;
}

}  // namespace malleable
