#include "malleable/kernel/slot_periods.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Prices of seconds saved by one more slot, whatever the speed-up: 1 / (v w (1/r(s) - 1/r(s + 1))).
// They never fall, as rates are concave.
class SecondsSaved {
 public:
  SecondsSaved(const SpeedupView& speedup, std::span<const double> scale,
               std::span<const double> low, std::span<const double> high)
      : speedup_(speedup), scale_(scale), low_(low), high_(high) {}

  double price(std::size_t j, double s) const {
    const double now = speedup_.at(j, s), more = speedup_.at(j, s + 1.0);
    const double saved = scale_[j] * ((more - now) / (now * more));
    return saved > kTiny ? 1.0 / saved : kInfinity;
  }
  double count(std::size_t j, double x) const {
    double below = low_[j], above = high_[j];  // the last that is bought, and the first that is not
    if (below == above || price(j, above - 1.0) <= x) return above;
    if (price(j, below) > x) return below;
    while (above - below > 1.0) {
      const double middle = below + std::floor((above - below) / 2.0);
      (price(j, middle - 1.0) <= x ? below : above) = middle;
    }
    return below;
  }
  double total(double x, std::size_t first, std::size_t end) const {
    double sum = 0.0;
    for (std::size_t j = first; j < end; ++j) sum += count(j, x);
    return sum;
  }
  UnitTotals totals(double x, double y) const {
    return {total(x, 0, low_.size()), total(y, 0, low_.size())};
  }
  void fewest(std::span<double> out) const { std::copy(low_.begin(), low_.end(), out.begin()); }
  void counts(double x, std::size_t first, std::span<double> out) const {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = count(first + k, x);
  }
  double dearest() const { return 1e300; }

 private:
  const SpeedupView& speedup_;
  std::span<const double> scale_, low_, high_;
};

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

double LeftOverSlots::hand_out(const HeldJobs& jobs, std::span<double> slots) {
  const std::size_t n = jobs.work.size();
  double used = 0.0;
  for (const double a : slots) used += a;
  if (!(used < jobs.slots)) return 0.0;
  for (auto* column : {&low_, &high_, &scale_}) column->resize(n);
  double most = 0.0, cheapest = kInfinity;
  const bool curved = jobs.speedup.given();
  for (std::size_t j = 0; j < n; ++j) {
    const double a = slots[j], high = jobs.high[j], worth = jobs.worth(j);
    const double rate = curved && a > 0.0 ? jobs.speedup.at(j, a) : a;
    const bool gains =
        a > 0.0 && worth > 0.0 && a < high && rate * jobs.period >= jobs.work[j] * (1.0 - kCount);
    low_[j] = a;
    high_[j] = gains ? high : a;
    scale_[j] = gains ? worth : 0.0;
    most += high_[j];
    if (gains && !curved) cheapest = std::min(cheapest, a * (a + 1.0) / worth);
  }
  if (most == used) return jobs.slots - used;
  if (curved) {
    const SecondsSaved cost(jobs.speedup, scale_, low_, high_);
    for (std::size_t j = 0; j < n; ++j) {
      if (high_[j] > low_[j]) cheapest = std::min(cheapest, cost.price(j, low_[j]));
    }
    most = cost.total(cost.dearest(), 0, n);
    select_units(cost, high_, jobs.slots, used, most, cheapest, slots, units_);
  } else {
    select_units(ClosedForm(scale_, {}, {}, low_, high_), high_, jobs.slots, used, most,
                 cheapest * (1.0 - kRounding), slots, units_);
  }
  for (std::size_t j = 0; j < n; ++j) used += slots[j] - low_[j];
  return jobs.slots - used;
}

}  // namespace malleable
