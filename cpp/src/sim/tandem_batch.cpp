#include "malleable/sim/tandem_batch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "malleable/kernel/tandem_batch_bound.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Orders by lambda * map + (1 - lambda) * shuffle are tried for so many lambdas.
constexpr int kSizeOrders = 9;
// Search: failed candidates per job before a leap, and moves of a leap.
constexpr std::int64_t kVainCandidates = 16;
constexpr int kLeap = 4;

std::vector<Index> sorted_by(std::span<const double> key) {
  std::vector<Index> order(key.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key[a] < key[b]; });
  return order;
}

void move_job(std::vector<Index>& order, std::size_t from, std::size_t to) {
  const auto at = [&](std::size_t k) { return order.begin() + static_cast<std::ptrdiff_t>(k); };
  if (from < to) {
    std::rotate(at(from), at(from + 1), at(to + 1));
  } else {
    std::rotate(at(to), at(from), at(from + 1));
  }
}

}  // namespace

TandemBatch::TandemBatch(std::span<const double> map, std::span<const double> shuffle)
    : map_(map.begin(), map.end()),
      shuffle_(shuffle.begin(), shuffle.end()),
      place_(map.size()),
      value_(kInfinity),
      lower_bound_(tandem_batch_bound(map, shuffle)),
      random_(1) {
  const std::size_t count = map.size();
  // shortest remaining first: one order for both stations, or one order each
  max_srpt_ = try_policy(TandemPolicy::kMaxSrpt, "max-srpt");
  split_srpt_ = try_policy(TandemPolicy::kSplitSrpt, "split-srpt");
  try_policy(TandemPolicy::kTwoSrpt, "two-srpt");
  // The search starts from the orders of the best plan, or better ones.
  TandemQueue queue = run();
  std::vector<double> map_end(count), end(count), size(count);
  for (std::size_t k = 0; k < count; ++k) {
    map_end[static_cast<std::size_t>(queue.done_id[k])] = queue.done_map[k];
    end[static_cast<std::size_t>(queue.done_id[k])] = queue.done_completion[k];
  }
  map_order_ = sorted_by(map_end);
  shuffle_order_ = sorted_by(end);
  const auto total = [&](const std::vector<Index>& first, const std::vector<Index>& second) {
    for (std::size_t k = 0; k < count; ++k) place_[second[k]] = static_cast<Index>(k);
    return evaluate_.run(map_, shuffle_, first, place_, {});
  };
  order_value_ = total(map_order_, shuffle_order_);
  const auto note = [&] {
    if (order_value_ >= value_) return;
    keep(order_value_, "orders");
    best_map_order_ = map_order_;
    best_shuffle_order_ = shuffle_order_;
  };
  note();
  for (int g = 0; g < kSizeOrders; ++g) {
    const double lambda = static_cast<double>(g) / (kSizeOrders - 1);
    for (std::size_t j = 0; j < count; ++j) size[j] = lambda * map[j] + (1.0 - lambda) * shuffle[j];
    const std::vector<Index> order = sorted_by(size);
    const double value = total(order, order);
    if (value >= order_value_) continue;
    map_order_ = shuffle_order_ = order;
    order_value_ = value;
    note();
  }
}

// Runs a policy and keeps its plan if it is the best so far; returns its sum of completion times.
double TandemBatch::try_policy(TandemPolicy policy, const char* name) {
  TandemOptions options;
  options.policy = policy;
  options.records = options.histogram = false;
  TandemQueue queue(options);
  const std::vector<double> arrival(map_.size(), 0.0);
  queue.feed({arrival, map_, shuffle_});
  queue.advance(kInfinity);
  const double value = queue.totals().response;
  if (value < value_) {
    policy_ = policy;
    keep(value, name);
  }
  return value;
}

// The best value so far, and what found it.
void TandemBatch::keep(double value, const char* name) {
  value_ = value;
  origin_ = name;
}

// Moves a random job in one of the orders, or in both.
void TandemBatch::move(std::vector<Index>& map_order, std::vector<Index>& shuffle_order) {
  const std::size_t count = map_.size();
  const auto draw = [this](std::size_t below) {
    return static_cast<std::size_t>(random_() % below);
  };
  // Draws near places more often than far ones.
  const std::size_t from = draw(count), reach = 1 + draw(1 + draw(count - 1));
  const std::size_t to =
      draw(2) == 0 ? (from >= reach ? from - reach : 0) : std::min(count - 1, from + reach);
  const std::size_t kind = draw(4);
  if (kind < 2) {
    // Moves the job in both orders to the place of the same other job.
    const auto where = [&](Index job) {
      return static_cast<std::size_t>(std::find(map_order.begin(), map_order.end(), job) -
                                      map_order.begin());
    };
    const Index job = shuffle_order[from], other = shuffle_order[to];
    move_job(map_order, where(job), where(other));
    move_job(shuffle_order, from, to);
  } else {
    move_job(kind == 2 ? map_order : shuffle_order, from, to);
  }
}

// Local search: tries so many changed orders and goes on from orders that are not worse.
void TandemBatch::search(std::int64_t candidates) {
  const std::size_t count = map_.size();
  if (count < 2) return;
  for (std::int64_t k = 0; k < candidates && value_ > lower_bound_; ++k) {
    ++tried_;
    // If nothing has helped for long, several moves at once leave the best orders.
    const bool leap = stale_ > kVainCandidates * static_cast<std::int64_t>(count);
    const bool from_best = leap && !best_map_order_.empty();
    map_trial_ = from_best ? best_map_order_ : map_order_;
    shuffle_trial_ = from_best ? best_shuffle_order_ : shuffle_order_;
    for (int moves = leap ? kLeap : 1; moves > 0; --moves) move(map_trial_, shuffle_trial_);
    for (std::size_t j = 0; j < count; ++j) place_[shuffle_trial_[j]] = static_cast<Index>(j);
    const double value = evaluate_.run(map_, shuffle_, map_trial_, place_, {});
    stale_ = leap || value < order_value_ ? 0 : stale_ + 1;
    if (value > order_value_ && !leap) continue;  // equal values are kept, to cross plateaus
    order_value_ = value;
    map_order_.swap(map_trial_);
    shuffle_order_.swap(shuffle_trial_);
    if (value < value_ * (1.0 - kRounding)) {
      keep(value, "search");
      best_map_order_ = map_order_;
      best_shuffle_order_ = shuffle_order_;
    }
  }
}

// The policy of the best plan, and the places of jobs in its orders if it has orders.
TandemPolicy TandemBatch::plan(std::vector<double>& map_place,
                               std::vector<double>& shuffle_place) const {
  const std::size_t count = map_.size();
  map_place.assign(count, 0.0);
  shuffle_place.assign(count, 0.0);
  if (best_map_order_.empty()) return policy_;
  for (std::size_t k = 0; k < count; ++k) {
    map_place[best_map_order_[k]] = static_cast<double>(k);
    shuffle_place[best_shuffle_order_[k]] = static_cast<double>(k);
  }
  return TandemPolicy::kOrder;
}

TandemQueue TandemBatch::run() const {
  std::vector<double> map_place, shuffle_place;
  const std::vector<double> arrival(map_.size(), 0.0);
  TandemOptions options;
  options.histogram = false;
  options.policy = plan(map_place, shuffle_place);
  TandemQueue queue(options);
  queue.feed({arrival, map_, shuffle_, {}, {}, {}, map_place, shuffle_place});
  queue.advance(kInfinity);
  return queue;
}

}  // namespace malleable
