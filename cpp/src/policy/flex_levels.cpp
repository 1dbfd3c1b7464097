// Decisions for a maximum, without gangs: the first slots of a schedule that attains the optimal
// level (the least value of the objective, which sets each job a deadline), and that schedule.
#include <algorithm>
#include <cmath>

#include "malleable/kernel/shared_packing.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/finish_plan.hpp"
#include "malleable/policy/flex.hpp"

namespace malleable {
namespace {

// Up to this many jobs, it matters how long slots are held: of more, one ends at once.
constexpr std::size_t kFewHeld = 1000;
constexpr double kMoment = 1e-3;  // slots must be right for this part of that time, at least
constexpr int kHalvings = 50;     // halvings of the time for which slots stay right

// When the first job ends on these slots.
double first_end(const Problem& problem, std::span<const double> slots) {
  double end = kInfinity;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] > 0.0 && slots[j] > 0.0) end = std::min(end, problem.work[j] / slots[j]);
  }
  return end;
}

// Whether the order gives these slots; `own` is workspace.
bool gives(const Problem& problem, std::span<const Index> order, std::span<const double> slots,
           std::span<double> own) {
  share_in_order(problem, order, own);
  for (std::size_t j = 0; j < own.size(); ++j) {
    if (problem.work[j] > 0.0 && own[j] != slots[j]) return false;
  }
  return true;
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

void Flex::level_shares(const Problem& problem, const Penalties& penalties, std::span<Index> order,
                        std::span<double> slots) {
  const std::size_t n = problem.size();
  due_.resize(n);
  start_.resize(n);
  own_level(problem, penalties, -kInfinity, due_);
  for (std::size_t j = 0; j < n; ++j) {
    start_[j] = minimum_until(problem.work[j], problem.low[j], problem.high[j], due_[j]);
  }
  if (n <= kFewHeld) {
    held_.run(problem, start_, order, slots);
    begin_.assign(slots.begin(), slots.end());
    const double end = first_end(problem, begin_);
    if (!starts_by(problem, end) || stays_right(problem, due_, kMoment * end)) return;
  }
  orders_.by_due(problem, start_, order);
  share_in_order(problem, order, slots);
}

// How long the slots in begin_ stay right, at most until `end`; leaves what is left then in rest_.
double Flex::right_until(const Problem& problem, double end) {
  if (stays_right(problem, due_, end)) return end;
  double low = 0.0;
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = low + (end - low) / 2.0;
    (stays_right(problem, due_, middle) ? low : end) = middle;
  }
  stays_right(problem, due_, low);
  return low;
}

// Plans on from the slots.
void Flex::plan_level(const Problem& problem, const Penalties& penalties,
                      std::span<const Index> order, std::span<const double> slots, bool detail,
                      Plan& plan) {
  const std::size_t n = problem.size();
  plan_order(problem, penalties, Aggregate::kMax, order, detail, plan);
  if (n > kMostDeadlinePacked || !std::isfinite(plan.value)) return;
  begin_.resize(n);
  const bool begins = gives(problem, order, slots, begin_);
  if (begins && reaches(plan.value, plan.lower_bound, Aggregate::kMax)) return;
  // Find the level with a quarter of the tolerance, and schedule with half of it, as
  // pack_deadlines() does; what is tested here lies between.
  due_.resize(n);
  const double level = demand_bound_.level(problem, penalties, plan.lower_bound, plan.value, 0.25);
  DemandBound::deadlines(problem, penalties, level, 0.375, due_);
  begin_.assign(slots.begin(), slots.end());
  const double end = right_until(problem, first_end(problem, begin_));
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
  if (!begins || filled.value < plan.value) plan = std::move(filled);
}

}  // namespace malleable
