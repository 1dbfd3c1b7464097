// Whether a loop that decides every P seconds and holds its slots may meet deadlines: the deadline
// test of demand_bound.hpp in whole slot-periods (one slot for one period each). A level, that is a
// value of a max objective, sets every job a deadline, so this also tests whether a level can be
// reached.
//
// There are S slots; a job has w slot-seconds of work left and may have at most M slots. If it must
// end by D = (K + f) P from now, K whole and 0 <= f < 1, it can do at most M P in each whole period
// before K and M f P in period K. So during the periods 0 ... k together it holds at least
//   must(k) = max(0, ceil(w / P - M f) - M (K - 1 - k))     for k < K
// slot-periods, and from K on ceil(w / P), or M K + ceil((w - M K P) / (f P)) if the K whole
// periods do not suffice. Deadlines can be met only if w <= M D for every job and sum_j must_j(k)
// <= S (k + 1) for every k. A job's part is constant, rises by M a period, then jumps once. The sum
// is linear in k between these events, so only events and the periods before them are tested.
// Minima are left out, which makes the test weaker.
//
// If not all deadlines can be met, jobs are given up where the sum is too large, the one with the
// least weight for its slot-periods first.
//
// For J jobs O(J) a test if slots are busy for fewer periods than there are jobs, otherwise O(J log
// J), as for giving up. Not from a paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <queue>
#include <span>
#include <vector>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

// The slot-periods that a job must hold during the periods 0 ... k together.
struct PeriodicNeed {
  double first = 0.0, start = 0.0;  // from period `first` on; `start` in that period
  double slope = 0.0;               // more in each later period below `edge`
  // The period of the deadline. Just before it the need is `whole`; in it, it jumps to `total`.
  double edge = 0.0, whole = 0.0;
  double total = 0.0;  // from period `edge` on

  double at(double k) const {
    if (k >= edge) return total;
    return k < first ? 0.0 : start + slope * (k - first);
  }
};
// Rounds up to a whole number, but not because of rounding errors.
inline double whole_up(double x) { return std::ceil(x - kCount * std::max(1.0, std::fabs(x))); }

// The need of a job that can end by `due`, from now: work <= high * due.
inline PeriodicNeed periodic_need(double work, double high, double due, double period) {
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

// True only if the job need not hold anything in the periods 0 ... k: `first` is above k, because
// it is above due / P - work / (P high) - 3. Cheap: no rounding to whole numbers, so no calls.
inline bool surely_later(double work, double high, double due, double period, double k) {
  return due - work / high > period * (k + 4.0);
}

class PeriodicDemandTest {
 public:
  // Whether a loop with this period may meet these deadlines (from problem.now, may be infinite).
  bool may_meet(const Problem& problem, double period, std::span<const double> due) {
    periods_.resize(problem.size());
    slot_periods(problem.work, period, periods_);
    double whole = 0.0;
    for (std::size_t j = 0; j < problem.size(); ++j)
      whole += due[j] < kInfinity ? periods_[j] : 0.0;
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

  // Gives up more jobs until it may meet the deadlines of the others. Every job that
  // is not given up yet must be able to end in time alone.
  void give_up(const Problem& problem, double period, std::span<const double> due,
               std::span<const double> weight, std::span<std::uint8_t> given_up) {
    open_.assign(due.begin(), due.end());
    for (std::size_t j = 0; j < due.size(); ++j) open_[j] = given_up[j] ? kInfinity : due[j];
    collect(problem, period, open_, kInfinity);
    sort_events(kInfinity);
    const auto need_of = [&](Index j) {
      return periodic_need(problem.work[j], problem.high[j], due[j], period);
    };
    // Weight for a slot-period; job, of equal ones the last one first.
    using Candidate = std::pair<double, std::int64_t>;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto counts = [&](const Event& event) {
      const Index j = event.job;
      if (event.first) candidates.push({weight[j] / need_of(j).total, -std::int64_t{j}});
      return given_up[j] == 0;
    };
    sweep(problem.slots, counts, [&] {
      if (candidates.empty()) return false;
      const auto j = static_cast<Index>(-candidates.top().second);
      candidates.pop();
      const PeriodicNeed need = need_of(j);
      given_up[j] = 1;
      held_ -= need.at(at_);
      if (at_ >= need.first && at_ < need.edge - 1.0) slope_ -= need.slope;
      return true;
    });
  }

 private:
  struct Event {
    double period;  // whole
    double jump;    // extra slot-periods from this event on
    double slope;   // extra slot-periods a period after it
    Index job;
    bool first;  // of its job
  };
  // Sorts events by period, without events after `last`.
  void sort_events(double last) {
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

  // Lists the changes of the sum of all needs up to period `last`; returns the sum in the end,
  // which is infinite if a job cannot meet its deadline even alone.
  double collect(const Problem& problem, double period, std::span<const double> due, double last) {
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

  // Adds up the needs of the events that counts(event), as long as they fit. If they do not, less()
  // says whether it could make them fewer.
  template <typename Counts, typename Less>
  bool sweep(double slots, const Counts& counts, const Less& less) {
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

  std::vector<Event> events_, sorted_;
  // By job: slot-periods of its work; deadline, infinite if it is given up.
  std::vector<double> periods_, open_;
  std::vector<std::size_t> places_;             // by period: where its events begin in sorted_
  double at_ = 0.0, held_ = 0.0, slope_ = 0.0;  // in a sweep: the period, the needs, their slope
};

}  // namespace malleable
