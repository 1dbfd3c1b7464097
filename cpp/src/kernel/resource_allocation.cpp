#include "malleable/kernel/resource_allocation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "malleable/kernel/unit_selection.hpp"
#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

// Slots of all jobs together that may be looked at one by one.
constexpr double kMostWalked = 4e6;

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
    while (from < to) {
      const double middle = std::floor(from + (to - from) / 2.0);
      if (price_(j, middle) <= x) {
        from = middle + 1.0;
      } else {
        to = middle;
      }
    }
    return from;
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

void SpeedupTable::complete() {
  for (std::size_t j = 0; j + 1 < offset.size(); ++j) {
    for (std::size_t k = offset[j] + 1; k < offset[j + 1]; ++k) {
      duration[k] = std::min(duration[k], duration[k - 1]);
    }
  }
}

double SpeedupTable::at(std::size_t job, double s) const {
  const auto begin = slots.begin() + static_cast<std::ptrdiff_t>(offset[job]);
  const auto end = slots.begin() + static_cast<std::ptrdiff_t>(offset[job + 1]);
  const auto after = std::upper_bound(begin, end, s);
  if (after == begin) return kInfinity;
  return duration[static_cast<std::size_t>(after - slots.begin()) - 1];
}

// Ranges in which every cost is finite, as far as the slots reach: a job that never ends without
// slots needs its first one. Where they do not reach, those who have to wait keep what they are
// guaranteed.
template <typename Cost>
void ResourceAllocation::ranges(const Problem& problem, Cost cost,
                                std::span<const Index> preference, const SpeedupTable* table) {
  const std::size_t n = problem.size();
  low_.assign(problem.low.begin(), problem.low.end());
  high_.assign(problem.high.begin(), problem.high.end());
  double need = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) {
      low_[j] = high_[j] = 0.0;
    } else if (problem.gang || !std::isfinite(cost(j, low_[j]))) {
      low_[j] = std::max(low_[j], 1.0);
      if (table != nullptr) low_[j] = std::max(low_[j], table->slots[table->offset[j]]);
      if (low_[j] <= high_[j] && !std::isfinite(cost(j, low_[j]))) {
        // The penalty ends: the fewest slots at which it is finite, high + 1 if there are none.
        double few = low_[j], enough = high_[j] + 1.0;
        while (few + 1.0 < enough) {  // fewer rounds than a double has bits
          const double middle = std::floor(few + (enough - few) / 2.0);
          (std::isfinite(cost(j, middle)) ? enough : few) = middle;
        }
        low_[j] = enough;
      }
      if (low_[j] > high_[j]) low_[j] = high_[j] = problem.gang ? 0.0 : problem.low[j];
    }
    need += low_[j];
  }
  if (need <= problem.slots) return;
  double left = problem.slots;
  if (!problem.gang) {
    for (std::size_t j = 0; j < n; ++j) left -= problem.work[j] > 0.0 ? problem.low[j] : 0.0;
  }
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t j = preference.empty() ? k : preference[k];
    const double given = problem.gang ? 0.0 : problem.low[j];
    if (low_[j] > given) {
      if (low_[j] - given <= left) {
        left -= low_[j] - given;
      } else {
        low_[j] = high_[j] = given;
      }
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
    const double due = at[end - 1];
    const double span = due + tolerance(due) - problem.now, work = problem.work[j];
    if (line || !(span > 0.0) || work == 0.0 || slope_[j] == 0.0) continue;
    const auto above = [&](double s) {
      return penalties(j, problem.now + work / s) - value[first];
    };
    // The division is off by one at most; where it is not, times are too coarse for a closed form.
    double top = std::ceil(work / span) - 1.0;
    if (top > 0.0 && above(top) <= 0.0) top -= 1.0;
    if (above(top + 1.0) > 0.0) top += 1.0;
    if ((top > 0.0 && above(top) <= 0.0) || above(top + 1.0) > 0.0) return false;
    top_[j] = top;
    last_[j] = top > 0.0 ? 1.0 / above(top) : 0.0;
  }
  return true;
}

// The common case in a few vectorised passes: penalties w max(0, C - d) or linear, linear speed-up,
// and a first slot for everybody. False when that is not the case.
bool ResourceAllocation::run_closed(const Problem& problem, const Penalties& penalties,
                                    std::span<double> slots) {
  const std::size_t n = problem.size();
  if (problem.gang || (!penalties.linear() && !hinges(problem, penalties))) return false;
  scale_.resize(n);
  const auto slope = penalties.linear() ? penalties.slope() : std::span<const double>(slope_);
  const auto [needed, most, dearest_first] = closed_columns(
      {problem.work.data(), slope.data(), problem.low.data(), problem.high.data(), scale_.data()},
      n);
  if (needed > problem.slots) return false;
  const double cheapest = dearest_first > 0.0 ? 1.0 / dearest_first * (1.0 - 1e-12) : kInfinity;
  const std::span<const double> top = penalties.linear() ? std::span<const double>() : top_;
  const ClosedForm cost(scale_, top, last_, problem.low, problem.high);
  select_units(cost, problem.high, problem.slots, needed,
               top.empty() ? most : cost.total(cost.dearest(), 0, n), cheapest, slots, units_);
  return true;
}

// The slots at which the next step of a step function can be met, from `paid` at the fewest slots
// on.
void ResourceAllocation::step_options(const Problem& problem, const Penalties& penalties,
                                      std::size_t j, double paid) {
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

AllocationResult ResourceAllocation::solve(const Problem& problem, const Penalties& penalties,
                                           Aggregate aggregate, std::span<const Index> preference,
                                           std::size_t effort, std::span<double> slots,
                                           const SpeedupTable* table, bool with_value) {
  const std::size_t n = problem.size();
  assert(slots.size() == n);
  const auto cost = [&](std::size_t j, double s) {
    if (problem.work[j] == 0.0) return penalties(j, problem.idle_end[j]);
    const double duration = table != nullptr ? table->at(j, s)
                            : s > 0.0        ? problem.work[j] / s
                                             : kInfinity;
    return penalties(j, problem.now + duration);
  };
  AllocationResult result;
  const auto evaluate_allocation = [&] {
    double sum = 0.0, worst = -kInfinity;
    for (std::size_t j = 0; j < n; ++j) {
      const double f = cost(j, slots[j]);
      sum += f;
      worst = std::max(worst, f);
    }
    return n == 0 ? 0.0 : aggregate == Aggregate::kSum ? sum : worst;
  };
  if (aggregate == Aggregate::kSum && table == nullptr && run_closed(problem, penalties, slots)) {
    if (with_value) result.value = result.lower_bound = evaluate_allocation();
    return result;
  }
  ranges(problem, cost, preference, table);

  // Selection with prices found by halving.
  const auto select = [&](const auto& price, const auto& guess, double dearest) {
    double needed = 0.0, cheapest = kInfinity, last = -kInfinity;
    for (std::size_t j = 0; j < n; ++j) {
      needed += low_[j];
      if (low_[j] < high_[j]) {
        cheapest = std::min(cheapest, price(j, low_[j]));
        last = std::max(last, price(j, high_[j] - 1.0));
      }
    }
    const ByHalving costs(price, guess, std::min(dearest, last), low_, high_);
    select_units(costs, high_, problem.slots, needed, costs.total(costs.dearest(), 0, n), cheapest,
                 slots, units_);
    if (with_value) result.value = result.lower_bound = evaluate_allocation();
  };
  const auto nothing = [](std::size_t, double) { return NAN; };
  if (aggregate == Aggregate::kMax) {
    const auto price = [&](std::size_t j, double s) { return -cost(j, s); };
    if (table != nullptr) {
      select(price, nothing, 1e300);
      return result;
    }
    // The job needs to end while its penalty is still below -x.
    select(
        price,
        [&](std::size_t j, double x) {
          const double due = penalties.latest(j, std::nextafter(-x, -kInfinity));
          return std::ceil(problem.work[j] / std::max(due + tolerance(due) - problem.now, 0.0));
        },
        1e300);
    return result;
  }
  // Convex where the penalty is convex over the completions in reach (a non-decreasing convex
  // function of the convex W/s); otherwise look at the first differences themselves.
  // Functions without structure are walked slot by slot while that is affordable, otherwise
  // sampled.
  double walk = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (table != nullptr || !penalties.steps(j)) walk += high_[j] - low_[j];
  }
  const bool dense = walk <= (with_value ? kMostWalked : kMostWalked / 64.0);
  const auto convex = [&](std::size_t j) {
    if (low_[j] >= high_[j]) return true;
    if (table == nullptr && !penalties.is_custom(j)) {
      const double latest = low_[j] > 0.0 ? problem.now + problem.work[j] / low_[j] : kInfinity;
      if (penalties.convex(j, problem.now + problem.work[j] / high_[j], latest)) return true;
    }
    if (!dense || (table == nullptr && penalties.steps(j))) return false;
    double gain = kInfinity, f = cost(j, low_[j]);
    for (double s = low_[j]; s < high_[j]; ++s) {
      const double after = cost(j, s + 1.0);
      if (f - after > gain * (1.0 + 1e-12) + 1e-300) return false;
      gain = f - after;
      f = after;
    }
    return true;
  };
  bool all_convex = true;
  for (std::size_t j = 0; all_convex && j < n; ++j) all_convex = convex(j);
  if (all_convex) {
    const auto price = [&](std::size_t j, double s) { return cost(j, s + 1.0) - cost(j, s); };
    if (table != nullptr) {
      select(price, nothing, -1e-300);
      return result;
    }
    // As if the last slope went on for ever, but never past where the penalty is as low as it gets.
    select(
        price,
        [&](std::size_t j, double x) {
          if (penalties.is_custom(j)) return static_cast<double>(NAN);
          const std::size_t last = penalties.offset()[j + 1] - 1;
          const double scale = problem.work[j] * penalties.slope()[last];
          const double free = std::round(std::sqrt(scale / -x + 0.25));
          const double span = penalties.at()[last] - problem.now;
          return span > 0.0 ? std::min(free, std::ceil(problem.work[j] / span)) : free;
        },
        -1e-300);
    return result;
  }
  // Options of a job: the slot counts at which its penalty falls.
  knapsack_.clear();
  double waiting = 0.0;  // what jobs cost that are stuck at an infinite or single option
  for (std::size_t j = 0; j < n; ++j) {
    knapsack_.begin_class();
    double s = low_[j], f = cost(j, s);
    if (!std::isfinite(f)) {
      waiting = kInfinity;
      knapsack_.add(s, 0.0);
      continue;
    }
    if (table == nullptr && penalties.steps(j)) {
      step_options(problem, penalties, j, f);
      continue;
    }
    knapsack_.add(s, f);
    while (s < high_[j]) {
      s = dense || s < low_[j] + 32.0 ? s + 1.0 : std::min(high_[j], std::ceil(s * 1.05));
      const double after = cost(j, s);
      if (after < f) knapsack_.add(s, f = after);
    }
  }
  const auto answer = knapsack_.solve(problem.slots, effort, slots);
  result.exact = answer.exact && dense;
  result.value = answer.value + waiting;
  result.lower_bound = answer.lower_bound + waiting;
  if (!dense) {  // options were left out: everybody at the maximum is a floor all the same
    result.lower_bound = 0.0;
    for (std::size_t j = 0; j < n; ++j) result.lower_bound += cost(j, high_[j]);
  }
  return result;
}

AllocationResult ResourceAllocation::run(const Problem& problem, const Penalties& penalties,
                                         Aggregate aggregate, std::span<const Index> preference,
                                         std::size_t effort, std::span<double> slots,
                                         const SpeedupTable* table, bool with_value) {
  if (!problem.gang || !with_value) {
    return solve(problem, penalties, aggregate, preference, effort, slots, table, with_value);
  }
  // Where everybody has to run and all gangs fit, ranges are all there is to it.
  bool all_run = true;
  double needed = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] == 0.0) continue;
    needed += std::max(problem.low[j], 1.0);
    all_run &= !std::isfinite(penalties(j, kInfinity));
  }
  if (all_run && needed <= problem.slots) {
    return solve(problem, penalties, aggregate, preference, effort, slots, table, true);
  }
  // Otherwise who waits is a rule of thumb; the bound is that of jobs that may run on fewer slots.
  Problem loose = problem;
  loose.drop_minima();
  const double bound =
      solve(loose, penalties, aggregate, preference, effort, slots, table, true).lower_bound;
  AllocationResult result =
      solve(problem, penalties, aggregate, preference, effort, slots, table, true);
  result.lower_bound = std::min(bound, result.value);
  result.exact = result.lower_bound == result.value;
  return result;
}

}  // namespace malleable
