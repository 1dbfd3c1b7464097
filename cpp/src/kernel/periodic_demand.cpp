#include "malleable/kernel/periodic_demand.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

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
    const auto job = static_cast<Index>(j);
    const bool begun = need.whole > 0.0;
    if (begun) events_.push_back({need.first, need.start, need.slope, job, true});
    if (need.slope > 0.0) events_.push_back({need.edge - 1.0, 0.0, -need.slope, job, false});
    if (need.total > need.whole) {
      events_.push_back({need.edge, need.total - need.whole, 0.0, job, !begun});
    }
  }
  return total;
}

template <typename Counts, typename Less>
bool PeriodicDemandTest::sweep(double slots, const Counts& counts, const Less& less) {
  at_ = held_ = slope_ = 0.0;
  const auto fits = [&](double k) {
    while (held_ + slope_ * (k - at_) > slots * (k + 1.0) * (1.0 + kRounding)) {
      if (!less()) return false;
    }
    return true;
  };
  for (std::size_t e = 0; e < events_.size();) {
    const double k = events_[e].period;
    if (k > at_ && !fits(k - 1.0)) return false;
    held_ += slope_ * (k - at_);
    at_ = k;
    for (; e < events_.size() && events_[e].period == k; ++e) {
      if (!counts(events_[e])) continue;
      held_ += events_[e].jump;
      slope_ += events_[e].slope;
    }
    if (!fits(k)) return false;
  }
  return true;
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
  return sweep(problem.slots, [](const Event&) { return true; }, [] { return false; });
}

void PeriodicDemandTest::give_up(const Problem& problem, double period, std::span<const double> due,
                                 std::span<const double> weight, std::span<std::uint8_t> given_up) {
  open_.assign(due.begin(), due.end());
  for (std::size_t j = 0; j < due.size(); ++j) open_[j] = given_up[j] ? kInfinity : due[j];
  collect(problem, period, open_, kInfinity);
  sort_events(kInfinity);
  const auto need_of = [&](Index j) {
    return periodic_need(problem.work[j], problem.high[j], due[j], period);
  };
  using Candidate = std::pair<double, Index>;  // weight for a slot-period; job
  const auto dearer = [](const Candidate& a, const Candidate& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(dearer)> candidates(dearer);
  const auto counts = [&](const Event& event) {
    const Index j = event.job;
    if (event.first) candidates.push({weight[j] / need_of(j).total, j});
    return given_up[j] == 0;
  };
  sweep(problem.slots, counts, [&] {
    if (candidates.empty()) return false;
    const Index j = candidates.top().second;
    candidates.pop();
    const PeriodicNeed need = need_of(j);
    given_up[j] = 1;
    held_ -= need.at(at_);
    if (at_ >= need.first && at_ < need.edge - 1.0) slope_ -= need.slope;
    return true;
  });
}

}  // namespace malleable
