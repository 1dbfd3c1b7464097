#include "malleable/kernel/priority_orders.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

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
  struct Entry {
    double key;
    Index job;
    bool operator<(const Entry& other) const {  // std::priority_queue serves the largest
      return key != other.key ? key > other.key : job > other.job;
    }
  };
  std::priority_queue<Entry> by_target, by_loss;
  target_.assign(n, kInfinity);
  // The cost per work of giving up `due`, and the target after that.
  const auto next_target = [&](std::size_t j, double due, double& loss) {
    const double paid = penalties(j, problem.now + due);
    const double after = std::max(due * (1.0 + 4e-9), due + 4e-9);
    const double level = std::max(penalties(j, problem.now + after + tolerance(problem.now + after)), paid);
    loss = (level - paid) / problem.work[j];
    return due_of(problem, penalties, j, level);
  };
  double used = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) continue;
    target_[j] = due_of(problem, penalties, j, penalties(j, problem.now + earliest[j]));
    if (target_[j] < kInfinity) by_target.push({target_[j], static_cast<Index>(j)});
  }
  std::vector<std::uint8_t> taken(n, 0);
  std::size_t moves = 0;
  while (!by_target.empty() && moves++ < 64 * n) {
    const Entry entry = by_target.top();
    by_target.pop();
    const Index j = entry.job;
    if (taken[j] || entry.key != target_[j]) continue;
    taken[j] = 1;
    used += problem.work[j];
    double loss;
    next_target(j, target_[j], loss);
    by_loss.push({loss, j});
    while (used > problem.slots * entry.key * (1.0 + 1e-12) && !by_loss.empty()) {
      const Index dropped = by_loss.top().job;
      by_loss.pop();
      if (!taken[dropped]) continue;
      taken[dropped] = 0;
      used -= problem.work[dropped];
      target_[dropped] = next_target(dropped, target_[dropped], loss);
      if (target_[dropped] < kInfinity) by_target.push({target_[dropped], dropped});
    }
  }
  // On time by target, the rest by Smith's ratio.
  const double end = end_of_work(problem);
  first_.clear();
  second_.clear();
  for (std::size_t j = 0; j < n; ++j) {
    (target_[j] < kInfinity ? first_ : second_).push_back(static_cast<Index>(j));
  }
  key_.resize(n);
  for (const Index j : second_) {
    const double r = rate(problem, penalties, j, earliest[j], end);
    key_[j] = r > 0.0 ? problem.work[j] / r : kInfinity;
  }
  std::stable_sort(first_.begin(), first_.end(),
                   [&](Index a, Index b) { return target_[a] < target_[b]; });
  std::stable_sort(second_.begin(), second_.end(),
                   [&](Index a, Index b) { return key_[a] < key_[b]; });
  std::copy(second_.begin(), second_.end(),
            std::copy(first_.begin(), first_.end(), order.begin()));
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
  bool somebody_waits = false;
  for (std::size_t j = 0; j < n; ++j) {
    key_[j] = problem.work[j] == 0.0 ? 0.0
              : slots[j] > 0.0       ? problem.work[j] / slots[j]
                                     : kInfinity;
    somebody_waits |= key_[j] == kInfinity;
  }
  sorter_.sort(key_, order);
  if (!somebody_waits) return;
  auto tail = std::lower_bound(order.begin(), order.end(), kInfinity,
                               [&](Index j, double key) { return key_[j] < key; });
  for (const Index j : waiting) {
    if (key_[j] == kInfinity) *tail++ = j;
  }
}

}  // namespace malleable
