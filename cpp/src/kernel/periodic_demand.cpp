#include "malleable/kernel/periodic_demand.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: a slot-period is one slot for one period; a job's need is the number of slot-periods that
// it must hold during the periods 0 ... k, so that it meets its deadline.

// Rounds up to a whole number, but not because of rounding errors.
double whole_up(double x) { return std::ceil(x - kCount * std::max(1.0, std::fabs(x))); }

}  // namespace

// A need grows from period `first` on by `slope` each period and is `whole` before the deadline's
// own period (`edge`), `total` from there on.
PeriodicNeed periodic_need(double work, double high, double due, double period) {
  // A deadline at the edge of a period is that edge: rounding must not make it the one before.
  PeriodicNeed need;
  need.edge = std::floor(due / period + kCount);
  const double part = std::max(0.0, due / period - need.edge);
  need.total = whole_up(work / period);
  need.whole = std::max(0.0, whole_up(work / period - high * part));
  if (need.total > high * need.edge && part > kCount) {
    need.total = high * need.edge + whole_up((work / period - high * need.edge) / part);
  }
  need.total = std::max(need.total, need.whole);
  // Its part begins in the period in which at most `high` of `whole` are due.
  const double spans = std::ceil(need.whole / high);
  need.first = std::max(0.0, need.edge - spans);
  if (need.first < need.edge - 1.0) need.slope = high;
  need.start = need.whole - need.slope * (need.edge - 1.0 - need.first);
  return need;
}

// Sorts events by period, without events after `last`.
void PeriodicDemandTest::sort_events(double last) {
  std::erase_if(events_, [last](const Event& event) { return event.period > last; });
  if (last > 4.0 * static_cast<double>(events_.size())) {
    std::sort(events_.begin(), events_.end(),
              [](const Event& a, const Event& b) { return a.period < b.period; });
    return;
  }
  places_.assign(static_cast<std::size_t>(last) + 2, 0);
  for (const Event& event : events_) ++places_[static_cast<std::size_t>(event.period) + 1];
  std::partial_sum(places_.begin(), places_.end(), places_.begin());
  sorted_.resize(events_.size());
  for (const Event& event : events_) {
    sorted_[places_[static_cast<std::size_t>(event.period)]++] = event;
  }
  events_.swap(sorted_);
}

// Lists the changes of the sum of all needs up to period `last`; returns the sum in the end, which
// is infinite if a job cannot meet its deadline even alone.
double PeriodicDemandTest::collect(const Problem& problem, double period,
                                   std::span<const double> due, double last) {
  events_.clear();
  double total = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double work = problem.work[j], high = problem.high[j];
    if (work == 0.0 || due[j] == kInfinity) continue;
    if (!(work <= high * due[j] * (1.0 + kAmple))) return kInfinity;
    if (surely_later(work, high, due[j], period, last)) {
      total += periods_[j];
      continue;
    }
    const PeriodicNeed need = periodic_need(work, high, due[j], period);
    total += need.total;
    if (need.whole > 0.0) events_.push_back({need.first, need.start, need.slope});
    if (need.slope > 0.0) events_.push_back({need.edge - 1.0, 0.0, -need.slope});
    if (need.total > need.whole) events_.push_back({need.edge, need.total - need.whole, 0.0});
  }
  return total;
}

// Whether the needs of all jobs fit into the slots up to each period.
bool PeriodicDemandTest::may_meet(const Problem& problem, double period,
                                  std::span<const double> due) {
  periods_.resize(problem.size());
  slot_periods(problem.work, period, periods_);
  double whole = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) whole += due[j] < kInfinity ? periods_[j] : 0.0;
  // After `last` all needs fit. If a deadline cuts a job's last slot-period, the job holds more
  // than whole slot-periods: then this repeats with the slots held.
  double last = std::ceil(whole / problem.slots);
  double total = collect(problem, period, due, last);
  if (total > problem.slots * last) {
    if (total == kInfinity) return false;
    last = std::ceil(total / problem.slots);
    collect(problem, period, due, last);
  }
  sort_events(last);
  double at = 0.0, held = 0.0, slope = 0.0;
  const auto fits = [&](double k, double count) {
    return count <= problem.slots * (k + 1.0) * (1.0 + kRounding);
  };
  for (std::size_t e = 0; e < events_.size();) {
    const double k = events_[e].period;
    if (k > at) {
      if (!fits(k - 1.0, held + slope * (k - 1.0 - at))) return false;
      held += slope * (k - at);
      at = k;
    }
    for (; e < events_.size() && events_[e].period == k; ++e) {
      held += events_[e].jump;
      slope += events_[e].slope;
    }
    if (!fits(k, held)) return false;
  }
  return true;
}

}  // namespace malleable
