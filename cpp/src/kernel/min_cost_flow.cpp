#include "malleable/kernel/min_cost_flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "malleable/model/tolerance.hpp"

namespace malleable {

// The cells that are needed. Nothing is in them, and the last one has room for what rounding
// leaves.
void MinCostFlow::open() {
  double left = 0.0;
  for (const double v : volume_) left += v;
  room_.clear();
  for (std::size_t t = 0; t < given_.size() && left > 0.0; ++t) {
    const bool last = given_[t] >= left * (1.0 - kRounding) || t + 1 == given_.size();
    room_.push_back(last ? kInfinity : given_[t]);
    left = last ? 0.0 : left - given_[t];
  }
  cells_ = room_.size();
  parts_.resize(std::max(parts_.size(), volume_.size()));
  for (auto& parts : parts_) parts.clear();
  moves_.resize(std::max(moves_.size(), cells_ * cells_));
  for (auto& moves : moves_) moves.clear();
  rise_.assign(cells_ * cells_, kInfinity);
  stale_.assign(cells_, 0);
  price_.assign(cells_, 0.0);
  row_.resize(cells_);
  distance_.resize(cells_);
  before_.resize(cells_);
  settled_.resize(cells_);
}

// What a unit of the flow costs, by cell.
void MinCostFlow::set_row(Index j) {
  const std::size_t stop = costs_->offset[j + 1];
  for (std::size_t r = costs_->offset[j]; r < stop; ++r) {
    const std::size_t from = costs_->from[r];
    const std::size_t end = r + 1 < stop ? costs_->from[r + 1] : cells_;
    for (std::size_t t = from; t < std::min(end, cells_); ++t) {
      row_[t] = costs_->value[r] + costs_->slope[r] * (time_[t] - time_[from]);
    }
  }
}

// What the cell has of the flow; null if it has nothing.
double* MinCostFlow::part(Index j, Index cell) {
  for (Part& own : parts_[j]) {
    if (own.cell == cell) return &own.amount;
  }
  return nullptr;
}

// It may move from there to any other cell.
void MinCostFlow::put(Index j, Index cell, double amount) {
  if (double* own = part(j, cell)) {
    *own += amount;
    return;
  }
  parts_[j].push_back({cell, amount});
  set_row(j);
  for (Index t = 0; t < cells_; ++t) {
    const std::size_t at = cell * cells_ + t;
    moves_[at].push_back({row_[t] - row_[cell], j});
    std::push_heap(moves_[at].begin(), moves_[at].end());
    rise_[at] = std::min(rise_[at], row_[t] - row_[cell]);
  }
}

void MinCostFlow::take(Index j, Index cell, double amount) {
  double* own = part(j, cell);
  *own -= amount;
  if (*own > kRounding * volume_[j]) return;  // of the flow's last digits nothing is moved
  std::erase_if(parts_[j], [&](const Part& part) { return part.cell == cell; });
  stale_[cell] = 1;
}

// The flows that move from there for least, once those are gone that are there no more.
void MinCostFlow::look_at(Index cell) {
  if (stale_[cell] == 0) return;
  stale_[cell] = 0;
  for (Index t = 0; t < cells_; ++t) {
    const std::size_t at = cell * cells_ + t;
    auto& moves = moves_[at];
    while (!moves.empty() && part(moves.front().flow, cell) == nullptr) {
      std::pop_heap(moves.begin(), moves.end());
      moves.pop_back();
    }
    rise_[at] = moves.empty() ? kInfinity : moves.front().rise;
  }
}

// From the flow of `row_` to a cell with room; prices become such that the path costs nothing more.
Index MinCostFlow::find_path() {
  Index end = 0;
  for (Index t = 0; t < cells_; ++t) {
    if (row_[t] + price_[t] < row_[end] + price_[end]) end = t;
  }
  const Index home = end;
  for (Index t = 0; t < cells_; ++t) {
    distance_[t] = row_[t] - row_[home] + (price_[t] - price_[home]);
    before_[t] = kNone;
    settled_[t] = 0;
  }
  const auto nearer = [&](Index a, Index b) {
    return distance_[a] != distance_[b] ? distance_[a] < distance_[b]
                                        : room_[a] > 0.0 && !(room_[b] > 0.0);
  };
  for (;;) {
    end = kNone;
    for (Index t = 0; t < cells_; ++t) {
      if (settled_[t] == 0 && (end == kNone || nearer(t, end))) end = t;
    }
    if (room_[end] > 0.0) break;
    settled_[end] = 1;
    look_at(end);
    const double* rise = rise_.data() + end * cells_;
    for (Index t = 0; t < cells_; ++t) {
      const double way = distance_[end] + std::max(0.0, rise[t] + (price_[t] - price_[end]));
      // What is shorter by rounding alone is a way round that would be taken again and again.
      const double rounding = kRounding * (std::fabs(row_[t]) + price_[t]);
      if (settled_[t] != 0 || !(way < distance_[t] - rounding)) continue;
      distance_[t] = way;
      before_[t] = end;
    }
  }
  for (Index t = 0; t < cells_; ++t) {
    if (settled_[t] != 0) price_[t] += distance_[end] - distance_[t];
  }
  return end;
}

// Moves as much as the path takes, at most so much of the flow.
double MinCostFlow::push(Index j, Index end, double most) {
  const auto mover = [&](Index t) { return moves_[before_[t] * cells_ + t].front().flow; };
  double amount = std::min(most, room_[end]);
  for (Index t = end; before_[t] != kNone; t = before_[t]) {
    amount = std::min(amount, *part(mover(t), before_[t]));
  }
  room_[end] = room_[end] - amount > kRounding * given_[end] ? room_[end] - amount : 0.0;
  Index t = end;
  for (; before_[t] != kNone; t = before_[t]) {
    const Index other = mover(t);
    take(other, before_[t], amount);
    put(other, t, amount);
  }
  put(j, t, amount);
  return amount;
}

// Amounts, value, duals.
void MinCostFlow::read_out() {
  assignment_.flow.clear();
  assignment_.cell.clear();
  assignment_.amount.clear();
  double least = 0.0;
  for (std::size_t t = cells_; t-- > 0;) price_[t] = least = std::max(least, price_[t]);
  // Terms may cancel, and then rounding is not small beside what is left.
  double size = 0.0;
  value_ = bound_ = 0.0;
  potential_.assign(volume_.size(), 0.0);
  for (Index j = 0; j < volume_.size() && cells_ > 0; ++j) {
    set_row(j);
    auto& parts = parts_[j];
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.cell < b.cell; });
    // Each flow has what it has, to its own last digit: what rounding gave it beyond that, or took,
    // is of its last cells, where room is worth least.
    double left = volume_[j];
    for (Part& own : parts) left -= own.amount = std::min(own.amount, left);
    if (!parts.empty()) parts.back().amount += left;
    for (const Part& own : parts) {
      if (!(own.amount > 0.0)) continue;
      assignment_.flow.push_back(j);
      assignment_.cell.push_back(own.cell);
      assignment_.amount.push_back(own.amount);
      value_ += own.amount * row_[own.cell];
    }
    potential_[j] = kInfinity;
    for (std::size_t t = 0; t < cells_; ++t) {
      potential_[j] = std::min(potential_[j], row_[t] + price_[t]);
    }
    bound_ += volume_[j] * potential_[j];
    size += volume_[j] * (std::fabs(potential_[j]) + std::fabs(row_[0]));
  }
  for (std::size_t t = 0; t < cells_; ++t) {
    bound_ -= given_[t] * price_[t];
    size += given_[t] * price_[t];
  }
  const double terms = static_cast<double>(volume_.size() + cells_);
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  bound_ = std::min(bound_ - kEpsilon * (4.0 + terms / 2.0) * size, value_);
}

void MinCostFlow::solve(std::span<const double> volume, std::span<const double> time,
                        std::span<const double> room, const CellCosts& costs,
                        const std::function<bool()>* late) {
  costs_ = &costs;
  volume_ = volume;
  time_ = time;
  complete_ = true;
  given_ = room;
  open();
  order_.clear();
  potential_.assign(volume.size(), 0.0);  // what waiting for one more cell loses at most
  for (Index j = 0; j < volume.size(); ++j) {
    if (!(volume[j] > 0.0)) continue;
    order_.push_back(j);
    set_row(j);
    for (std::size_t t = 1; t < cells_; ++t) {
      potential_[j] = std::max(potential_[j], row_[t] - row_[t - 1]);
    }
  }
  std::sort(order_.begin(), order_.end(), [&](Index a, Index b) {
    return potential_[a] != potential_[b] ? potential_[a] > potential_[b] : a < b;
  });
  for (const Index j : order_) {
    for (double left = volume[j]; left > kRounding * volume[j];) {
      complete_ = complete_ && !(late != nullptr && (*late)());
      Index end = 0;
      if (complete_) {
        set_row(j);
        end = find_path();
      } else {
        while (!(room_[end] > 0.0)) ++end;
        before_[end] = kNone;
      }
      left -= push(j, end, left);
    }
  }
  read_out();
}

}  // namespace malleable
