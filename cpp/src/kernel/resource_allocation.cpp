#include "malleable/kernel/resource_allocation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "malleable/kernel/unit_selection.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Slots of all jobs together that may be looked at one by one.
constexpr double kMostWalked = 4e6;
constexpr double kNoIdea = std::numeric_limits<double>::quiet_NaN();  // in place of a guess

// The least whole number in [from, to) where a property that stays once it is there holds, or `to`.
// Fewer rounds than a double has bits.
template <typename Property>
double first_where(double from, double to, Property holds) {
  while (from < to) {
    const double middle = std::floor(from + (to - from) / 2.0);
    if (holds(middle)) {
      to = middle;
    } else {
      from = middle + 1.0;
    }
  }
  return from;
}

// The most slots at which a job still pays for being late, `above(s)` > 0, by a division that is
// off by one at most; -1 where it is not: times are too coarse for a closed form.
template <typename Above>
double hinge_top(double guess, Above above) {
  const auto pays = [&](double s) { return s <= 0.0 || above(s) > 0.0; };
  double top = guess;
  if (!pays(top)) top -= 1.0;
  if (pays(top + 1.0)) top += 1.0;
  return pays(top) && !pays(top + 1.0) ? top : -1.0;
}

// Any price that does not fall along a job's units: a guess at the count, checked, or halving.
template <typename Price, typename Guess>
class ByHalving {
 public:
  ByHalving(Price price, Guess guess, double dearest, std::span<const double> low,
            std::span<const double> high)
      : price_(price), guess_(guess), dearest_(dearest), low_(low), high_(high) {}
  double count(double x, std::size_t j) const {
    double from = low_[j], to = high_[j];
    if (from >= to) return from;
    const double near = guess_(j, x);  // NaN: no idea
    if (near <= from) {
      if (!(price_(j, from) <= x)) return from;
    } else if (near >= to) {
      if (price_(j, to - 1.0) <= x) return to;
    } else if (near > from) {
      if (price_(j, near) <= x) {
        from = near + 1.0;
      } else if (price_(j, near - 1.0) <= x) {
        return near;
      } else {
        to = near - 1.0;
      }
    }
    return first_where(from, to, [&](double s) { return !(price_(j, s) <= x); });
  }
  void fewest(std::span<double> out) const { std::copy(low_.begin(), low_.end(), out.begin()); }
  double total(double x, std::size_t first, std::size_t end) const {
    double sum = 0.0;
    for (std::size_t j = first; j < end; ++j) sum += count(x, j);
    return sum;
  }
  UnitTotals totals(double x, double y) const {
    return {total(x, 0, low_.size()), total(y, 0, low_.size())};
  }
  void counts(double x, std::size_t first, std::span<double> out) const {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = count(x, first + k);
  }
  double price(std::size_t j, double s) const { return price_(j, s); }
  double dearest() const { return dearest_; }

 private:
  Price price_;
  Guess guess_;
  double dearest_;
  std::span<const double> low_, high_;
};

struct ClosedColumns {
  const double *work, *slope, *minimum, *maximum;
  double* scale;
};
struct ClosedSums {
  double needed, most, dearest_first;
};

MALLEABLE_VECTOR_CLONES
ClosedSums closed_columns(const ClosedColumns& jobs, std::size_t n) {
  double needed = 0.0, most = 0.0, dearest_first = 0.0;
#pragma omp simd reduction(+ : needed, most) reduction(max : dearest_first)
  for (std::size_t j = 0; j < n; ++j) {
    const double scale = jobs.work[j] * jobs.slope[j], minimum = jobs.minimum[j];
    const double some = minimum > 1.0 ? minimum : 1.0;
    // Without weight or work a job gains nothing by its first slot.
    const double low = scale > 0.0 ? some : minimum;
    jobs.scale[j] = scale;
    needed += low;
    most += scale > 0.0 ? jobs.maximum[j] : low;
    const double price = scale / (some * (some + 1.0));
    dearest_first = price > dearest_first ? price : dearest_first;
  }
  return {needed, most, dearest_first};
}

}  // namespace

double ResourceAllocation::Task::cost(std::size_t j, double s) const {
  if (problem.work[j] == 0.0) return penalties(j, problem.idle_end[j]);
  return penalties(j, problem.now + duration(j, s));
}

double ResourceAllocation::Task::duration(std::size_t j, double s) const {
  const double rate = speedup != nullptr ? speedup->at(j, s) : s;
  return rate > 0.0 ? problem.work[j] / rate : kInfinity;
}

// The range in which a job's cost is finite: a job that never ends without slots needs its first
// one.
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
  // The penalty ends: the fewest slots at which it is finite, high + 1 if there are none.
  if (low <= high && !finite(low)) low = first_where(low + 1.0, high + 1.0, finite);
  if (low > high) low = high = problem.gang ? 0.0 : problem.low[j];
}

// Ranges of all jobs, as far as the slots reach. Where they do not reach, those who have to wait
// keep what they are guaranteed.
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

// Fills top_ and last_ where every penalty is w max(0, C - d), or linear; false otherwise. `slope_`
// gets the w.
bool ResourceAllocation::hinges(const Problem& problem, const Penalties& penalties) {
  const std::size_t n = problem.size();
  const auto at = penalties.at(), value = penalties.value(), slope = penalties.slope();
  slope_.resize(n);
  top_.resize(n);
  last_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t first = penalties.offset()[j], end = penalties.offset()[j + 1];
    const bool line = end == first + 1;
    const bool hinge = end == first + 2 && slope[first] == 0.0 && value[end - 1] == value[first];
    if (!line && !hinge) return false;
    slope_[j] = slope[end - 1];
    top_[j] = last_[j] = kInfinity;
    const double due = at[end - 1], work = problem.work[j];
    const double span = due + tolerance(due) - problem.now;
    if (line || !(span > 0.0) || work == 0.0 || slope_[j] == 0.0) continue;
    const auto above = [&](double s) {
      return penalties(j, problem.now + work / s) - value[first];
    };
    const double top = top_[j] = hinge_top(std::ceil(work / span) - 1.0, above);
    if (top < 0.0) return false;
    last_[j] = top > 0.0 ? 1.0 / above(top) : 0.0;
  }
  return true;
}

// The common case in a few vectorised passes: penalties w max(0, C - d) or linear, linear speed-up,
// and a first slot for everybody. False when that is not the case.
bool ResourceAllocation::run_closed(const Task& task) {
  const Problem& problem = task.problem;
  const Penalties& penalties = task.penalties;
  const std::size_t n = problem.size();
  if (task.aggregate != Aggregate::kSum || !task.linear()) return false;
  if (problem.gang || (!penalties.linear() && !hinges(problem, penalties))) return false;
  scale_.resize(n);
  const auto slope = penalties.linear() ? penalties.slope() : std::span<const double>(slope_);
  const auto [needed, most, dearest_first] = closed_columns(
      {problem.work.data(), slope.data(), problem.low.data(), problem.high.data(), scale_.data()},
      n);
  if (needed > problem.slots) return false;
  const double cheapest = dearest_first > 0.0 ? 1.0 / dearest_first * (1.0 - kRounding) : kInfinity;
  const std::span<const double> top = penalties.linear() ? std::span<const double>() : top_;
  const ClosedForm cost(scale_, top, last_, problem.low, problem.high);
  select_units(cost, problem.high, problem.slots, needed,
               top.empty() ? most : cost.total(cost.dearest(), 0, n), cheapest, task.slots, units_);
  return true;
}

// The slots at which the next step of a step function can be met, from `paid` at the fewest slots
// on.
void ResourceAllocation::step_options(const Task& task, std::size_t j, double paid) {
  const Problem& problem = task.problem;
  const Penalties& penalties = task.penalties;
  const auto at = penalties.at(), value = penalties.value();
  const double work = problem.work[j], high = high_[j];
  double s = low_[j];
  const bool choice = s < high;
  for (std::size_t r = penalties.offset()[j + 1] - 1; choice && r > penalties.offset()[j]; --r) {
    if (!(value[r - 1] < paid)) continue;
    const double due = at[r] + tolerance(at[r]);
    const auto met = [&](double slots) { return !(problem.now + work / slots > due); };
    // The division is off by one at most, unless times are too coarse for it.
    double next = std::max(s, std::ceil(work / std::max(due - problem.now, 0.0)));
    if (next > s + 1.0 && met(next - 1.0)) next -= 1.0;
    while (next <= high && !met(next)) next += 1.0;
    if (!(next <= high)) break;
    if (next > s) knapsack_.add(s, paid);
    s = next;
    paid = value[r - 1];
  }
  knapsack_.add(s, paid);
}

// The cheapest units by prices that are found by halving; the dearest that is worth its slot.
template <typename Price, typename Guess>
AllocationResult ResourceAllocation::select(const Task& task, Price price, Guess guess,
                                            double dearest) {
  const std::size_t n = low_.size();
  double needed = 0.0, cheapest = kInfinity, last = -kInfinity;
  for (std::size_t j = 0; j < n; ++j) {
    needed += low_[j];
    if (low_[j] < high_[j]) {
      cheapest = std::min(cheapest, price(j, low_[j]));
      last = std::max(last, price(j, high_[j] - 1.0));
    }
  }
  const ByHalving costs(price, guess, std::min(dearest, last), low_, high_);
  select_units(costs, high_, task.problem.slots, needed, costs.total(costs.dearest(), 0, n),
               cheapest, task.slots, units_);
  return exact(task);
}

// What an allocation costs that cannot be better.
AllocationResult ResourceAllocation::exact(const Task& task) {
  const std::size_t n = task.problem.size();
  if (!task.with_value || n == 0) return {};
  double sum = 0.0, worst = -kInfinity;
  for (std::size_t j = 0; j < n; ++j) {
    const double f = task.cost(j, task.slots[j]);
    sum += f;
    worst = std::max(worst, f);
  }
  const double value = task.aggregate == Aggregate::kSum ? sum : worst;
  return {value, value, true};
}

// The worst is served first.
AllocationResult ResourceAllocation::select_worst(const Task& task) {
  const auto price = [&](std::size_t j, double s) { return -task.cost(j, s); };
  // The job needs to end while its penalty is still below -x.
  const auto guess = [&](std::size_t j, double x) {
    if (!task.linear()) return kNoIdea;
    const double due = task.penalties.latest(j, std::nextafter(-x, -kInfinity));
    const double span = std::max(due + tolerance(due) - task.problem.now, 0.0);
    return std::ceil(task.problem.work[j] / span);
  };
  return select(task, price, guess, kInfinity);
}

// Where every sum is convex, the largest gain is taken first.
AllocationResult ResourceAllocation::select_gains(const Task& task) {
  const auto price = [&](std::size_t j, double s) {
    return task.cost(j, s + 1.0) - task.cost(j, s);
  };
  // As if the last slope went on for ever, but never past where the penalty is as low as it gets.
  const auto guess = [&](std::size_t j, double x) {
    if (!task.linear() || task.penalties.is_custom(j)) return kNoIdea;
    const std::size_t last = task.penalties.offset()[j + 1] - 1;
    const double work = task.problem.work[j];
    const double free = std::round(std::sqrt(work * task.penalties.slope()[last] / -x + 0.25));
    const double span = task.penalties.at()[last] - task.problem.now;
    return span > 0.0 ? std::min(free, std::ceil(work / span)) : free;
  };
  return select(task, price, guess, -kTiny);
}

// Convex where the penalty is convex over the completions in reach (a non-decreasing convex
// function of the convex W / r(s)); otherwise the first differences themselves say it, if there is
// time to look at all of them.
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

// By the knapsack: the options of a job are the slot counts at which its penalty falls, all of them
// if `dense`, otherwise a sample where the penalty is no step function.
AllocationResult ResourceAllocation::choose_options(const Task& task, bool dense) {
  const std::size_t n = task.problem.size();
  knapsack_.clear();
  double waiting = 0.0;  // what jobs cost that are stuck at an infinite or single option
  for (std::size_t j = 0; j < n; ++j) {
    knapsack_.begin_class();
    double s = low_[j], f = task.cost(j, s);
    if (!std::isfinite(f)) {
      waiting = kInfinity;
      knapsack_.add(s, 0.0);
      continue;
    }
    if (task.linear() && task.penalties.steps(j)) {
      step_options(task, j, f);
      continue;
    }
    knapsack_.add(s, f);
    while (s < high_[j]) {
      s = dense || s < low_[j] + 32.0 ? s + 1.0 : std::min(high_[j], std::ceil(s * 1.05));
      const double after = task.cost(j, s);
      if (after < f) knapsack_.add(s, f = after);
    }
  }
  const auto answer = knapsack_.solve(task.problem.slots, task.effort, task.slots);
  AllocationResult result{answer.value + waiting, answer.lower_bound + waiting,
                          answer.exact && dense};
  if (!dense) {  // options were left out: everybody at the maximum is a floor all the same
    result.lower_bound = 0.0;
    for (std::size_t j = 0; j < n; ++j) result.lower_bound += task.cost(j, high_[j]);
  }
  return result;
}

AllocationResult ResourceAllocation::solve(const Task& task) {
  const std::size_t n = task.problem.size();
  assert(task.slots.size() == n);
  if (run_closed(task)) return exact(task);
  set_ranges(task);
  if (task.aggregate == Aggregate::kMax) return select_worst(task);
  // Functions without structure are walked slot by slot while that is affordable, otherwise
  // sampled.
  double walk = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (!task.linear() || !task.penalties.steps(j)) walk += high_[j] - low_[j];
  }
  const bool dense = walk <= (task.with_value ? kMostWalked : kMostWalked / 64.0);
  for (std::size_t j = 0; j < n; ++j) {
    if (!convex(task, j, dense)) return choose_options(task, dense);
  }
  return select_gains(task);
}

AllocationResult ResourceAllocation::run(const Problem& problem, const Penalties& penalties,
                                         Aggregate aggregate, std::span<const Index> preference,
                                         std::size_t effort, std::span<double> slots,
                                         bool with_value, const SpeedupView* speedup) {
  const Task task{problem, penalties, aggregate, preference, effort, slots, with_value, speedup};
  if (!problem.gang || !with_value) return solve(task);
  // Where everybody has to run and all gangs fit, ranges are all there is to it.
  bool all_run = true;
  double needed = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] == 0.0) continue;
    needed += std::max(problem.low[j], 1.0);
    all_run &= !std::isfinite(penalties(j, kInfinity));
  }
  if (all_run && needed <= problem.slots) return solve(task);
  // Otherwise who waits is a rule of thumb; the bound is that of jobs that may run on fewer slots.
  Problem loose = problem;
  loose.drop_minima();
  const double bound =
      solve({loose, penalties, aggregate, preference, effort, slots, true, speedup}).lower_bound;
  AllocationResult result = solve(task);
  result.lower_bound = std::min(bound, result.value);
  result.exact = result.lower_bound == result.value;
  return result;
}

}  // namespace malleable
