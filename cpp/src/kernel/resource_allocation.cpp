#include "malleable/kernel/resource_allocation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "malleable/kernel/unit_selection.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: job j with s slots costs F_j(s), its penalty if it keeps them to its end; a unit is one
// more slot for a job, its price one over what it saves, or less what it saves; an option is a
// number of slots for a job. A gang runs on at least its minimum, or not at all.
namespace {

// The most slots, over all jobs, that are looked at one by one.
constexpr double kMostWalked = 6e4;

}  // namespace

double ResourceAllocation::Task::cost(std::size_t j, double s) const {
  if (problem.work[j] == 0.0) return penalties(j, problem.idle_end[j]);
  return penalties(j, problem.now + duration(j, s));
}

double ResourceAllocation::Task::duration(std::size_t j, double s) const {
  const double rate = speedup != nullptr ? speedup->at(j, s) : s;
  return rate > 0.0 ? problem.work[j] / rate : kInfinity;
}

// Sets the range in which a job's cost is finite: a job that never ends without slots needs its
// first slot.
void ResourceAllocation::set_range(const Task& task, std::size_t j) {
  const Problem& problem = task.problem;
  double &low = low_[j], &high = high_[j];
  const auto finite = [&](double s) { return std::isfinite(task.cost(j, s)); };
  if (problem.work[j] == 0.0) {
    low = high = 0.0;
    return;
  }
  if (!problem.gang && finite(low)) return;
  low = std::max(low, 1.0);
  // For a strict deadline: the fewest slots at which the penalty is finite, high + 1 if there are
  // none.
  if (low <= high && !finite(low)) low = first_where(low + 1.0, high + 1.0, finite);
  if (low > high) low = high = problem.gang ? 0.0 : problem.low[j];
}

// Sets the ranges of all jobs, as far as the slots reach. If they do not reach, waiting jobs keep
// their guaranteed slots.
void ResourceAllocation::set_ranges(const Task& task) {
  const Problem& problem = task.problem;
  const std::size_t n = problem.size();
  low_.assign(problem.low.begin(), problem.low.end());
  high_.assign(problem.high.begin(), problem.high.end());
  const auto given = [&](std::size_t j) { return problem.gang ? 0.0 : problem.low[j]; };
  double need = 0.0, left = problem.slots;
  for (std::size_t j = 0; j < n; ++j) {
    set_range(task, j);
    need += low_[j];
  }
  if (need <= problem.slots) return;
  for (std::size_t j = 0; j < n; ++j) left -= problem.work[j] > 0.0 ? given(j) : 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t j = task.preference.empty() ? k : task.preference[k];
    const double more = low_[j] - given(j);
    if (!(more > 0.0)) continue;
    if (more <= left) {
      left -= more;
    } else {
      low_[j] = high_[j] = given(j);
    }
  }
}

// The common case in a few vectorised passes: linear penalties and speed-ups, and a first slot for
// every job. False if it is another case.
bool ResourceAllocation::run_closed(const Task& task) {
  const Problem& problem = task.problem;
  if (task.aggregate != Aggregate::kSum || !task.linear() || problem.gang) return false;
  if (!task.penalties.linear()) return false;
  const std::size_t n = problem.size();
  const auto slope = task.penalties.slope();
  scale_.resize(n);
  double needed = 0.0, most = 0.0, dearest_first = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    scale_[j] = problem.work[j] * slope[j];
    // Without weight or work a job gains nothing by its first slot.
    const bool gains = scale_[j] > 0.0;
    const double some = std::max(1.0, problem.low[j]), low = gains ? some : problem.low[j];
    needed += low;
    most += gains ? problem.high[j] : low;
    dearest_first = std::max(dearest_first, scale_[j] / (some * (some + 1.0)));
  }
  if (needed > problem.slots) return false;
  const double cheapest = dearest_first > 0.0 ? 1.0 / dearest_first * (1.0 - kRounding) : kInfinity;
  const ClosedForm cost(scale_, problem.low, problem.high);
  select_units(cost, problem.high, problem.slots, needed, most, cheapest, task.slots, units_);
  return true;
}

// The gain of a slot.
double ResourceAllocation::gain(const Option& from, const Option& to) {
  return (from.cost - to.cost) / (to.slots - from.slots);
}

// Adds an option with more slots, if it costs less than the earlier ones. Removes options that a
// mixture of two others beats.
void ResourceAllocation::offer(Option option) {
  if (!(option.cost < options_.back().cost)) return;
  while (options_.size() > 1 &&
         gain(options_.end()[-2], options_.back()) <= gain(options_.back(), option)) {
    options_.pop_back();
  }
  options_.push_back(option);
}

// Adds the slots at which the steps of a step function can be met.
void ResourceAllocation::offer_steps(const Task& task, std::size_t j) {
  const auto at = task.penalties.at();
  for (std::size_t r = task.penalties.offset()[j + 1]; r-- > task.penalties.offset()[j] + 1;) {
    const double due = at[r] + tolerance(at[r]);
    const double least = first_where(low_[j], high_[j] + 1.0, [&](double s) {
      return !(task.problem.now + task.duration(j, s) > due);
    });
    if (!(least <= high_[j])) break;
    if (least > options_.back().slots) offer({least, task.cost(j, least)});
  }
}

// Selects the cheapest units by halving prices, up to the highest price worth its slot.
template <typename Price>
void ResourceAllocation::select(const Task& task, Price price, double dearest) {
  const std::size_t n = low_.size();
  double needed = 0.0, cheapest = kInfinity, last = -kInfinity;
  for (std::size_t j = 0; j < n; ++j) {
    needed += low_[j];
    if (low_[j] < high_[j]) {
      cheapest = std::min(cheapest, price(j, low_[j]));
      last = std::max(last, price(j, high_[j] - 1.0));
    }
  }
  const ByHalving costs(price, std::min(dearest, last), low_, high_);
  select_units(costs, high_, task.problem.slots, needed, costs.total(costs.dearest(), 0, n),
               cheapest, task.slots, units_);
}

// Serves the worst job first.
void ResourceAllocation::select_worst(const Task& task) {
  const auto price = [&](std::size_t j, double s) { return -task.cost(j, s); };
  select(task, price, kInfinity);
}

// If every sum is convex: takes the largest gain first.
void ResourceAllocation::select_gains(const Task& task) {
  const auto price = [&](std::size_t j, double s) {
    return task.cost(j, s + 1.0) - task.cost(j, s);
  };
  select(task, price, -kTiny);
}

// Whether F_j is convex: it is if the penalty is convex over the completions in reach (a
// non-decreasing convex function of the convex W / r(s)); otherwise the first differences decide,
// if there is time to compute all of them.
bool ResourceAllocation::convex(const Task& task, std::size_t j, bool dense) const {
  const double low = low_[j], high = high_[j];
  if (low >= high) return true;
  const double now = task.problem.now;
  const double soonest = now + task.duration(j, high), latest = now + task.duration(j, low);
  if (!task.penalties.is_custom(j) && task.penalties.convex(j, soonest, latest)) return true;
  if (task.linear() && task.penalties.steps(j)) return false;
  if (!dense) return false;
  double gain = kInfinity, f = task.cost(j, low);
  for (double s = low; s < high; ++s) {
    const double after = task.cost(j, s + 1.0);
    if (f - after > gain * (1.0 + kRounding) + kTiny) return false;
    gain = f - after;
    f = after;
  }
  return true;
}

// Chooses by options: the slot counts at which a job's penalty falls; all of them if `dense`,
// otherwise a sample if the penalty is no step function. Options that gain most for their slots
// come first.
void ResourceAllocation::choose_options(const Task& task, bool dense) {
  struct Step {
    double gain, from, to;  // gain of a slot; slots before and after
    Index job;
  };
  std::vector<Step> steps;
  double left = task.problem.slots;
  for (std::size_t j = 0; j < task.problem.size(); ++j) {
    double s = task.slots[j] = low_[j];
    left -= s;
    options_.assign(1, {s, task.cost(j, s)});
    if (!std::isfinite(options_[0].cost)) continue;
    if (task.linear() && task.penalties.steps(j)) {
      offer_steps(task, j);
    } else {
      while (s < high_[j]) {
        s = dense || s < low_[j] + 32.0 ? s + 1.0 : std::min(high_[j], std::ceil(s * 1.05));
        offer({s, task.cost(j, s)});
      }
    }
    for (std::size_t k = 1; k < options_.size(); ++k) {
      const Option &from = options_[k - 1], &to = options_[k];
      steps.push_back({gain(from, to), from.slots, to.slots, static_cast<Index>(j)});
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.gain > b.gain; });
  for (const Step& step : steps) {
    const double more = step.to - step.from;
    if (more > left || task.slots[step.job] != step.from) continue;
    task.slots[step.job] = step.to;
    left -= more;
  }
}

void ResourceAllocation::run(const Problem& problem, const Penalties& penalties,
                             Aggregate aggregate, std::span<const Index> preference,
                             std::span<double> slots, const SpeedupView* speedup) {
  const Task task{problem, penalties, aggregate, preference, slots, speedup};
  const std::size_t n = problem.size();
  assert(slots.size() == n);
  if (run_closed(task)) return;
  set_ranges(task);
  if (aggregate == Aggregate::kMax) {
    select_worst(task);
    return;
  }
  // Functions without structure are computed slot by slot if that is cheap enough, otherwise
  // sampled.
  double walk = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!task.linear() || !penalties.steps(j)) walk += high_[j] - low_[j];
  }
  const bool dense = walk <= kMostWalked;
  bool all_convex = true;
  for (std::size_t j = 0; all_convex && j < n; ++j) all_convex = convex(task, j, dense);
  if (all_convex) {
    select_gains(task);
  } else {
    choose_options(task, dense);
  }
}

}  // namespace malleable
