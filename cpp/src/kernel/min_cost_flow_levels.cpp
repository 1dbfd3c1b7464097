// Levels, on which several cells (spans of time) count as one: the problem of a level, and portions
// (work of a flow in a cell) from one level to the next.
//
// The network has arcs from each flow to its cells, at the flow's cost, and arcs t + 1 -> t of cost
// 0, because work may always move to an earlier cell. Rows are the linear pieces of a flow's cost,
// each from its own first cell on. A flow that is not in the tree has all its work in one cell,
// home_.
#include <algorithm>

#include "malleable/kernel/min_cost_flow.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr std::size_t kDense = 64;  // cells up to which a level's costs are stored

}  // namespace

// Finds the cells that are needed, and the work that each of them takes.
void MinCostFlow::trim(std::span<const double> room) {
  double left = 0.0;
  for (const double v : volume_) left += v;
  fine_demand_.clear();
  for (std::size_t t = 0; t < room.size() && left > 0.0; ++t) {
    // Work left by rounding does not open another cell.
    const bool last = room[t] >= left * (1.0 - kRounding) || t + 1 == room.size();
    fine_demand_.push_back(last ? left : room[t]);
    left = last ? 0.0 : left - room[t];
  }
  fine_cells_ = fine_demand_.size();
}

// Joins `stride` cells at a time, with the time of the middle one.
void MinCostFlow::set_level(std::span<const double> time, std::size_t stride) {
  stride_ = stride;
  middle_ = stride / 2;
  cells_ = (fine_cells_ + stride - 1) / stride;
  time_.resize(cells_);
  demand_.resize(cells_);
  price_.assign((cells_ + 7) / 8 * 8, 0.0);
  for (std::size_t t = 0; t < cells_; ++t) {
    const std::size_t begin = t * stride, end = std::min(begin + stride, fine_cells_);
    time_[t] = time[std::min(begin + middle_, fine_cells_ - 1)];
    demand_[t] = 0.0;
    for (std::size_t k = begin; k < end; ++k) demand_[t] += fine_demand_[k];
  }
  set_rows();
}

// Rows begin where the middle of a cell has reached their own first cell.
void MinCostFlow::set_rows() {
  rows_.resize(costs_->from.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const std::size_t from = costs_->from[r];
    const std::size_t begin = from <= middle_ ? 0 : (from - middle_ + stride_ - 1) / stride_;
    rows_[r] = {static_cast<Index>(std::min(begin, cells_)), costs_->value[r], costs_->slope[r],
                fine_time_[std::min(from, fine_cells_ - 1)]};
  }
  const bool slopes =
      std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.slope > 0.0; });
  dense_stride_ = slopes && cells_ <= kDense ? (cells_ + 7) / 8 * 8 : 0;
  if (dense_stride_ == 0) return;
  dense_.assign(flows_ * dense_stride_, kInfinity);
  for (const Index j : order_) {
    double* stored = dense_.data() + j * dense_stride_;
    for (std::size_t r = costs_->offset[j]; r < costs_->offset[j + 1]; ++r) {
      const Row& row = rows_[r];
      const std::size_t end = r + 1 < costs_->offset[j + 1] ? rows_[r + 1].from : cells_;
      // Prices never rise, so of cells with the same cost the last is the cheapest.
      std::size_t t = row.slope == 0.0 && end > row.from ? end - 1 : row.from;
      for (; t < end; ++t) stored[t] = row.value + row.slope * (time_[t] - row.first);
    }
  }
}

// Turns portions by cells of the level above into portions by cells of this level; flows that lose
// most by waiting come first.
void MinCostFlow::refine(std::size_t coarse_stride, std::size_t stride) {
  const std::size_t ratio = coarse_stride / stride;
  fine_portions_.clear();
  std::size_t begin = 0;
  for (std::size_t above = 0; begin < portions_.size(); ++above) {
    std::size_t end = begin;
    while (end < portions_.size() && portions_[end].cell == above) ++end;
    const std::size_t first = above * ratio, stop = std::min(first + ratio, cells_);
    key_.resize(end - begin);
    by_key_.resize(end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      const Index j = portions_[k].flow;
      key_[k - begin] = cost(j, stop - 1) - cost(j, first);
      by_key_[k - begin] = static_cast<Index>(k - begin);
    }
    std::sort(by_key_.begin(), by_key_.end(),
              [&](Index a, Index b) { return key_[a] != key_[b] ? key_[a] > key_[b] : a < b; });
    // The last portion and the last cell take what rounding leaves. Each portion leaves at least
    // one, perhaps of size 0, because a flow must be in some cell.
    std::size_t t = first;
    double room = demand_[t];
    for (std::size_t k = 0; k < by_key_.size(); ++k) {
      const Portion& portion = portions_[begin + by_key_[k]];
      const bool last = k + 1 == by_key_.size();
      const std::size_t before = fine_portions_.size();
      double left = portion.amount;
      while (t + 1 < stop && (last || left >= room)) {
        fine_portions_.push_back({portion.flow, static_cast<Index>(t), room});
        left -= room;
        room = demand_[++t];
      }
      if (last) left = std::max(room, 0.0);
      if (last || left > 0.0 || fine_portions_.size() == before) {
        fine_portions_.push_back({portion.flow, static_cast<Index>(t), left});
        room -= left;
      }
    }
    begin = end;
  }
  portions_.swap(fine_portions_);
}

// The portions of the present tree, by cell.
void MinCostFlow::collect() {
  fine_portions_.clear();
  for (const Index j : order_) {
    const Index v = node_of_[j];
    if (v == kNone) {
      fine_portions_.push_back({j, home_[j], volume_[j]});
      continue;
    }
    if (nodes_[v].parent != kNone) {
      fine_portions_.push_back({j, nodes_[v].parent, nodes_[v].flow});
    }
    for (Index c = nodes_[v].child; c != kNone; c = nodes_[c].next) {
      fine_portions_.push_back({j, c, nodes_[c].flow});
    }
  }
  first_.assign(cells_ + 2, 0);
  for (const Portion& portion : fine_portions_) ++first_[portion.cell + 2];
  for (std::size_t t = 0; t < cells_; ++t) first_[t + 2] += first_[t + 1];
  portions_.resize(fine_portions_.size());
  for (const Portion& portion : fine_portions_) portions_[first_[portion.cell + 1]++] = portion;
  assign_carried();
}

// Moves the work on arcs t + 1 -> t (carried_) to the cells that keep it: each takes the work that
// came last, so that there is no cycle.
void MinCostFlow::assign_carried() {
  carried_.assign(cells_, 0.0);
  bool any = false;
  for (Index v = 0; v < cells_; ++v) {
    const Index parent = nodes_[v].parent;
    if (parent == kNone || !is_cell(parent)) continue;
    carried_[std::max(v, parent)] = nodes_[v].flow;
    any = true;
  }
  if (!any) return;
  fine_portions_.clear();
  waiting_.clear();
  for (std::size_t t = cells_; t-- > 0;) {
    waiting_.insert(waiting_.end(), portions_.begin() + static_cast<std::ptrdiff_t>(first_[t]),
                    portions_.begin() + static_cast<std::ptrdiff_t>(first_[t + 1]));
    double need = carried_[t] > 0.0 ? demand_[t] : kInfinity;
    while (!waiting_.empty() && need > 0.0) {
      Portion& last = waiting_.back();
      const double amount = std::min(last.amount, need);
      fine_portions_.push_back({last.flow, static_cast<Index>(t), amount});
      need -= amount;
      last.amount -= amount;
      if (!(last.amount > 0.0)) waiting_.pop_back();
    }
  }
  std::reverse(fine_portions_.begin(), fine_portions_.end());
  portions_.swap(fine_portions_);
}

}  // namespace malleable
