#include "malleable/kernel/order_search.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr std::size_t kAllMoves = 1 << 12;  // up to this many moves are tried exhaustively

}  // namespace

void OrderSearch::begin(const Problem& problem, const Penalties& penalties, Aggregate aggregate) {
  problem_ = &problem;
  penalties_ = &penalties;
  aggregate_ = aggregate;
  const std::size_t n = problem.size();
  base_ = aggregate == Aggregate::kSum ? 0.0 : -kInfinity;
  earliest_.resize(n);
  double total = 0.0, longest = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    total += problem.work[j];
    const double path = problem.work[j] > 0.0 ? problem.work[j] / problem.high[j] : 0.0;
    longest = std::max(longest, path);
    earliest_[j] = penalties(j, path > 0.0 ? problem.now + path : problem.idle_end[j]);
    if (aggregate == Aggregate::kSum) base_ += earliest_[j];
  }
  horizon_ = std::max(total / problem.slots + longest, 1e-300);
}

// Whether score a is better than b by more than rounding.
bool OrderSearch::better(const Score& a, const Score& b) {
  const double margin = kRounding * std::fabs(b.value);
  if (!(a.value >= b.value - margin)) return true;
  if (a.value > b.value + margin) return false;
  return a.secondary < b.secondary - kRounding * std::fabs(b.secondary);
}

// The score of an order's schedule, as soon as it exceeds `limit` only that. The secondary
// objective decides between orders of the same value.
Score OrderSearch::score(std::span<const Index> order, const Score& limit,
                         std::span<const double> due) {
  const Penalties& penalties = *penalties_;
  const double now = problem_->now;
  const double cut = limit.value + kRounding * std::fabs(limit.value);
  Score score{base_, 0.0};
  if (aggregate_ == Aggregate::kMax) {
    pack(order, due, [&](Index j, double completion) {
      const double paid = penalties(j, now + completion);
      score.value = std::max(score.value, paid);
      score.secondary += paid;
      return score.value <= cut;
    });
    return score;
  }
  if (penalties.linear()) {
    pack(order, due, [&](Index j, double completion) {
      score.value += penalties.line(j, now + completion) - earliest_[j];
      return score.value <= cut;
    });
    return score;
  }
  // On plateaus: the time after the step that was just missed, as a share that saturates, so that
  // jobs that missed it narrowly count most.
  const double reach = 0.05 * horizon_;
  pack(order, due, [&](Index j, double completion) {
    const double t = now + completion;
    score.value += penalties(j, t) - earliest_[j];
    if (!penalties.is_custom(j)) {
      const std::size_t first = penalties.offset()[j], end = penalties.offset()[j + 1];
      for (std::size_t r = first + 1; r < end && t > penalties.at()[r]; ++r) {
        const double late = t - penalties.at()[r];
        const double jump = penalties.value()[r] - penalties.line(r - 1, penalties.at()[r]);
        score.secondary += jump * late / (late + reach);
      }
    }
    return score.value <= cut;
  });
  return score;
}

// splitmix64
std::uint64_t SearchRandom::operator()() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

bool OrderSearch::exhausted() { return tried_ >= effort_ || (*stop_ && (*stop_)()); }

void OrderMove::apply(std::vector<Index>& order) const {
  const auto begin = order.begin();
  if (swap) {
    std::swap(order[from], order[to]);
  } else if (from < to) {
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  } else {
    std::rotate(begin + to, begin + from, begin + from + 1);
  }
}

// A random move; mostly between near positions, where orders of many jobs are still wrong.
OrderMove OrderSearch::random_move() {
  const std::uint64_t r = random_();
  const auto from = static_cast<Index>((r >> 8) % active_);
  std::uint64_t reach = 1;
  for (std::uint64_t bits = r & 63; reach < active_ && (bits & 1) != 0; bits >>= 1) reach *= 4;
  const auto distance =
      static_cast<std::int64_t>(1 + random_() % std::min<std::uint64_t>(4 * reach, active_ - 1));
  std::int64_t to = static_cast<std::int64_t>(from) + ((r >> 6) & 1 ? distance : -distance);
  if (to < 0 || to >= static_cast<std::int64_t>(active_))
    to = static_cast<std::int64_t>(from) + (to < 0 ? distance : -distance);
  to = std::clamp<std::int64_t>(to, 0, static_cast<std::int64_t>(active_) - 1);
  return {from, static_cast<Index>(to), ((r >> 7) & 1) != 0};
}

// Moves to better neighbours until there is none (few jobs) or none was found for long (many jobs).
void OrderSearch::descend(PackedOrder& packed, Score& score) {
  std::vector<Index>& order = packed.order;
  const bool all = !moves_.empty();
  const std::size_t patience = all ? moves_.size() : 8 * active_;
  std::size_t failures = 0, next = moves_.size();
  while (score.value > goal_ && !exhausted()) {
    if (all && next == moves_.size()) {
      if (failures >= patience) return;  // a whole round without improvement
      failures = 0;
      for (std::size_t k = moves_.size(); k > 1; --k)
        std::swap(moves_[k - 1], moves_[random_() % k]);
      next = 0;
    } else if (failures >= patience) {
      return;
    }
    const OrderMove move = all ? moves_[next++] : random_move();
    trial_ = order;
    move.apply(trial_);
    ++tried_;
    const Score reached = this->score(trial_, score, packed.due);
    if (better(reached, score)) {
      order.swap(trial_);
      score = reached;
      failures = 0;
    } else {
      ++failures;
    }
  }
}

// Lists all moves, if they are few.
void OrderSearch::list_moves() {
  moves_.clear();
  if (active_ * (active_ - 1) * 3 / 2 > kAllMoves) return;
  for (Index from = 0; from < active_; ++from) {
    for (Index to = 0; to < active_; ++to) {
      if (from < to) moves_.push_back({from, to, true});
      // Neighbours exchanged by insertion are the swap just listed.
      if (from != to && from + 1 != to && to + 1 != from) moves_.push_back({from, to, false});
    }
  }
}

// Descends from all starts, then from perturbed best orders, until `effort` schedules are made or
// the value reaches `bound`. The best order becomes the first start.
std::uint64_t OrderSearch::improve(std::vector<PackedOrder>& starts, Score& best,
                                   std::uint64_t effort, double bound,
                                   const std::function<bool()>& stop) {
  tried_ = 0;
  effort_ = effort;
  random_ = SearchRandom();
  stop_ = &stop;
  goal_ = std::isfinite(bound) ? bound + kRounding * std::fabs(bound) : bound;
  // Jobs without work go last and stay there.
  active_ = 0;
  for (auto& [order, due] : starts) {
    active_ = static_cast<std::size_t>(
        std::stable_partition(order.begin(), order.end(),
                              [&](Index j) { return problem_->work[j] > 0.0; }) -
        order.begin());
  }
  if (active_ < 2) return 0;
  list_moves();
  PackedOrder current;
  for (std::size_t k = 0; k < starts.size() && best.value > goal_ && !exhausted(); ++k) {
    current = starts[k];
    Score reached = score(current.order, {}, current.due);
    descend(current, reached);
    if (better(reached, best)) {
      best = reached;
      starts[0] = current;
    }
  }
  // Perturb the best order a little, more while that does not help, and descend again.
  std::size_t idle = 0;
  while (best.value > goal_ && !exhausted()) {
    current = starts[0];
    const std::size_t kicks = 2 + idle / 4 % 4;
    for (std::size_t k = 0; k < kicks; ++k) random_move().apply(current.order);
    ++tried_;
    Score reached = score(current.order, {}, current.due);
    descend(current, reached);
    ++idle;
    if (better(reached, best)) {
      best = reached;
      starts[0] = current;
      idle = 0;
    }
  }
  return tried_;
}

}  // namespace malleable
