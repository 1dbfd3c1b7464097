#include "malleable/kernel/min_cost_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

constexpr Index kNone = ~Index{0};
constexpr double kNegative = 1e-12;  // a reduced cost below this share of its terms is negative

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

}  // namespace

double MinCostFlow::cost(std::size_t j, std::size_t t) const {
  std::size_t r = costs_->offset[j + 1] - 1;
  while (costs_->from[r] > t) --r;
  return costs_->value[r] + costs_->slope[r] * (time_[t] - time_[costs_->from[r]]);
}

// What a flow would lose if it were served in these cells: the growth of its cost there, or for
// flows whose cost jumps all that it has paid by then.
double MinCostFlow::urgency(std::size_t j, std::size_t early, std::size_t late) const {
  std::size_t r = costs_->offset[j + 1] - 1;
  const bool jumps = costs_->slope[r] == 0.0;
  while (costs_->from[r] > late) --r;
  return jumps ? cost(j, late) - cost(j, 0)
               : costs_->slope[r] * (time_[late] - time_[early] + time_[late] * 1e-9);
}

// Which cells are needed, and what each of them takes.
void MinCostFlow::trim(std::span<const double> volume, std::span<const double> room) {
  double left = 0.0;
  for (const double v : volume) left += v;
  demand_.clear();
  for (std::size_t t = 0; t < room.size() && left > 0.0; ++t) {
    // What rounding leaves does not open a cell of its own.
    const bool last = room[t] >= left * (1.0 - 1e-12) || t + 1 == room.size();
    demand_.push_back(last ? left : room[t]);
    left = last ? 0.0 : left - room[t];
  }
  cells_ = demand_.size();
}

// Backwards in time, a stretch of cells at a time: whoever pays least there is served last.
void MinCostFlow::first_order(std::span<const double> volume) {
  order_.clear();
  for (Index j = 0; j < flows_; ++j) {
    if (volume[j] > 0.0) order_.push_back(j);
  }
  key_.resize(flows_);
  double total = 0.0;
  for (const double v : demand_) total += v;
  const std::size_t stretches = std::clamp<std::size_t>(order_.size() / 8, 1, 24);
  std::size_t left = order_.size();
  double before = total;  // work of the cells up to t
  std::size_t t = cells_;
  for (std::size_t s = stretches; s-- > 0 && left > 0;) {
    const double goal = total * static_cast<double>(s) / static_cast<double>(stretches);
    const std::size_t late = t - 1;
    double filled = 0.0;
    while (t > 0 && before > goal) {
      before -= demand_[--t];
      filled += demand_[t];
    }
    if (t == 0) break;
    for (std::size_t k = 0; k < left; ++k) key_[order_[k]] = urgency(order_[k], t, late);
    const auto later = [&](Index a, Index b) {
      return key_[a] != key_[b] ? key_[a] > key_[b] : a < b;
    };
    std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(left), later);
    while (left > 0 && filled > 0.0) filled -= volume[order_[--left]];
  }
  for (std::size_t k = 0; k < left; ++k) key_[order_[k]] = urgency(order_[k], 0, cells_ - 1);
  std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(left),
            [&](Index a, Index b) { return key_[a] != key_[b] ? key_[a] > key_[b] : a < b; });
}

// An arc from v to its parent, rather than from the parent to v.
bool MinCostFlow::upward(Index v) const {
  return v >= cells_ || (nodes_[v].parent < cells_ && v > nodes_[v].parent);
}

void MinCostFlow::attach(Index v, Index parent) {
  Node& node = nodes_[v];
  Node& above = nodes_[parent];
  node.parent = parent;
  node.previous = kNone;
  node.next = above.child;
  if (above.child != kNone) nodes_[above.child].previous = v;
  above.child = v;
}

void MinCostFlow::detach(Index v) {
  const Node& node = nodes_[v];
  if (node.previous != kNone) {
    nodes_[node.previous].next = node.next;
  } else {
    nodes_[node.parent].child = node.next;
  }
  if (node.next != kNone) nodes_[node.next].previous = node.previous;
}

// Flows in order fill cells in order. A flow hangs below the cell of its last unit, its other cells
// hang below it; one that ends with a cell hangs below the next cell, without flow.
void MinCostFlow::first_tree() {
  nodes_.assign(cells_ + flows_, {kNone, kNone, kNone, kNone, 0, 0.0});
  Index t = 0;
  double room = demand_[0];
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const Index j = order_[k], v = static_cast<Index>(cells_) + j;
    double left = volume_[j];
    while (t + 1 < cells_ && left >= room) {
      attach(t, v);
      nodes_[t].flow = room;
      left -= room;
      room = demand_[++t];
    }
    attach(v, t);
    nodes_[v].flow = left;
    room -= left;
  }
  // Rounding may leave a last cell nobody came to.
  while (t + 1 < cells_) {
    attach(t, t + 1);
    ++t;
  }
}

void MinCostFlow::prices_from_tree() {
  const auto root = static_cast<Index>(cells_ - 1);
  node_price_[root] = 0.0;
  nodes_[root].depth = 0;
  stack_.assign(1, root);
  while (!stack_.empty()) {
    const Index v = stack_.back();
    stack_.pop_back();
    for (Index c = nodes_[v].child; c != kNone; c = nodes_[c].next) {
      nodes_[c].depth = nodes_[v].depth + 1;
      if (c >= cells_) {
        node_price_[c] = node_price_[v] + cost(c - cells_, v);
      } else if (v >= cells_) {
        node_price_[c] = node_price_[v] - cost(v - cells_, c);
      } else {
        node_price_[c] = node_price_[v];
      }
      stack_.push_back(c);
    }
  }
}

void MinCostFlow::pivot(Index tail, Index head, double reduced) {
  ++pivots_;
  // Work leaves along tail -> head and comes back through the tree. Of the arcs that lose flow
  // first, the last one on the way round from the join leaves: that keeps the tree strongly
  // feasible.
  Index p = tail, q = head, leaving = kNone;
  double most = kInfinity;
  bool tail_side = true;
  const auto from_tail = [&] {
    if (upward(p) && nodes_[p].flow < most) {
      most = nodes_[p].flow;
      leaving = p;
      tail_side = true;
    }
    p = nodes_[p].parent;
  };
  const auto from_head = [&] {
    if (!upward(q) && nodes_[q].flow <= most) {
      most = nodes_[q].flow;
      leaving = q;
      tail_side = false;
    }
    q = nodes_[q].parent;
  };
  // Both sides rise to the join. An arc of the head's side wins ties: it comes later on the way.
  Index a = tail, b = head;
  while (a != b) {
    if (nodes_[a].depth >= nodes_[b].depth) {
      a = nodes_[a].parent;
    } else {
      b = nodes_[b].parent;
    }
  }
  const Index join = a;
  while (p != join) from_tail();
  while (q != join) from_head();
  assert(leaving != kNone);
  most = std::max(most, 0.0);
  for (Index v = tail; v != join; v = nodes_[v].parent) {
    nodes_[v].flow += upward(v) ? -most : most;
  }
  for (Index v = head; v != join; v = nodes_[v].parent) {
    nodes_[v].flow += upward(v) ? most : -most;
  }
  // The subtree that hangs on the leaving arc turns over and hangs on the entering one.
  Index v = tail_side ? tail : head, parent = tail_side ? head : tail;
  const Index top = v;
  double carried = most;
  for (;;) {
    const Index above = nodes_[v].parent;
    const double flow = nodes_[v].flow;
    detach(v);
    attach(v, parent);
    nodes_[v].flow = carried;
    carried = flow;
    if (v == leaving) break;
    parent = v;
    v = above;
  }
  const double shift = tail_side ? reduced : -reduced;
  stack_.assign(1, top);
  while (!stack_.empty()) {
    const Index node = stack_.back();
    stack_.pop_back();
    nodes_[node].depth = nodes_[nodes_[node].parent].depth + 1;
    node_price_[node] += shift;
    for (Index c = nodes_[node].child; c != kNone; c = nodes_[c].next) stack_.push_back(c);
  }
}

// The least reduced cost among a flow's arcs, and where.
double MinCostFlow::best_arc(std::size_t j, Index& cell) const {
  const double own = node_price_[cells_ + j];
  double best = kInfinity;
  for (std::size_t r = costs_->offset[j]; r < costs_->offset[j + 1]; ++r) {
    const std::size_t from = costs_->from[r];
    if (from >= cells_) break;
    const std::size_t end =
        r + 1 < costs_->offset[j + 1] ? std::min<std::size_t>(costs_->from[r + 1], cells_) : cells_;
    const double value = costs_->value[r], slope = costs_->slope[r];
    if (end <= from) continue;
    if (slope == 0.0) {
      const double reduced = value + node_price_[end - 1] - own;
      if (reduced < best) {
        best = reduced;
        cell = static_cast<Index>(end - 1);
      }
      continue;
    }
    // By stretches, so that the place of the least need only be looked for in one of them.
    constexpr std::size_t kStretch = 128;
    const double first = time_[from];
    double least = kInfinity;
    std::size_t place = from;
    for (std::size_t t = from; t < end; t += kStretch) {
      const double found = least_sum(time_.data() + t, node_price_.data() + t, first, slope,
                                     std::min(kStretch, end - t));
      if (found < least) {
        least = found;
        place = t;
      }
    }
    if (value + least - own < best) {
      best = value + least - own;
      while (place + 1 < end && slope * (time_[place] - first) + node_price_[place] > least) {
        ++place;
      }
      cell = static_cast<Index>(place);
    }
  }
  return best;
}

// One round over all arcs; false when none has a negative reduced cost.
bool MinCostFlow::improve() {
  constexpr std::size_t kBlock = 64;
  bool any = false;
  const auto negative = [&](double reduced, Index tail, Index head) {
    return reduced < -kNegative * (std::fabs(node_price_[tail]) + std::fabs(node_price_[head]));
  };
  // Cells first: prices must not rise.
  for (std::size_t t = cells_ - 1; t-- > 0;) {
    const auto tail = static_cast<Index>(t + 1), head = static_cast<Index>(t);
    const double reduced = node_price_[head] - node_price_[tail];
    if (negative(reduced, tail, head)) {
      pivot(tail, head, reduced);
      any = true;
    }
  }
  for (std::size_t k = 0; k < order_.size(); k += kBlock) {
    candidates_.clear();
    const std::size_t end = std::min(order_.size(), k + kBlock);
    for (std::size_t i = k; i < end; ++i) {
      const auto tail = static_cast<Index>(cells_ + order_[i]);
      Index head = 0;
      const double reduced = best_arc(order_[i], head);
      if (negative(reduced, tail, head)) candidates_.push_back({reduced, tail, head});
    }
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.reduced != b.reduced ? a.reduced < b.reduced : a.tail < b.tail;
    });
    for (Candidate& candidate : candidates_) {
      // Prices have moved since: the flow's best arc may be another one now.
      const double reduced = best_arc(candidate.tail - cells_, candidate.head);
      if (!negative(reduced, candidate.tail, candidate.head)) continue;
      pivot(candidate.tail, candidate.head, reduced);
      any = true;
    }
  }
  return any;
}

// Amounts, value, duals. Work on an arc t + 1 -> t is carried back to the cell that takes it.
void MinCostFlow::read_out(std::span<const double> volume, std::span<const double> room) {
  if (placed_.size() < cells_) placed_.resize(cells_);
  for (std::size_t t = 0; t < cells_; ++t) placed_[t].clear();
  for (const Index j : order_) {
    const auto v = static_cast<Index>(cells_ + j);
    if (nodes_[v].flow > 0.0) placed_[nodes_[v].parent].push_back({j, nodes_[v].flow});
    for (Index c = nodes_[v].child; c != kNone; c = nodes_[c].next) {
      if (nodes_[c].flow > 0.0) placed_[c].push_back({j, nodes_[c].flow});
    }
  }
  // From behind: a cell keeps what it needs, the rest moves on to the cell before.
  waiting_.clear();
  triples_.clear();
  for (std::size_t t = cells_; t-- > 0;) {
    waiting_.insert(waiting_.end(), placed_[t].begin(), placed_[t].end());
    double need = t == 0 ? kInfinity : demand_[t];
    while (!waiting_.empty() && need > 0.0) {
      Portion& last = waiting_.back();
      const double amount = std::min(last.amount, need);
      triples_.push_back({last.flow, static_cast<Index>(t), amount});
      need -= amount;
      last.amount -= amount;
      if (!(last.amount > 0.0)) waiting_.pop_back();
    }
  }
  // By flow, cells rising: a counting sort of what stands by falling cells.
  first_.assign(flows_ + 1, 0);
  for (const Triple& x : triples_) ++first_[x.flow + 1];
  for (std::size_t j = 0; j < flows_; ++j) first_[j + 1] += first_[j];
  assignment_.flow.resize(triples_.size());
  assignment_.cell.resize(triples_.size());
  assignment_.amount.resize(triples_.size());
  for (std::size_t k = triples_.size(); k-- > 0;) {
    const std::size_t at = first_[triples_[k].flow]++;
    assignment_.flow[at] = triples_[k].flow;
    assignment_.cell[at] = triples_[k].cell;
    assignment_.amount[at] = triples_[k].amount;
  }
  value_ = 0.0;
  for (const Triple& x : triples_) value_ += x.amount * cost(x.flow, x.cell);
  double least = 0.0;
  for (std::size_t t = cells_; t-- > 0;) {
    least = std::max(least, node_price_[t]);
    node_price_[t] = least;
  }
  bound_ = 0.0;
  for (std::size_t j = 0; j < flows_; ++j) {
    Index cell = 0;
    node_price_[cells_ + j] = 0.0;
    node_price_[cells_ + j] = best_arc(j, cell);
    bound_ += volume[j] * node_price_[cells_ + j];
  }
  for (std::size_t t = 0; t < cells_; ++t) bound_ -= room[t] * node_price_[t];
}

void MinCostFlow::solve(std::span<const double> volume, std::span<const double> time,
                        std::span<const double> room, const CellCosts& costs) {
  costs_ = &costs;
  time_ = time;
  flows_ = volume.size();
  volume_.assign(volume.begin(), volume.end());
  pivots_ = 0;
  trim(volume, room);
  if (cells_ == 0) {  // nobody has work
    node_price_.assign(flows_, 0.0);
    assignment_ = {};
    value_ = bound_ = 0.0;
    return;
  }
  node_price_.assign(cells_ + flows_, 0.0);
  first_order(volume);
  first_tree();
  prices_from_tree();
  // Shifts of whole subtrees gather rounding: what looks optimal is looked at again with fresh
  // prices.
  // Rounding could make that go on for ever, so there is an end to it; the bound holds all the
  // same.
  most_pivots_ = 1000 + 200 * (cells_ + flows_);
  for (int fresh = 0; fresh < 20 && pivots_ < most_pivots_ && improve(); ++fresh) {
    while (pivots_ < most_pivots_ && improve()) {
    }
    prices_from_tree();
  }
  read_out(volume, room);
}

}  // namespace malleable
