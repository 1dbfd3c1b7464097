#include "malleable/kernel/min_cost_flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: flow j has work in cells t of time; a split flow has work in several cells; the reduced
// cost of an arc is what a unit costs more there, prices included; a hot flow had an arc with a
// negative reduced cost in the last round; a stretch is kStretch cells.
constexpr std::size_t kCellsAbove = 4;  // cells that make one cell of the level above
// rounds over hot flows between two rounds over all flows
constexpr int kHotRounds = 4;
constexpr int kFresh = 20;                   // how often prices are computed again from the tree
constexpr std::size_t kPricedTogether = 64;  // flows that are priced before their best arcs enter

MALLEABLE_VECTOR_CLONES
double least_sum(const double* time, const double* price, double first, double slope,
                 std::size_t count) {
  double least = kInfinity;
#pragma omp simd reduction(min : least)
  for (std::size_t t = 0; t < count; ++t) {
    const double sum = slope * (time[t] - first) + price[t];
    least = sum < least ? sum : least;
  }
  return least;
}

MALLEABLE_VECTOR_CLONES
double least_stored(const double* cost, const double* price, std::size_t count) {
  double least = kInfinity;
#pragma omp simd reduction(min : least)
  for (std::size_t t = 0; t < count; ++t) {
    const double sum = cost[t] + price[t];
    least = sum < least ? sum : least;
  }
  return least;
}

MALLEABLE_VECTOR_CLONES
double least_of(const double* price, std::size_t count) {
  double least = kInfinity;
#pragma omp simd reduction(min : least)
  for (std::size_t t = 0; t < count; ++t) least = price[t] < least ? price[t] : least;
  return least;
}

MALLEABLE_VECTOR_CLONES
bool rises(const double* price, std::size_t count) {
  int any = 0;
#pragma omp simd reduction(| : any)
  for (std::size_t t = 1; t < count; ++t) any |= price[t] > price[t - 1] ? 1 : 0;
  return any != 0;
}

}  // namespace

// A cell that holds work of the flow; any arc of the tree gives the flow's present cost.
Index MinCostFlow::home_of(Index j) const {
  if (node_of_[j] == kNone) return home_[j];
  const Node& node = nodes_[node_of_[j]];
  return node.parent != kNone ? node.parent : node.child;
}

// The one rule for arcs that enter: a reduced cost counts as negative only beyond the rounding of
// its terms. It depends only on the tree and the prices.
MinCostFlow::Arc MinCostFlow::arc_to(Index j, Index cell) const {
  const Index home = home_of(j);
  const double reduced = rise(j, home, cell) + (price_[cell] - price_[home]);
  const double size = std::fabs(cost(j, cell)) + std::fabs(cost(j, home)) +
                      std::fabs(price_[cell]) + std::fabs(price_[home]);
  return {reduced, reduced < -kRounding * size};
}

// The same for the arc t + 1 -> t, which costs nothing.
MinCostFlow::Arc MinCostFlow::arc_back(Index t) const {
  const double reduced = price_[t] - price_[t + 1];
  return {reduced, reduced < -kRounding * (std::fabs(price_[t]) + std::fabs(price_[t + 1]))};
}

// Updates the least price of each stretch of cells with a changed price.
void MinCostFlow::refresh() {
  for (const Index s : stale_) {
    const std::size_t begin = s * kStretch;
    least_price_[s] = least_of(price_.data() + begin, std::min(kStretch, cells_ - begin));
    is_stale_[s] = 0;
  }
  stale_.clear();
}

// The cell with the least reduced cost among a flow's arcs, if that arc may enter; otherwise kNone.
// Costs never fall, so the first cost and the least price of a stretch can show that no cell in it
// may enter.
Index MinCostFlow::best_cell(std::size_t j) const {
  const Index home = home_of(static_cast<Index>(j));
  const double own = cost(j, home) + price_[home];
  double best = -kRounding * std::fabs(own);  // a reduced cost that is not below this may not enter
  Index cell = kNone;
  if (dense_stride_ > 0) {
    const double* stored = dense_.data() + j * dense_stride_;
    const double least = least_stored(stored, price_.data(), dense_stride_);
    if (!(least - own < best)) return kNone;
    cell = 0;
    while (cell + 1 < cells_ && stored[cell] + price_[cell] > least) ++cell;
    return cell;
  }
  for (std::size_t r = costs_->offset[j], stop = costs_->offset[j + 1]; r < stop; ++r) {
    const Row& row = rows_[r];
    const std::size_t end = r + 1 < stop ? rows_[r + 1].from : cells_;
    const double base = row.value - own;
    if (row.slope == 0.0) {  // arcs t + 1 -> t lead from its last cell to the others
      if (end > row.from && base + price_[end - 1] < best) {
        best = base + price_[end - 1];
        cell = static_cast<Index>(end - 1);
      }
      continue;
    }
    for (std::size_t t = row.from; t < end;) {
      const std::size_t stretch = t / kStretch, next = std::min((stretch + 1) * kStretch, end);
      if (base + (row.slope * (time_[t] - row.first) + least_price_[stretch]) < best) {
        const double least =
            least_sum(time_.data() + t, price_.data() + t, row.first, row.slope, next - t);
        if (base + least < best) {
          best = base + least;
          while (t + 1 < next && row.slope * (time_[t] - row.first) + price_[t] > least) ++t;
          cell = static_cast<Index>(t);
        }
      }
      t = next;
    }
  }
  return cell;
}

// Whether the limits of this level are reached.
bool MinCostFlow::limits_reached() const {
  return pivots_ >= most_pivots_ || rounds_ >= most_rounds_ || (late_ != nullptr && (*late_)());
}

// Prices must not rise with time: lets arcs t + 1 -> t enter where they do. A round that finds such
// an arc makes a pivot; after a round without one it ends.
bool MinCostFlow::smooth() {
  bool any = false;
  while (rises(price_.data(), cells_) && !limits_reached()) {
    bool found = false;
    ++rounds_;
    for (std::size_t t = cells_ - 1; t-- > 0 && pivots_ < most_pivots_;) {
      const Arc arc = arc_back(static_cast<Index>(t));
      if (!arc.enters) continue;
      pivot(kNone, static_cast<Index>(t), arc.reduced);
      found = true;
    }
    if (!found) break;
    any = true;
  }
  return any;
}

// Pivots until no arc may enter; false if none could at first. Rounds over all flows alternate with
// rounds over flows that had an arc in the last round.
//
// Why it ends. The candidates of a block are found by arc_to() and tested by it again before they
// pivot; before the first of them no price has moved, so it passes again. A round that leaves a
// flow hot has therefore made a pivot; one that leaves none is followed by a round over all flows
// or, if it was one, by the end. So there are at most 2 (pivots + 1) rounds, and kHotRounds more of
// them between two over all. Pivots end as long as sums are exact: each lowers the cost of the
// perturbed supplies, which is a number per tree, so no tree comes twice. Rounding may break that,
// and 2 (pivots + 1) rounds over many flows may take long: most_pivots_ and most_rounds_ bound
// both, and the flow and its prices are valid then, too.
bool MinCostFlow::improve() {
  bool any = smooth(), all = true;
  hot_.assign(order_.begin(), order_.end());
  for (int since = 0; !limits_reached();) {
    ++rounds_;
    next_hot_.clear();
    for (std::size_t block = 0; block < hot_.size(); block += kPricedTogether) {
      candidates_.clear();
      for (std::size_t i = block; i < std::min(hot_.size(), block + kPricedTogether); ++i) {
        const Index cell = best_cell(hot_[i]);
        if (cell == kNone) continue;
        const Arc arc = arc_to(hot_[i], cell);
        if (arc.enters) candidates_.push_back({arc.reduced, hot_[i], cell});
      }
      if (candidates_.empty()) continue;
      any = true;
      std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        return a.reduced != b.reduced ? a.reduced < b.reduced : a.flow < b.flow;
      });
      for (const Candidate& candidate : candidates_) {
        if (pivots_ >= most_pivots_) break;
        next_hot_.push_back(candidate.flow);
        const Arc arc = arc_to(candidate.flow, candidate.cell);  // prices have moved since
        if (arc.enters) pivot(candidate.flow, candidate.cell, arc.reduced);
      }
      smooth();
    }
    if (next_hot_.empty() && all) break;
    all = next_hot_.empty() || ++since > kHotRounds;
    if (all) {
      hot_.assign(order_.begin(), order_.end());
      since = 0;
    } else {
      hot_.swap(next_hot_);
    }
  }
  return any;
}

// Amounts, value, duals.
void MinCostFlow::read_out(std::span<const double> volume, std::span<const double> room) {
  collect();
  // Each flow gets its exact volume: the difference that rounding made goes to its last cells,
  // where room is worth least.
  key_.assign(volume.begin(), volume.end());
  for (auto& [j, t, amount] : portions_) key_[j] -= amount = std::min(amount, key_[j]);
  for (std::size_t k = portions_.size(); k-- > 0;) {
    portions_[k].amount += std::exchange(key_[portions_[k].flow], 0.0);
  }
  // By flow, cells rising: a counting sort of the portions, which are in order of cells.
  first_.assign(flows_ + 1, 0);
  std::size_t count = 0;
  for (const Portion& portion : portions_) {
    if (!(portion.amount > 0.0)) continue;
    ++first_[portion.flow + 1];
    ++count;
  }
  for (std::size_t j = 0; j < flows_; ++j) first_[j + 1] += first_[j];
  assignment_.flow.resize(count);
  assignment_.cell.resize(count);
  assignment_.amount.resize(count);
  value_ = 0.0;
  for (const Portion& portion : portions_) {
    if (!(portion.amount > 0.0)) continue;
    const std::size_t at = first_[portion.flow]++;
    assignment_.flow[at] = portion.flow;
    assignment_.cell[at] = portion.cell;
    assignment_.amount[at] = portion.amount;
    value_ += portion.amount * cost(portion.flow, portion.cell);
  }
  double least = 0.0;
  for (std::size_t t = cells_; t-- > 0;) {
    least = std::max(least, price_[t]);
    price_[t] = least;
  }
  // Terms may cancel, so rounding is measured by their sizes, not by the sum.
  double size = 0.0;
  bound_ = 0.0;
  potential_.resize(flows_);
  for (std::size_t j = 0; j < flows_; ++j) {
    potential_[j] = kInfinity;
    for (std::size_t r = costs_->offset[j]; r < costs_->offset[j + 1]; ++r) {
      const std::size_t from = rows_[r].from;
      const std::size_t end = r + 1 < costs_->offset[j + 1] ? rows_[r + 1].from : cells_;
      potential_[j] = std::min(
          potential_[j], rows_[r].value + least_sum(time_.data() + from, price_.data() + from,
                                                    rows_[r].first, rows_[r].slope, end - from));
    }
    bound_ += volume[j] * potential_[j];
    size += volume[j] * (std::fabs(potential_[j]) + std::fabs(costs_->value[costs_->offset[j]]));
  }
  for (std::size_t t = 0; t < cells_; ++t) {
    bound_ -= room[t] * price_[t];
    size += room[t] * price_[t];
  }
  const double terms = static_cast<double>(flows_ + cells_);
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  bound_ = std::min(bound_ - kEpsilon * (4.0 + terms / 2.0) * size, value_);
}

// Network simplex on coarse cells first, then on finer ones. `room`: the work that fits into a
// cell; a pivot is one change of the spanning tree.
void MinCostFlow::solve(std::span<const double> volume, std::span<const double> time,
                        std::span<const double> room, const CellCosts& costs,
                        const Limits& limits) {
  costs_ = &costs;
  late_ = limits.late;
  complete_ = true;
  fine_time_ = time;
  flows_ = volume.size();
  volume_.assign(volume.begin(), volume.end());
  pivots_ = rounds_ = 0;
  trim(room);
  if (fine_cells_ == 0) {  // no flow has work
    price_.clear();
    potential_.assign(flows_, 0.0);
    assignment_ = {};
    value_ = bound_ = 0.0;
    return;
  }
  order_.clear();
  portions_.clear();
  for (Index j = 0; j < flows_; ++j) {
    if (!(volume[j] > 0.0)) continue;
    order_.push_back(j);
    portions_.push_back({j, 0, volume[j]});
  }
  std::size_t above = kCellsAbove;
  while (above < fine_cells_) above *= kCellsAbove;
  // Shifts of prices accumulate rounding, so an optimal tree is checked again with fresh prices.
  while (above > 1) {
    const std::size_t stride = above / kCellsAbove;
    set_level(time, stride);
    most_pivots_ = pivots_ + std::min(limits.pivots, most_pivots(cells_, flows_));
    most_rounds_ = rounds_ + std::min(limits.rounds, most_rounds(cells_));
    refine(above, stride);
    build_tree();
    prices_from_tree();
    bool open = true;
    for (int fresh = 0; open && fresh < (stride == 1 ? kFresh : 1); ++fresh) {
      open = improve();
      if (open) prices_from_tree();
    }
    if (stride > 1) collect();
    if (stride == 1) complete_ = !open && !limits_reached();
    above = stride;
  }
  read_out(volume, room);
}

}  // namespace malleable
