// The tree of cells (of time) and split flows (with work in several cells), its prices, and the
// pivots that change both. A portion is work of a flow in a cell; a node's `extra` is the
// infinitesimal part of the flow on its arc, which keeps pivots from running in circles.
#include <cassert>
#include <limits>
#include <utility>

#include "malleable/kernel/min_cost_flow.hpp"

namespace malleable {

// Hangs node v below a parent; detach() takes it away again.
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

// Adds arcs without flow that connect the components that the portions leave, and cells without a
// portion.
void MinCostFlow::connect() {
  const auto cells = static_cast<Index>(cells_);
  degree_.assign(flows_, 0);
  for (const Portion& portion : portions_) ++degree_[portion.flow];
  component_.resize(cells_);
  for (Index t = 0; t < cells; ++t) component_[t] = t;
  const auto last_of = [&](Index t) {  // the last cell of a component stands for it
    while (component_[t] != t) t = component_[t] = component_[component_[t]];
    return t;
  };
  home_.assign(flows_, kNone);
  for (const Portion& portion : portions_) {
    Index& before = home_[portion.flow];
    if (before != kNone) {
      const Index a = last_of(before), b = last_of(portion.cell);
      component_[std::min(a, b)] = std::max(a, b);
    }
    before = portion.cell;
  }
  // A cell that ends its component passes its last flow on to the next one, towards the root. If
  // portions are far larger than a cell, rounding may leave none for it; then a neighbouring flow
  // that has not ended its own component takes in the cell instead.
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
}

// Makes a node for each split flow, and room for nodes that pivots may add: at any time less than
// one a cell, and one that enters before another leaves.
void MinCostFlow::make_nodes() {
  const auto cells = static_cast<Index>(cells_);
  node_of_.assign(flows_, kNone);
  flow_of_.clear();
  for (const Index j : order_) {
    if (degree_[j] < 2) continue;
    node_of_[j] = cells + static_cast<Index>(flow_of_.size());
    flow_of_.push_back(j);
  }
  nodes_.assign(2 * cells_ + 1, {kNone, kNone, kNone, kNone, 0, 0, 0.0, 0});
  spare_.clear();
  for (Index v = static_cast<Index>(nodes_.size()); v-- > cells + flow_of_.size();) {
    spare_.push_back(v);
  }
  flow_of_.resize(nodes_.size() - cells_);
}

// Lists arcs by node, both ways. Flows that are not split are counted at their cells.
void MinCostFlow::list_arcs() {
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
}

// Builds the tree of the portions, which have no cycle.
void MinCostFlow::build_tree() {
  connect();
  make_nodes();
  list_arcs();
  const auto cells = static_cast<Index>(cells_);
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

// Computes prices from the last cell on, whose price is 0. Near it prices are small, and sums along
// the tree that start elsewhere would round small prices by the size of large ones.
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

// Turns the subtree of `top`, which has `cells` cells, so that `top` hangs below `above`.
void MinCostFlow::hang_below(Index top, Index above, Index cells, double flow, std::int64_t extra) {
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

// Removes a split flow with only one arc left, because it is no longer split.
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

// Whether the arc leads from v to its parent, and not from the parent to v.
bool MinCostFlow::leads_up(Index v) const {
  return !is_cell(v) || (is_cell(nodes_[v].parent) && v > nodes_[v].parent);
}

// Work comes back from `cell` to `tail` through the tree. Arcs against this direction lose flow;
// the first that becomes empty leaves. `most` and `extra`: the work that the tail can give.
MinCostFlow::Cycle MinCostFlow::find_leaving(Index tail, Index cell, double most,
                                             std::int64_t extra) const {
  Cycle cycle{most, extra, kNone, kNone, true};
  const auto loses = [&](Index v, bool side) {
    const Node& node = nodes_[v];
    if (node.flow > cycle.most || (node.flow == cycle.most && node.extra >= cycle.extra)) return;
    cycle = {node.flow, node.extra, v, kNone, side};
  };
  while (tail != cell) {
    if (nodes_[tail].size < nodes_[cell].size) {
      if (leads_up(tail)) loses(tail, true);
      tail = nodes_[tail].parent;
    } else {
      if (!leads_up(cell)) loses(cell, false);
      cell = nodes_[cell].parent;
    }
  }
  cycle.join = tail;
  return cycle;
}

// Applies a cycle to the arcs from v up to where its sides meet. `up`: arcs that lead up lose.
void MinCostFlow::push(Index v, const Cycle& cycle, bool up) {
  for (; v != cycle.join; v = nodes_[v].parent) {
    const bool loss = leads_up(v) == up;
    nodes_[v].flow += loss ? -cycle.most : cycle.most;
    nodes_[v].extra += loss ? -cycle.extra : cycle.extra;
  }
}

// Changes the sizes of the nodes from v up to `end` by `more` (modulo 2^32).
void MinCostFlow::grow(Index v, Index end, Index more) {
  for (; v != end; v = nodes_[v].parent) nodes_[v].size += more;
}

// Adds `shift` to the prices of all cells of the subtree of `top`.
void MinCostFlow::shift_prices(Index top, double shift) {
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
}

// Moves work to `cell` from flow j, or from the cell behind it if there is no j.
void MinCostFlow::pivot(Index j, Index cell, double reduced) {
  ++pivots_;
  const bool whole = j != kNone && node_of_[j] == kNone;  // all of the flow is in one cell
  Index tail = j == kNone ? cell + 1 : whole ? home_[j] : node_of_[j];
  const Cycle cycle = find_leaving(tail, cell, whole ? volume_[j] : kInfinity,
                                   whole ? 1 : std::numeric_limits<std::int64_t>::max());
  push(tail, cycle, true);
  push(cell, cycle, false);
  const auto [most, most_extra, leaving, join, tail_side] = cycle;
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
    grow(above, join, Index{0} - 2 * below);
    hang_below(inside, outside, below, most, most_extra);
    grow(outside, join, 2 * below);
  } else {
    grow(above, kNone, Index{0} - 2 * below);
    hang_below(outside, inside, all - below, most, most_extra);
    grow(inside, kNone, 2 * (all - below));
    root_ = leaving;
    top = outside;
    shift = -shift;
  }
  shift_prices(top, shift);
  if (--nodes_[lost].arcs == 1 && !is_cell(lost)) drop_leaf(lost);
}

}  // namespace malleable
