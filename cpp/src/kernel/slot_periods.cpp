#include "malleable/kernel/slot_periods.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
// A slot-period is one slot for one period. Jobs that end within the period share the slots that
// are left over: units (single slots) go to the job that saves most seconds, weighted, by one more.
namespace {

// The same as slot_periods(), for many jobs.
MALLEABLE_VECTOR_CLONES
void count_periods(const double* work, double period, std::size_t n, double* periods) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const double exact = work[j] / period,
                 whole = std::ceil(exact - kCount * (exact > 1.0 ? exact : 1.0));
    const double most = whole > 1.0 ? whole : 1.0;
    periods[j] = work[j] > 0.0 ? most : 0.0;
  }
}

// 1 for jobs of linear speed-up that end in the period, and earlier with one more slot; otherwise
// 0.
MALLEABLE_VECTOR_CLONES
void mark_gaining(const double* work, const double* worth, const double* slots, const double* high,
                  std::size_t n, double period, double* gains) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const double a = slots[j];
    const bool room = (a > 0.0) & (a < high[j]), ends = a * period >= work[j] * (1.0 - kCount);
    gains[j] = (room & ends & (worth[j] > 0.0)) ? 1.0 : 0.0;
  }
}

constexpr double kAnyGain = 1e300;  // a price that any gain is worth

// The fewest slots, at most `most`, that do the work within the period.
double fewest_slots(const SpeedupView& speedup, std::size_t j, double work, double period,
                    double most) {
  const double rate = work / period;
  const double slots = speedup.slots_for(j, rate * (1.0 - kCount));
  return slots < most ? std::max(1.0, std::ceil(slots)) : most;
}

}  // namespace

double slot_periods(double work, double period) {
  if (!(work > 0.0)) return 0.0;
  const double periods = work / period;
  return std::max(1.0, std::ceil(periods - kCount * std::max(1.0, periods)));
}

void slot_periods(std::span<const double> work, double period, std::span<double> periods) {
  count_periods(work.data(), period, work.size(), periods.data());
}

double cap_at_period(double work, double period, double low, double high) {
  return std::max(low, std::min(high, slot_periods(work, period)));
}

void cap_at_period(Problem& problem, double period, const SpeedupView& speedup) {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double work = problem.work[j];
    if (!(work > 0.0)) continue;
    const double high = problem.high[j];
    problem.high[j] = speedup.curved(j)
                          ? std::max(problem.low[j], fewest_slots(speedup, j, work, period, high))
                          : cap_at_period(work, period, problem.low[j], high);
  }
}

void reach_jumps(const Problem& problem, const Penalties& penalties, double period,
                 std::span<const Index> order, std::span<double> high) {
  if (penalties.linear()) return;
  const auto jump = [&](std::size_t r) {
    return penalties.line(r, penalties.at()[r]) - penalties.line(r - 1, penalties.at()[r]);
  };
  const auto time = [&](std::size_t r) {
    return penalties.at()[r] + tolerance(penalties.at()[r]) - problem.now;
  };
  double free = problem.slots - sum_of(problem.low), price = 0.0;
  for (const Index j : order) {
    if (!(problem.work[j] > 0.0)) continue;
    free -= high[j] - problem.low[j];
    if (free >= 0.0) continue;
    for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
      if (time(r) * problem.high[j] >= problem.work[j]) price += jump(r);
    }
    price /= slot_periods(problem.work[j], period);
    break;
  }
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (!(problem.work[j] > 0.0)) continue;
    const double whole = high[j];
    double saved = 0.0, gain = 0.0;
    for (std::size_t r = penalties.offset()[j + 1]; r-- > penalties.offset()[j] + 1;) {
      if (time(r) >= period || !(jump(r) > 0.0)) continue;
      const double need = std::ceil(problem.work[j] / time(r) * (1.0 - kCount));
      if (!(time(r) > 0.0) || need > problem.high[j]) break;
      saved += jump(r);
      const double net = saved - price * (need - whole);
      if (net < gain) continue;
      high[j] = std::max(whole, need);
      gain = net;
    }
  }
}

// Sets given_: whether a job ends in the period, and earlier with one more slot; and scale_: its
// work times its value of ending a second earlier.
void LeftOverSlots::mark(const PeriodicJobs& jobs, std::span<const double> slots) {
  const std::size_t n = slots.size();
  scale_.assign(jobs.work.begin(), jobs.work.end());
  for (std::size_t j = 0; j < jobs.value.size(); ++j) scale_[j] *= jobs.value[j];
  given_.resize(n);
  if (!jobs.speedup.given()) {
    mark_gaining(jobs.work.data(), scale_.data(), slots.data(), jobs.high.data(), n, jobs.period,
                 given_.data());
    return;
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double a = slots[j];
    given_[j] = a > 0.0 && a < jobs.high[j] && scale_[j] > 0.0 &&
                jobs.speedup.at(j, a) * jobs.period >= jobs.work[j] * (1.0 - kCount);
  }
}

// Only jobs that gain are considered further.
double LeftOverSlots::hand_out(const PeriodicJobs& jobs, std::span<double> slots) {
  double left = jobs.slots - sum_of(slots);
  if (!(left > 0.0)) return 0.0;
  const bool curved = jobs.speedup.given();
  const std::size_t n = slots.size();
  mark(jobs, slots);
  low_.clear();
  high_.clear();
  gaining_.clear();
  double used = 0.0, most = 0.0, cheapest = kInfinity;
  for (std::size_t j = 0; j < n; ++j) {
    if (given_[j] == 0.0) continue;
    const double a = slots[j], high = jobs.high[j], worth = scale_[j];
    scale_[gaining_.size()] = worth;
    gaining_.push_back(j);
    low_.push_back(a);
    high_.push_back(high);
    used += a;
    most += high;
    if (!curved) cheapest = std::min(cheapest, a * (a + 1.0) / worth);
  }
  scale_.resize(gaining_.size());
  if (gaining_.empty()) return left;
  const double capacity = left + used;
  given_.assign(low_.begin(), low_.end());
  if (curved) {
    // The price of the seconds that one more slot than s saves: 1 / (v w (1/r(s) - 1/r(s + 1))),
    // where w is the job's work and v its value of ending a second earlier. It never falls, because
    // rates are concave.
    const auto price = [&](std::size_t k, double s) {
      const std::size_t j = gaining_[k];
      const double now = jobs.speedup.at(j, s), more = jobs.speedup.at(j, s + 1.0);
      const double saved = scale_[k] * ((more - now) / (now * more));
      return saved > kTiny ? 1.0 / saved : kInfinity;
    };
    // The slots at which a job stops at a price: by halving; below, in closed form.
    const ByHalving cost(price, kAnyGain, low_, high_);
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
      cheapest = std::min(cheapest, price(k, low_[k]));
    }
    most = cost.total(cost.dearest(), 0, gaining_.size());
    select_units(cost, high_, capacity, used, most, cheapest, given_, units_);
  } else {
    select_units(ClosedForm(scale_, low_, high_), high_, capacity, used, most,
                 cheapest * (1.0 - kRounding), given_, units_);
  }
  for (std::size_t k = 0; k < gaining_.size(); ++k) {
    left -= given_[k] - low_[k];
    slots[gaining_[k]] = given_[k];
  }
  return left;
}

}  // namespace malleable
