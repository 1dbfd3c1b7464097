// Decisions for a maximum, without gangs: the first slots of a schedule that attains the optimal
// level (the least value of the objective, which sets each job a deadline), and that schedule.
#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"
#include "malleable/policy/finish_plan.hpp"
#include "malleable/policy/flex.hpp"

namespace malleable {
namespace {

// Up to this many jobs, slots should also stay right until something ends.
constexpr std::size_t kFewHeld = 1000;
constexpr int kOrders = 4;        // orders by deadline that are tried for that
constexpr double kMoment = 1e-3;  // slots must be right for this part of that time, at least
constexpr int kHalvings = 50;     // halvings of the time for which slots stay right

// Hands out the slots in order, minima first; returns when the first job ends.
double first_layer(const Problem& problem, std::span<const Index> order,
                   std::vector<double>& slots) {
  slots.assign(problem.low.begin(), problem.low.end());
  double free = problem.slots, end = kInfinity;
  for (const double low : problem.low) free -= low;
  for (const Index j : order) {
    if (problem.work[j] == 0.0) continue;
    const double more = std::min(free, problem.high[j] - slots[j]);
    slots[j] += more;
    free -= more;
    if (slots[j] > 0.0) end = std::min(end, problem.work[j] / slots[j]);
  }
  return end;
}

// The instance after the slots were held for `time`.
void build_rest(const Problem& problem, std::span<const double> slots, double time, Problem& rest) {
  rest = problem;
  rest.now = problem.now + time;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] == 0.0) continue;
    const double left = problem.work[j] - slots[j] * time;
    rest.work[j] = left > kRounding * problem.work[j] ? left : 0.0;
    if (rest.work[j] > 0.0) continue;
    rest.low[j] = 0.0;
    rest.idle_end[j] = rest.now;
  }
}

}  // namespace

// Whether deadlines (from problem.now) can still be met after these slots are held for `time`. A
// job that ends then is not late.
bool Flex::stays_right(const Problem& problem, std::span<const double> due, double time) {
  build_rest(problem, begin_, time, rest_);
  later_.resize(due.size());
  for (std::size_t j = 0; j < due.size(); ++j) {
    later_[j] = due[j] - time;
    if (problem.work[j] > 0.0 && rest_.work[j] == 0.0 && !(later_[j] >= 0.0)) return false;
  }
  return demand_bound_.peak(rest_, later_).excess <= 0.0;
}

// Whether the latest start of a job that has less than its maximum comes before `end`.
bool Flex::starts_by(const Problem& problem, double end) const {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (start_[j] < end && begin_[j] < problem.high[j] && problem.work[j] > 0.0) return true;
  }
  return false;
}

// Orders by latest start plus a part of the time that the job takes on its maximum of slots: the
// cube of that maximum over all slots. A job that may use all slots goes by its deadline, which
// stays best for any jobs that come later, and a narrow one by its latest start, because it cannot
// catch up. Returns whether the first slots stay right until something ends; of many jobs it says
// no.
bool Flex::patient_order(const Problem& problem, std::span<Index> order) {
  if (problem.size() > kFewHeld) return false;
  key_.resize(problem.size());
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double part = problem.high[j] / problem.slots;
    key_[j] = start_[j] + problem.work[j] / problem.slots * part * part;
  }
  orders_.by_due(problem, key_, order);
  const double end = first_layer(problem, order, begin_);
  return !starts_by(problem, end) || stays_right(problem, due_, end);
}

// The order in which slots are handed out now: patient_order(), or by latest start (the time from
// which a job needs its maximum to meet its deadline), or, if other jobs would then become late, by
// one of a few others.
void Flex::level_order(const Problem& problem, const Penalties& penalties, std::span<Index> order) {
  const std::size_t n = problem.size();
  due_.resize(n);
  start_.resize(n);
  own_level(problem, penalties, -kInfinity, due_);
  for (std::size_t j = 0; j < n; ++j) {
    start_[j] = minimum_until(problem.work[j], problem.low[j], problem.high[j], due_[j]);
  }
  if (patient_order(problem, order)) return;
  orders_.by_due(problem, start_, order);
  if (n > kFewHeld) return;
  double end = first_layer(problem, order, begin_);
  if (!starts_by(problem, end) || stays_right(problem, due_, end)) return;
  // Orders by latest start for jobs whose latest start comes first, then by deadline.
  const auto level_then = [&] {
    build_rest(problem, begin_, end, rest_);
    later_.resize(n);
    return own_level(rest_, penalties, -kInfinity, later_);
  };
  double least = level_then(), until = 0.0;
  std::vector<Index> other(n);
  key_.resize(n);
  for (int k = 0; k < kOrders; ++k) {
    const double now = 2.0 * tolerance(problem.now);
    for (std::size_t j = 0; j < n; ++j) key_[j] = start_[j] <= until + now ? -kInfinity : due_[j];
    orders_.by_due(problem, key_, other);
    end = first_layer(problem, other, begin_);
    const bool right = stays_right(problem, due_, end);
    const bool begins = right || stays_right(problem, due_, kMoment * end);
    const double level = right ? -kInfinity : begins ? level_then() : kInfinity;
    if (level < least) {
      least = level;
      std::copy(other.begin(), other.end(), order.begin());
    }
    if (right || !(end > until)) return;
    until = end;
  }
}

// Plans on from the slots that the order gives first.
void Flex::plan_level(const Problem& problem, const Penalties& penalties,
                      std::span<const Index> order, bool detail, Plan& plan) {
  const std::size_t n = problem.size();
  plan_order(problem, penalties, Aggregate::kMax, order, detail, plan);
  if (n > kMostDeadlinePacked || !std::isfinite(plan.value) ||
      reaches(plan.value, plan.lower_bound, Aggregate::kMax)) {
    return;
  }
  // Find the level with a quarter of the tolerance, and schedule with half of it, as
  // pack_deadlines() does; what is tested here lies between.
  due_.resize(n);
  const double level = demand_bound_.level(problem, penalties, plan.lower_bound, plan.value, 0.25);
  DemandBound::deadlines(problem, penalties, level, 0.375, due_);
  double end = first_layer(problem, order, begin_);
  if (!stays_right(problem, due_, end)) {
    double low = 0.0;
    for (int k = 0; k < kHalvings; ++k) {
      const double middle = low + (end - low) / 2.0;
      (stays_right(problem, due_, middle) ? low : end) = middle;
    }
    end = low;
    stays_right(problem, due_, end);
  }
  DemandBound::deadlines(problem, penalties, level, 0.5, due_);
  for (std::size_t j = 0; j < n; ++j) later_[j] = due_[j] - end;
  Plan filled;
  std::vector<double> completion(n);
  std::vector<Index> by_due(n);
  deadline_packing_.run(rest_, later_, by_due, completion, filled);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] > 0.0) completion[j] += end;
    if (problem.work[j] > 0.0 && begin_[j] > 0.0 && rest_.now > problem.now) {
      filled.pieces.add(static_cast<Index>(j), problem.now, rest_.now, begin_[j]);
    }
  }
  filled.order = plan.order;
  filled.lower_bound = plan.lower_bound;
  finish_plan(problem, penalties, Aggregate::kMax, completion, lower_bound_, filled);
  if (filled.value < plan.value) plan = std::move(filled);
}

}  // namespace malleable
