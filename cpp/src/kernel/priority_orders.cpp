#include "malleable/kernel/priority_orders.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

// Last time, from now, at which the job pays no more than `level`.
double due_of(const Problem& problem, const Penalties& penalties, std::size_t j, double level) {
  const double latest = penalties.latest(j, level);
  return std::isfinite(latest) ? latest + tolerance(latest) - problem.now : latest;
}

double end_of_work(const Problem& problem) {
  double total = 0.0;
  for (const double work : problem.work) total += work;
  return total / problem.slots;
}

// Fills `time` and returns the largest. Work without slots divides to infinity; no work must not
// divide to NaN.
MALLEABLE_VECTOR_CLONES
double moldable_times(const double* work, const double* slots, std::size_t n, double* time) {
  double longest = 0.0;
#pragma omp simd reduction(max : longest)
  for (std::size_t j = 0; j < n; ++j) {
    const double alone = work[j] / slots[j], t = work[j] > 0.0 ? alone : 0.0;
    time[j] = t;
    longest = t > longest ? t : longest;
  }
  return longest;
}

}  // namespace

double PriorityOrders::rate(const Problem& problem, const Penalties& penalties, std::size_t j,
                            double earliest, double end) {
  if (penalties.linear()) return penalties.slope()[j];
  const std::size_t first = penalties.offset()[j];
  if (penalties.offset()[j + 1] == first + 1) return penalties.slope()[first];
  end = std::max(end, earliest * (1.0 + 1e-6) + 1e-300);
  return (penalties(j, problem.now + end) - penalties(j, problem.now + earliest)) /
         (end - earliest);
}

void PriorityOrders::make(OrderRule rule, const Problem& problem, const Penalties& penalties,
                          std::span<const double> earliest, std::span<Index> order) {
  if (rule == OrderRule::kOnTimeSet) {
    on_time_set(problem, penalties, earliest, order);
    return;
  }
  const std::size_t n = problem.size();
  const double end = end_of_work(problem);
  key_.resize(n);
  if (rule == OrderRule::kSmith && penalties.linear()) {
    for (std::size_t j = 0; j < n; ++j) {
      const double slope = penalties.slope()[j];
      key_[j] = slope > 0.0 ? problem.work[j] / slope : kInfinity;
    }
    sorter_.sort(key_, order);
    return;
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double e = earliest[j];
    const bool by_rate = rule != OrderRule::kDueDate && rule != OrderRule::kLeastSlack;
    const double r = by_rate ? rate(problem, penalties, j, e, end) : 1.0;
    const double path = problem.work[j] > 0.0 ? problem.work[j] / problem.high[j] : 0.0;
    const bool by_due = rule != OrderRule::kSmith && rule != OrderRule::kShortestPath;
    const double due =
        by_due ? due_of(problem, penalties, j, penalties(j, problem.now + e)) : kInfinity;
    const double p = problem.work[j] / problem.slots;
    switch (rule) {
      case OrderRule::kSmith:
        key_[j] = problem.work[j] / r;
        break;
      case OrderRule::kShortestPath:
        key_[j] = path / r;
        break;
      case OrderRule::kDueDate:
        key_[j] = due;
        break;
      case OrderRule::kModifiedDue:
        key_[j] = std::max(due, p) / r;
        break;
      case OrderRule::kApparentCost: {
        // exp((D - p)+ / (k * mean p)); with a single machine of all slots, k = 2 is customary.
        const double mean = std::max(end / static_cast<double>(n), 1e-300);
        const double wait = std::min(std::max(due - p, 0.0) / (2.0 * mean), 600.0);
        key_[j] = p / r * std::exp(wait);
        break;
      }
      case OrderRule::kLeastSlack:
        key_[j] = due - e;
        break;
      case OrderRule::kOnTimeSet:
        break;
    }
    if (!(r > 0.0) || std::isnan(key_[j])) key_[j] = kInfinity;
  }
  sorter_.sort(key_, order);
}

// Fill the time before each due date by squashed area; where it overflows, the job whose next step
// costs least for the work that it frees gives up its target and tries for the next one.
void PriorityOrders::on_time_set(const Problem& problem, const Penalties& penalties,
                                 std::span<const double> earliest, std::span<Index> order) {
  const std::size_t n = problem.size();
  const double end = end_of_work(problem);
  target_.assign(n, kInfinity);
  key_.assign(n, kInfinity);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) continue;
    target_[j] = due_of(problem, penalties, j, penalties(j, problem.now + earliest[j]));
    key_[j] = target_[j];
  }
  first_.resize(n);
  sorter_.sort(target_, first_);
  // Jobs by target: the sorted list, merged with those that try again.
  by_target_.clear();
  by_loss_.clear();
  std::size_t next = 0;
  double used = 0.0;
  for (std::size_t moves = 0; moves < 64 * n; ++moves) {
    while (next < n && target_[first_[next]] != key_[first_[next]]) ++next;  // it tries again later
    Index j;
    if (!by_target_.empty() && (next == n || by_target_.front().key <= key_[first_[next]])) {
      j = by_target_.front().job;
      std::pop_heap(by_target_.begin(), by_target_.end());
      by_target_.pop_back();
    } else if (next < n && key_[first_[next]] < kInfinity) {
      j = first_[next++];
    } else {
      break;
    }
    const double due = target_[j];
    used += problem.work[j];
    // What giving up this target costs for the work that it frees.
    const double paid = penalties(j, problem.now + due);
    const double missed = problem.now + due + 4.0 * tolerance(problem.now + due);
    const double level = std::max(penalties(j, missed), paid);
    // A slope instead of a jump: charge what the job pays by the end of all work.
    const double loss = level - paid > 1e-6 * std::fabs(level)
                            ? level - paid
                            : penalties(j, problem.now + std::max(end, due)) - paid;
    by_loss_.push_back({loss / problem.work[j], j});
    std::push_heap(by_loss_.begin(), by_loss_.end());
    while (used > problem.slots * due * (1.0 + 1e-12) && !by_loss_.empty()) {
      const Index dropped = by_loss_.front().job;
      std::pop_heap(by_loss_.begin(), by_loss_.end());
      by_loss_.pop_back();
      used -= problem.work[dropped];
      const double old = problem.now + target_[dropped];
      const double more =
          std::max(penalties(dropped, old + 4.0 * tolerance(old)), penalties(dropped, old));
      double target = due_of(problem, penalties, dropped, more);
      if (!(target > target_[dropped] * (1.0 + 1e-6)))
        target = kInfinity;  // a slope has no next step
      target_[dropped] = target;
      if (target < kInfinity) {
        by_target_.push_back({target, dropped});
        std::push_heap(by_target_.begin(), by_target_.end());
      }
    }
  }
  // On time by target, the rest by Smith's ratio.
  std::size_t on_time = 0;
  sorter_.sort(target_, order);
  while (on_time < n && target_[order[on_time]] < kInfinity) ++on_time;
  for (std::size_t k = on_time; k < n; ++k) {
    const Index j = order[k];
    const double r = rate(problem, penalties, j, earliest[j], end);
    key_[j] = r > 0.0 ? problem.work[j] / r : kInfinity;
  }
  std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(on_time), order.end(),
                   [&](Index a, Index b) { return key_[a] < key_[b]; });
}

void PriorityOrders::by_due(const Problem& problem, std::span<const double> due,
                            std::span<Index> order) {
  const std::size_t n = problem.size();
  key_.resize(n);
  first_.resize(n);
  second_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    key_[j] = problem.work[j] > 0.0 ? -problem.work[j] / problem.high[j] : 0.0;
  }
  sorter_.sort(key_, first_);
  for (std::size_t k = 0; k < n; ++k) key_[k] = due[first_[k]];
  sorter_.sort(key_, second_);
  for (std::size_t k = 0; k < n; ++k) order[k] = first_[second_[k]];
}

void PriorityOrders::by_moldable(const Problem& problem, std::span<const double> slots,
                                 std::span<const Index> waiting, std::span<Index> order) {
  const std::size_t n = problem.size();
  key_.resize(n);
  const double longest = moldable_times(problem.work.data(), slots.data(), n, key_.data());
  sorter_.sort(key_, order);
  if (longest < kInfinity) return;
  auto tail = std::lower_bound(order.begin(), order.end(), kInfinity,
                               [&](Index j, double key) { return key_[j] < key; });
  for (const Index j : waiting) {
    if (key_[j] == kInfinity) *tail++ = j;
  }
}

}  // namespace malleable
