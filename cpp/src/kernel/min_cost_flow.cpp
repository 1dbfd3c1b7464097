#include "malleable/kernel/min_cost_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

constexpr Index kNone = ~Index{0};
constexpr double kNegative = 1e-12;   // a reduced cost below this share of its terms is negative
constexpr std::size_t kTogether = 4;  // cells of a level that make one of the level above
constexpr std::size_t kDense = 64;    // cells up to which a level's costs are stored
constexpr int kHotRounds = 4;         // between two rounds over all flows
constexpr int kFresh = 20;            // times that prices are taken from the tree anew
constexpr std::size_t kBlock = 64;    // flows that are priced before their best arcs enter
constexpr std::size_t kStretch = 32;  // cells that share a least price

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

const MinCostFlow::Row& MinCostFlow::row_of(std::size_t j, std::size_t t) const {
  std::size_t r = costs_->offset[j + 1] - 1;
  while (rows_[r].from > t) --r;
  return rows_[r];
}

double MinCostFlow::cost(std::size_t j, std::size_t t) const { return row_of(j, t).at(time_[t]); }

// What a unit of the flow costs more in one cell than in another, without the rounding of what it
// costs in both: prices are sums of such differences and may be far smaller than costs.
double MinCostFlow::rise(std::size_t j, std::size_t from, std::size_t to) const {
  const Row &before = row_of(j, from), &after = row_of(j, to);
  if (&before == &after)
    return before.slope == 0.0 ? 0.0 : before.slope * (time_[to] - time_[from]);
  return after.at(time_[to]) - before.at(time_[from]);
}

// What a unit of the flow costs now: any arc of the tree says so.
Index MinCostFlow::home_of(Index j) const {
  if (node_of_[j] == kNone) return home_[j];
  const Node& node = nodes_[node_of_[j]];
  return node.parent != kNone ? node.parent : node.child;
}

// The one rule for arcs that enter, whoever asks: a reduced cost is negative if it is so by more
// than the rounding of the terms that it is the difference of. Of the tree and the prices alone.
MinCostFlow::Arc MinCostFlow::arc_to(Index j, Index cell) const {
  const Index home = home_of(j);
  const double reduced = rise(j, home, cell) + (price_[cell] - price_[home]);
  const double size = std::fabs(cost(j, cell)) + std::fabs(cost(j, home)) +
                      std::fabs(price_[cell]) + std::fabs(price_[home]);
  return {reduced, reduced < -kNegative * size};
}

// The same for the arc t + 1 -> t, which costs nothing.
MinCostFlow::Arc MinCostFlow::arc_back(Index t) const {
  const double reduced = price_[t] - price_[t + 1];
  return {reduced, reduced < -kNegative * (std::fabs(price_[t]) + std::fabs(price_[t + 1]))};
}

// The least price of each stretch of cells in which one has changed.
void MinCostFlow::refresh() {
  for (const Index s : stale_) {
    const std::size_t begin = s * kStretch;
    least_price_[s] = least_of(price_.data() + begin, std::min(kStretch, cells_ - begin));
    is_stale_[s] = 0;
  }
  stale_.clear();
}

// The cell with the least reduced cost among a flow's arcs, if that arc may enter; otherwise kNone.
// Costs never fall, so a stretch of cells whose first cost and least price say that nothing is to
// be had need not be looked at.
Index MinCostFlow::best_cell(std::size_t j) const {
  const Index home = home_of(static_cast<Index>(j));
  const double own = cost(j, home) + price_[home];
  double best = -kNegative * std::fabs(own);  // what is not below this enters by no rule
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

// Which cells are needed, and what each of them takes.
void MinCostFlow::trim(std::span<const double> room) {
  double left = 0.0;
  for (const double v : volume_) left += v;
  fine_demand_.clear();
  for (std::size_t t = 0; t < room.size() && left > 0.0; ++t) {
    // What rounding leaves does not open a cell of its own.
    const bool last = room[t] >= left * (1.0 - 1e-12) || t + 1 == room.size();
    fine_demand_.push_back(last ? left : room[t]);
    left = last ? 0.0 : left - room[t];
  }
  fine_cells_ = fine_demand_.size();
}

// Cells `stride` at a time, with the time of the one in their middle.
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
      std::size_t t = row.slope == 0.0 && end > row.from ? end - 1 : row.from;
      for (; t < end; ++t) stored[t] = row.value + row.slope * (time_[t] - row.first);
    }
  }
}

// From portions by cells of the level above to portions by cells of this one: those who lose most
// by waiting come first.
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
    // The last portion takes what rounding leaves; so does the last cell. Each leaves one, if of
    // nothing: rounding may have taken it all, and a flow must be somewhere.
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

// The portions of the present tree, by cell. What arcs t + 1 -> t carry goes to the cells that keep
// it: each takes what came last, so that no cycle arises.
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
  Node& node = nodes_[v];
  if (node.previous != kNone) {
    nodes_[node.previous].next = node.next;
  } else {
    nodes_[node.parent].child = node.next;
  }
  if (node.next != kNone) nodes_[node.next].previous = node.previous;
  node.parent = kNone;
}

// The tree of the portions, which have no cycle; arcs without flow connect what they leave apart,
// cells without a portion as well.
void MinCostFlow::build_tree() {
  const auto cells = static_cast<Index>(cells_);
  degree_.assign(flows_, 0);
  for (const Portion& portion : portions_) ++degree_[portion.flow];
  component_.resize(cells_);
  for (Index t = 0; t < cells; ++t) component_[t] = t;
  const auto last_of = [&](Index t) {  // the last cell of a component stands for it
    while (component_[t] != t) t = component_[t] = component_[component_[t]];
    return t;
  };
  node_of_.assign(flows_, kNone);
  home_.assign(flows_, kNone);
  for (const Portion& portion : portions_) {
    Index& before = home_[portion.flow];
    if (before != kNone) {
      const Index a = last_of(before), b = last_of(portion.cell);
      component_[std::min(a, b)] = std::max(a, b);
    }
    before = portion.cell;
  }
  // A cell that ends its component hands its last flow on to the next one: towards the root. Where
  // portions are far larger than a cell, rounding may leave none for it; then a flow beside it that
  // has not ended its own component hands nothing on, but takes in the cell.
  const std::size_t given = portions_.size();
  std::size_t k = 0;
  for (Index t = 0; t + 1 < cells; ++t) {
    while (k + 1 < given && portions_[k + 1].cell <= t) ++k;
    if (last_of(t) != t) continue;
    const Index j = portions_[k].flow, end = last_of(portions_[k].cell);
    component_[t] = last_of(end == t ? t + 1 : end);
    portions_.push_back({j, end == t ? t + 1 : t, 0.0});
    ++degree_[j];
  }
  flow_of_.clear();
  for (const Index j : order_) {
    if (degree_[j] < 2) continue;
    node_of_[j] = cells + static_cast<Index>(flow_of_.size());
    flow_of_.push_back(j);
  }
  // Room for the split flows that pivots may add: less than one a cell at any time, and one that
  // enters before another one leaves.
  nodes_.assign(2 * cells_ + 1, {kNone, kNone, kNone, kNone, 0, 0, 0.0, 0});
  spare_.clear();
  for (Index v = static_cast<Index>(nodes_.size()); v-- > cells + flow_of_.size();) {
    spare_.push_back(v);
  }
  flow_of_.resize(nodes_.size() - cells_);
  // Arcs by node, both ways.
  arc_offset_.assign(nodes_.size() + 1, 0);
  for (const Portion& portion : portions_) {
    const Index v = node_of_[portion.flow];
    if (v == kNone) continue;
    ++arc_offset_[v + 1];
    ++arc_offset_[portion.cell + 1];
  }
  for (std::size_t v = 0; v < nodes_.size(); ++v) arc_offset_[v + 1] += arc_offset_[v];
  arc_node_.resize(arc_offset_.back());
  arc_amount_.resize(arc_offset_.back());
  stack_.assign(arc_offset_.begin(), arc_offset_.end() - 1);
  for (const Portion& portion : portions_) {
    const Index v = node_of_[portion.flow], t = portion.cell;
    if (v == kNone) {
      nodes_[t].extra += 1;  // gathered here for a moment: nodes of the subtree
      continue;
    }
    arc_node_[stack_[v]] = t;
    arc_amount_[stack_[v]++] = portion.amount;
    arc_node_[stack_[t]] = v;
    arc_amount_[stack_[t]++] = portion.amount;
  }
  root_ = cells - 1;
  stack_.assign(1, root_);  // every node, parents first
  for (std::size_t at = 0; at < stack_.size(); ++at) {
    const Index v = stack_[at];
    Node& node = nodes_[v];
    node.size = v < cells ? 2 : 1;
    node.extra += 1;
    node.arcs = arc_offset_[v + 1] - arc_offset_[v];
    for (Index e = arc_offset_[v]; e < arc_offset_[v + 1]; ++e) {
      const Index other = arc_node_[e];
      if (other == node.parent) continue;
      assert(other != root_ && nodes_[other].parent == kNone);
      attach(other, v);
      nodes_[other].flow = arc_amount_[e];
      stack_.push_back(other);
    }
  }
  assert(stack_.size() + spare_.size() == nodes_.size());
  for (std::size_t at = stack_.size(); at-- > 1;) {
    const Index v = stack_[at];
    Node& node = nodes_[v];
    Node& above = nodes_[node.parent];
    above.size += node.size & ~Index{1};
    above.extra += node.extra;
    if (v < cells) node.extra = -node.extra;  // its arc leads away from the root
  }
}

// Prices from the last cell's on, which is 0 and near which they are small: sums along the tree
// that start elsewhere would round small prices by the size of large ones.
void MinCostFlow::prices_from_tree() {
  reached_.assign(nodes_.size(),
                  kNone);  // a flow: the cell that it was reached from; a cell: itself
  const auto reach = [&](Index v, Index from) {
    if (reached_[v] != kNone) return;
    if (!is_cell(v)) {
      reached_[v] = from;
    } else {
      const Index before = is_cell(from) ? from : reached_[from];
      price_[v] = price_[before];
      if (!is_cell(from)) price_[v] -= rise(flow_of_[from - cells_], before, v);
      reached_[v] = v;
    }
    stack_.push_back(v);
  };
  const auto last = static_cast<Index>(cells_ - 1);
  price_[last] = 0.0;
  reached_[last] = last;
  stack_.assign(1, last);
  while (!stack_.empty()) {
    const Index v = stack_.back();
    stack_.pop_back();
    if (nodes_[v].parent != kNone) reach(nodes_[v].parent, v);
    for (Index c = nodes_[v].child; c != kNone; c = nodes_[c].next) reach(c, v);
  }
  const std::size_t stretches = (cells_ + kStretch - 1) / kStretch;
  least_price_.resize(stretches);
  is_stale_.assign(stretches, 1);
  stale_.resize(stretches);
  for (Index s = 0; s < stretches; ++s) stale_[s] = s;
  refresh();
}

// Turns the tree of `top`, which holds `cells` cells, so that top hangs below `above`.
void MinCostFlow::turn(Index top, Index above, Index cells, double flow, std::int64_t extra) {
  Index v = top, parent = above, below = 0;
  for (;;) {
    Node& node = nodes_[v];
    const Index up = node.parent, own = node.size / 2;
    if (up != kNone) detach(v);
    node.size = 2 * (cells - below) + (is_cell(v) ? 0 : 1);
    std::swap(node.flow, flow);
    std::swap(node.extra, extra);
    attach(v, parent);
    if (up == kNone) return;
    below = own;
    parent = v;
    v = up;
  }
}

// A split flow with one arc left is no longer one.
void MinCostFlow::drop_leaf(Index v) {
  const Node& node = nodes_[v];
  const Index j = flow_of_[v - cells_];
  if (node.parent != kNone) {
    home_[j] = node.parent;
    detach(v);
  } else {
    home_[j] = root_ = node.child;
    nodes_[root_].parent = kNone;
  }
  node_of_[j] = kNone;
  spare_.push_back(v);
}

// An arc from v to its parent, rather than from the parent to v.
bool MinCostFlow::leads_up(Index v) const {
  return !is_cell(v) || (is_cell(nodes_[v].parent) && v > nodes_[v].parent);
}

// Work moves to `cell` from flow j, or from the cell behind it if there is no j.
void MinCostFlow::pivot(Index j, Index cell, double reduced) {
  ++pivots_;
  const bool whole = j != kNone && node_of_[j] == kNone;  // all of the flow is in one cell
  Index tail = j == kNone ? cell + 1 : whole ? home_[j] : node_of_[j];
  // It comes back through the tree. Arcs that lead against its way lose work; the first that is
  // empty leaves.
  double most = whole ? volume_[j] : kInfinity;
  std::int64_t most_extra = whole ? 1 : std::numeric_limits<std::int64_t>::max();
  Index leaving = kNone;
  bool tail_side = true;
  Index a = tail, b = cell;
  const auto loses = [&](Index v, bool side) {
    const Node& node = nodes_[v];
    if (node.flow > most || (node.flow == most && node.extra >= most_extra)) return;
    most = node.flow;
    most_extra = node.extra;
    leaving = v;
    tail_side = side;
  };
  while (a != b) {
    if (nodes_[a].size < nodes_[b].size) {
      if (leads_up(a)) loses(a, true);
      a = nodes_[a].parent;
    } else {
      if (!leads_up(b)) loses(b, false);
      b = nodes_[b].parent;
    }
  }
  const Index join = a;
  for (Index v = tail; v != join; v = nodes_[v].parent) {
    const bool loss = leads_up(v);
    nodes_[v].flow += loss ? -most : most;
    nodes_[v].extra += loss ? -most_extra : most_extra;
  }
  for (Index v = cell; v != join; v = nodes_[v].parent) {
    const bool loss = !leads_up(v);
    nodes_[v].flow += loss ? -most : most;
    nodes_[v].extra += loss ? -most_extra : most_extra;
  }
  if (leaving == kNone) {
    home_[j] = cell;
    return;
  }
  if (whole) {
    const Index v = spare_.back();
    spare_.pop_back();
    nodes_[v] = {kNone, kNone, kNone, kNone, 1, 1, volume_[j] - most, 1 - most_extra};
    attach(v, home_[j]);
    flow_of_[v - cells_] = j;
    node_of_[j] = tail = v;
  }
  ++nodes_[tail].arcs;
  const Index above = nodes_[leaving].parent;
  const Index lost = is_cell(leaving) ? above : leaving;  // the end that may be a flow
  const Index inside = tail_side ? tail : cell, outside = tail_side ? cell : tail;
  const Index below = nodes_[leaving].size / 2, all = static_cast<Index>(cells_);
  detach(leaving);
  Index top = inside;
  double shift = tail_side ? reduced : -reduced;
  if (2 * below <= all) {
    for (Index v = above; v != join; v = nodes_[v].parent) nodes_[v].size -= 2 * below;
    turn(inside, outside, below, most, most_extra);
    for (Index v = outside; v != join; v = nodes_[v].parent) nodes_[v].size += 2 * below;
  } else {
    for (Index v = above; v != kNone; v = nodes_[v].parent) nodes_[v].size -= 2 * below;
    turn(outside, inside, all - below, most, most_extra);
    for (Index v = inside; v != kNone; v = nodes_[v].parent) nodes_[v].size += 2 * (all - below);
    root_ = leaving;
    top = outside;
    shift = -shift;
  }
  // The prices of the side that moved.
  for (Index v = top;;) {
    if (is_cell(v)) {
      price_[v] += shift;
      const Index s = v / kStretch;
      if (is_stale_[s] == 0) stale_.push_back(s);
      is_stale_[s] = 1;
    }
    if (nodes_[v].child != kNone) {
      v = nodes_[v].child;
      continue;
    }
    while (v != top && nodes_[v].next == kNone) v = nodes_[v].parent;
    if (v == top) break;
    v = nodes_[v].next;
  }
  refresh();
  if (--nodes_[lost].arcs == 1 && !is_cell(lost)) drop_leaf(lost);
}

// Nothing more is to be tried on this level.
bool MinCostFlow::spent() const {
  return pivots_ >= last_pivot_ || rounds_ >= last_round_ || (late_ != nullptr && (*late_)());
}

// Prices must not rise: arcs t + 1 -> t that would make them fall enter. A round that finds one has
// made a pivot, and none follows one that finds none.
bool MinCostFlow::smooth() {
  bool any = false;
  while (rises(price_.data(), cells_) && !spent()) {
    bool found = false;
    ++rounds_;
    for (std::size_t t = cells_ - 1; t-- > 0 && pivots_ < last_pivot_;) {
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

// Until no arc may enter; false if none could to begin with. Rounds over all flows alternate with
// rounds over those only that had an arc in the round before.
//
// Why it ends. The candidates of a block are found by arc_to() and tested by it again before they
// pivot; before the first of them no price has moved, so it passes again. A round that leaves a
// flow hot has therefore made a pivot; one that leaves none is followed by a round over all flows
// or, if it was one, by the end. So there are at most 2 (pivots + 1) rounds, and kHotRounds more of
// them between two over all. Pivots end as long as sums are exact: each lowers the cost of the
// perturbed supplies, which is a number per tree, so no tree comes twice. Rounding may break that,
// and 2 (pivots + 1) rounds over many flows may be long: last_pivot_ and last_round_ bound both,
// and what stands then is a flow with prices like any other.
bool MinCostFlow::improve() {
  bool any = smooth(), all = true;
  hot_.assign(order_.begin(), order_.end());
  for (int since = 0; !spent();) {
    ++rounds_;
    next_hot_.clear();
    for (std::size_t block = 0; block < hot_.size(); block += kBlock) {
      candidates_.clear();
      for (std::size_t i = block; i < std::min(hot_.size(), block + kBlock); ++i) {
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
        if (pivots_ >= last_pivot_) break;
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
  // Each flow has what it has, to its own last digit: what rounding gave it beyond that, or took,
  // is of its last cells, where room is worth least.
  key_.assign(volume.begin(), volume.end());
  for (auto& [j, t, amount] : portions_) key_[j] -= amount = std::min(amount, key_[j]);
  for (std::size_t k = portions_.size(); k-- > 0;) {
    portions_[k].amount += std::exchange(key_[portions_[k].flow], 0.0);
  }
  // By flow, cells rising: a counting sort of what stands by cell.
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
  // Terms may cancel, and then rounding is not small beside what is left.
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
  if (fine_cells_ == 0) {  // nobody has work
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
  std::size_t above = kTogether;
  while (above < fine_cells_) above *= kTogether;
  // Shifts of prices gather rounding: what looks optimal is looked at again with fresh prices.
  while (above > 1) {
    const std::size_t stride = above / kTogether;
    set_level(time, stride);
    last_pivot_ = pivots_ + std::min(limits.pivots, most_pivots(cells_, flows_));
    last_round_ = rounds_ + std::min(limits.rounds, most_rounds(cells_));
    refine(above, stride);
    build_tree();
    prices_from_tree();
    bool open = true;
    for (int fresh = 0; open && fresh < (stride == 1 ? kFresh : 1); ++fresh) {
      open = improve();
      if (open) prices_from_tree();
    }
    if (stride > 1) collect();
    if (stride == 1) complete_ = !open && !spent();
    above = stride;
  }
  read_out(volume, room);
}

}  // namespace malleable
