#include "malleable/kernel/period_levels.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: a slot-period is one slot for one period; a level is a value of the objective, which sets
// each job a deadline; a job's need is the number of slot-periods that it must hold during the
// periods 0 ... k so that it meets its deadline.
namespace {

// A level this close to the least one is good enough.
constexpr double kSameLevel = 1e-4;
constexpr int kLevels = 60;  // levels that are tested at most

}  // namespace

// Whether all jobs may meet the deadlines of a level.
bool PeriodLevels::passes(const Problem& problem, const Penalties& penalties, double period,
                          double level) {
  due_.resize(problem.size());
  given_up_.assign(problem.size(), 0);
  DemandBound::deadlines(problem, penalties, level, 0.0, due_);
  return test_.may_meet(problem, period, due_);
}

// Whether all jobs may end without a penalty.
bool PeriodLevels::meet_all(const Problem& problem, const Penalties& penalties, double period) {
  for (std::size_t j = 0; j < problem.size(); ++j) {  // in most cases some job is late
    const double due = penalties.latest(j, 0.0) - problem.now;
    const double work = problem.work[j];
    if (work > 0.0 && !(work <= problem.high[j] * due * (1.0 + kAmple))) return false;
  }
  return passes(problem, penalties, period, 0.0);
}

// Sets the deadlines of the least level at which all jobs may meet them; false if there is none.
bool PeriodLevels::least(const Problem& problem, const Penalties& penalties, double period) {
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

// Chooses jobs to give up, by the weight of their slot-periods, so that the others may end without
// a penalty.
void PeriodLevels::give_up(const Problem& problem, const Penalties& penalties, double period,
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

// Sets keys by deadlines; jobs that were given up come last, the least slot-periods for their
// weight first.
void PeriodLevels::set_keys() {
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

// Gives the slots of this period: first what jobs must hold now, then in order of deadlines what
// they can use.
void PeriodLevels::share(const PeriodicJobs& jobs, std::span<double> slots) {
  const std::size_t n = jobs.work.size();
  set_keys();
  room_.assign(n, 0.0);
  double free = jobs.slots;
  for (std::size_t j = 0; j < n; ++j) {
    slots[j] = jobs.low[j];
    free -= slots[j];
    if (late(j) || due_[j] == kInfinity || !(jobs.work[j] > 0.0)) continue;
    if (surely_later(jobs.work[j], jobs.high[j], due_[j], jobs.period, 0.0)) continue;
    const double must = periodic_need(jobs.work[j], jobs.high[j], due_[j], jobs.period).at(0.0);
    room_[j] = std::max(0.0, std::min(must, jobs.high[j]) - slots[j]);
  }
  const auto give = [&](Index j, double more) {
    slots[j] += more;
    free -= more;
  };
  selection_.reset();
  selection_.run(key_, room_, free, give);
  for (std::size_t j = 0; j < n; ++j) {
    double use = slot_periods(jobs.work[j], jobs.period);
    if (!late(j) && due_[j] > 0.0 && due_[j] < jobs.period) {
      use = std::max(use, std::ceil(jobs.work[j] / due_[j] * (1.0 - kCount)));
    }
    room_[j] = std::max(0.0, std::min(use, jobs.high[j]) - slots[j]);
  }
  selection_.run(key_, room_, free, give);
  left_over_.hand_out(jobs, slots);
}

}  // namespace malleable
