// Slots that are held for a period, for objectives with deadlines: maxima, and sums of tardiness
// and of tardy jobs.
//
// A level of penalties is a deadline for every job, and a deadline says how many slots the job must
// hold in this period (kernel/periodic_demand.hpp). A slot-period is one slot for one period. So a
// maximum uses the least level, not below 0, whose deadlines can all be met in whole slot-periods.
// Every job gets the slots that it must hold. Then, by deadline, jobs get the slots that they can
// use fully, or more if the deadline lies within the period. Slots left over end jobs sooner
// (slot_periods). A sum of tardiness uses the same deadlines if all can be met. For tardy weight
// the deadlines are tested from the first period on. If a test fails, the job with the least weight
// per slot-period is given up; such jobs come last.
//
// Lateness below 0 is not reduced further, because that wastes slots on jobs that have time. Minima
// are handed out first. O(J) a test of the deadlines of J jobs, some twenty tests for a least
// level; giving up O(J log J); slots O(J) expected. Not from a paper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/periodic_demand.hpp"
#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

class PeriodLevels {
 public:
  // Whether all jobs may end without a penalty.
  bool meet_all(const Problem& problem, const Penalties& penalties, double period) {
    return passes(problem, penalties, period, 0.0);
  }

  // Sets the deadlines of the least level at which all jobs may meet them; false if there is none.
  bool least(const Problem& problem, const Penalties& penalties, double period) {
    if (meet_all(problem, penalties, period)) return true;
    // If nothing is due before that, any order of whole slot-periods meets all deadlines.
    double all = 0.0, longest = 0.0;
    for (std::size_t j = 0; j < problem.size(); ++j) {
      const double need = slot_periods(problem.work[j], period);
      all += need;
      longest = std::max(longest, std::ceil(need / problem.high[j]));
    }
    const double end = problem.now + period * (std::ceil(all / problem.slots) + longest + 2.0);
    double low = 0.0, high = 0.0;
    for (std::size_t j = 0; j < problem.size(); ++j) high = std::max(high, penalties(j, end));
    if (!(high < kInfinity) || !passes(problem, penalties, period, high)) return false;
    for (int step = 0; step < kLevels && high - low > kSameLevel * high; ++step) {
      const double middle = low + (high - low) / 2.0;
      (passes(problem, penalties, period, middle) ? high : low) = middle;
    }
    return passes(problem, penalties, period, high);
  }

  // Chooses jobs to give up, by the weight of their slot-periods, so that the others may end
  // without a penalty.
  void give_up(const Problem& problem, const Penalties& penalties, double period,
               std::span<const double> weight) {
    if (passes(problem, penalties, period, 0.0)) return;
    behind_.resize(problem.size());
    for (std::size_t j = 0; j < behind_.size(); ++j) {
      const double work = problem.work[j];
      behind_[j] = slot_periods(work, period) / weight[j];
      given_up_[j] = !(work <= problem.high[j] * due_[j] * (1.0 + kAmple));
    }
    test_.give_up(problem, period, due_, weight, given_up_);
  }

  // Gives the slots of this period: first what jobs must hold now, then in order of deadlines what
  // they can use.
  void share(const PeriodicJobs& jobs, std::span<double> slots) {
    set_keys();
    begin(jobs, slots);
    give(jobs, key_, slots, [&](std::size_t j) {
      const double work = jobs.work[j], high = jobs.high[j], due = due_[j];
      if (late(j) || due == kInfinity || !(work > 0.0)) return 0.0;
      if (surely_later(work, high, due, jobs.period, 0.0)) return 0.0;
      return periodic_need(work, high, due, jobs.period).at(0.0);
    });
    slot_periods(jobs.work, jobs.period, room_);
    give(jobs, key_, slots, [&](std::size_t j) {
      if (late(j) || !(due_[j] > 0.0) || due_[j] >= jobs.period) return room_[j];
      return std::max(room_[j], std::ceil(jobs.work[j] / due_[j] * (1.0 - kCount)));
    });
    left_over_.hand_out(jobs, slots);
  }
  // Gives, in order of keys, what jobs can use.
  void share_in_order(const PeriodicJobs& jobs, std::span<const double> key,
                      std::span<double> slots) {
    begin(jobs, slots);
    slot_periods(jobs.work, jobs.period, room_);
    give(jobs, key, slots, [&](std::size_t j) { return room_[j]; });
    left_over_.hand_out(jobs, slots);
  }

  // Keys of the order: small is urgent.
  std::span<const double> key() const { return key_; }

 private:
  // A level this close to the least one is good enough.
  static constexpr double kSameLevel = 1e-4;
  static constexpr int kLevels = 60;  // levels that are tested at most

  // Whether all jobs may meet the deadlines of a level.
  bool passes(const Problem& problem, const Penalties& penalties, double period, double level) {
    due_.resize(problem.size());
    given_up_.assign(problem.size(), 0);
    DemandBound::deadlines(problem, penalties, level, 0.0, due_);
    return test_.may_meet(problem, period, due_);
  }

  // Sets keys by deadlines; jobs that were given up come last, the least slot-periods for their
  // weight first.
  void set_keys() {
    const std::size_t n = due_.size();
    key_.assign(due_.begin(), due_.end());
    double last = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (!late(j) && due_[j] < kInfinity) last = std::max(last, due_[j]);
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (late(j)) key_[j] = last + 1.0 + behind_[j];
    }
  }

  void begin(const PeriodicJobs& jobs, std::span<double> slots) {
    std::copy(jobs.low.begin(), jobs.low.end(), slots.begin());
    room_.resize(slots.size());
    selection_.reset();
  }
  // Gives jobs, in order of keys, up to wanted(j) slots in all.
  template <typename Wanted>
  void give(const PeriodicJobs& jobs, std::span<const double> key, std::span<double> slots,
            const Wanted& wanted) {
    for (std::size_t j = 0; j < slots.size(); ++j) {
      room_[j] = std::max(0.0, std::min(wanted(j), jobs.high[j]) - slots[j]);
    }
    selection_.run(key, room_, jobs.slots - sum_of(slots),
                   [&](Index j, double more) { slots[j] += more; });
  }

  bool late(std::size_t j) const { return given_up_[j] != 0; }

  PeriodicDemandTest test_;
  // Deadlines of the level; keys of the order; behind_: slot-periods of a job's work over its
  // weight.
  std::vector<double> due_, key_, room_, behind_;  // room_: slots that a job can still use
  std::vector<std::uint8_t> given_up_;             // jobs whose deadlines are not kept
  PrioritySelection selection_;
  LeftOverSlots left_over_;
};

}  // namespace malleable
