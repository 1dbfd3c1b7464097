#include "malleable/kernel/period_prices.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// A slot-period that is missing: how much those that come in a period count against those that
// wait, and the horizon in which the queue empties, as parts of the time that all work takes and as
// periods. Found on streams of jobs.
constexpr double kComing = 0.75, kDrain = 0.5, kPeriods = 2.0;
// What is near enough: jobs served change in steps.
constexpr double kSamePrice = 1e-2;
constexpr double kAnyPrice = 1e300;  // nothing waits for a slot-period
// Work breaks ties of whole slot-periods, and nothing else.
constexpr double kTie = 1e-6;

double value_of(const HeldJobs& jobs, std::size_t j) {
  return jobs.value.empty() ? 1.0 : jobs.value[j];
}

}  // namespace

void PeriodPrices::set_keys(const HeldJobs& jobs, double hysteresis, std::span<const double> held) {
  const std::size_t n = jobs.work.size();
  for (auto* column : {&key_, &periods_}) column->resize(n);
  slot_periods(jobs.work, jobs.period, periods_);
  const double horizon =
      kDrain * sum_of(jobs.work) / std::max(jobs.slots, 1.0) + kPeriods * jobs.period;  // [s]
  waiting_ = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double q = periods_[j], value = value_of(jobs, j);
    if (q > jobs.low[j]) waiting_ += value;
    const double late = 1.0 + jobs.period / horizon * std::max(0.0, q / jobs.high[j] - 1.0);
    const bool kept = hysteresis > 0.0 && held[j] > jobs.low[j];
    const double cost = jobs.period * q * (1.0 - kTie) + kTie * jobs.work[j];
    key_[j] = value > 0.0 ? cost / (value * late * (kept ? 1.0 + hysteresis : 1.0)) : kInfinity;
  }
}

// Slots by demands at the price, without those beyond caps, which jobs that end in this period
// share. Returns what jobs pay a second that do not end in it.
double PeriodPrices::serve(const HeldJobs& jobs, double price, std::span<double> slots) const {
  std::copy(jobs.low.begin(), jobs.low.end(), slots.begin());
  double free = jobs.slots - sum_of(jobs.low), waiting = waiting_;
  for (const Index j : order_) {
    if (!(free > 0.0)) break;
    const double low = jobs.low[j], high = jobs.high[j];
    const double cap = std::max(low, std::min(high, periods_[j]));
    double wanted = cap;
    const bool ends = cap * jobs.period >= jobs.work[j] * (1.0 - kCount);
    if (ends) {
      const double worth = std::sqrt(1.0 + 4.0 * jobs.worth(j) / price);
      wanted = std::max(cap, std::min(high, std::floor((1.0 + worth) / 2.0)));
    }
    const double more = std::min(free, wanted - low);
    slots[j] = low + std::min(more, cap - low);
    free -= more;
    if (ends && cap > low && low + more >= cap) waiting -= value_of(jobs, j);
  }
  return std::max(0.0, waiting);
}

// A slot-period is worth less the higher its price, as more jobs end.
void PeriodPrices::run(const HeldJobs& jobs, double coming, double hysteresis,
                       std::span<const double> held, std::span<double> slots) {
  set_keys(jobs, hysteresis, held);
  order_.resize(key_.size());
  sorter_.sort(key_, order_);
  const double rate = jobs.period / std::max(jobs.slots, 1.0);
  const auto worth_at = [&](double price) {
    return rate * (serve(jobs, price, slots) + kComing * coming);
  };
  price_ = kAnyPrice;
  double below = worth_at(price_);
  if (below > kTiny) {  // else whole slot-periods first: what is left over has no other use
    price_ = worth_at(below);
    while (below < price_ * (1.0 - kSamePrice)) {
      const double middle = std::sqrt(below) * std::sqrt(price_);
      (worth_at(middle) > middle ? below : price_) = middle;
    }
    serve(jobs, price_, slots);
  }
  left_over_.hand_out(jobs, slots);
}

}  // namespace malleable
