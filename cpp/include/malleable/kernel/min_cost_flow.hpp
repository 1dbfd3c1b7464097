// The minimum-cost flow of FlowFlex (Nagarajan et al. 2013, section 4.2, figures 6 and 7), exact,
// with its duals.
//
// Flows j hand V_j units of work to cells of time t; a unit in cell t costs c_jt, which never falls
// with t, and cell t takes at most `room[t]` units. Work may always move to an earlier cell. This
// network is easier than others:
//   - costs never fall, so every cell but the last one that is needed is full: demands are known,
//     no arc needs a capacity, and work on arcs t + 1 -> t can always go to cell t directly. A
//     transport problem remains. Only the search uses these arcs, so that prices never rise
//     (smooth());
//   - c_jt is piecewise linear in time[t], so arcs are never stored: pricing a flow is one pass
//     over the cells' times and prices in vector registers;
//   - at most cells - 1 flows are split between cells. All others hang below one cell and are not
//     in the tree, which has only cells and split flows.
//
// Network simplex, primal. Supplies are perturbed symbolically (each flow has, and each cell but
// the last needs, an infinitesimal more than it says), so no pivot is degenerate and it ends. A
// pivot walks its cycle and shifts the prices on the smaller side of the tree; prices are relative,
// so it does not matter which. A flow that only moves to another cell touches no price at all.
//
// The start comes from the same problem on cells taken together by four, solved before in the same
// way: the work in a coarse cell fills its fine cells, first the flows that lose most by waiting.
// So most pivots happen on small problems, where they are cheap. About O(flows cells) for pricing
// in a few passes, and the pivots. Each of the log4(cells) levels ends after at most most_pivots()
// pivots and most_rounds() rounds over the flows; the flow is valid then, too, and its prices still
// give a bound.
//
// Certificate: prices p_t >= 0 that never rise and a_j = min_t (c_jt + p_t). For all prices
// sum V_j a_j - sum room_t p_t is a lower bound; at the end it is the value, up to rounding (which
// is taken off the bound).
//
// Cunningham 1976; Ahuja, Magnanti and Orlin 1993 (chapter 11).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

// Costs of one unit: row r of flow j says value[r] + slope[r] (time[t] - time[from[r]]) for the
// cells t from from[r] up to the next row's; slope >= 0, and nothing falls from one row to the
// next. A flow's first row begins at cell 0.
struct CellCosts {
  std::vector<std::size_t> offset;  // flows + 1
  std::vector<Index> from;
  std::vector<double> value, slope;

  void clear() {
    offset.assign(1, 0);
    from.clear();
    value.clear();
    slope.clear();
  }
  // Adds a row to the last flow, or replaces its last row if that begins at the same cell. `at`:
  // the cost at the cell's own time.
  void row(Index cell, double at, double rise) {
    if (from.size() == offset.back() || from.back() != cell) {
      from.push_back(cell);
      value.resize(from.size());
      slope.resize(from.size());
    }
    value.back() = at;
    slope.back() = rise;
  }
  std::size_t flows() const { return offset.size() - 1; }
};

class MinCostFlow {
 public:
  // Limits per level, far above what any measured instance needed.
  static std::uint64_t most_rounds(std::size_t cells) { return 1000 + 20 * cells; }
  static std::uint64_t most_pivots(std::size_t cells, std::size_t flows) {
    return 1000 + 200 * (cells + flows);
  }
  // Lower limits, on request: of pivots, of rounds, or of time.
  struct Limits {
    std::uint64_t pivots = ~std::uint64_t{0}, rounds = ~std::uint64_t{0};
    const std::function<bool()>* late = nullptr;  // asked before every round
  };

  // `volume` per flow, at least 0; `time` never falls and `room` is positive, per cell. There must
  // be room for all. The answers below are valid afterwards. Allocates nothing once warm.
  void solve(std::span<const double> volume, std::span<const double> time,
             std::span<const double> room, const CellCosts& costs, const Limits& limits);
  void solve(std::span<const double> volume, std::span<const double> time,
             std::span<const double> room, const CellCosts& costs) {
    solve(volume, time, room, costs, Limits{});
  }

  double value() const { return value_; }  // of the assignment
  double bound() const { return bound_; }  // of the duals; no flow can cost less
  std::uint64_t pivots() const { return pivots_; }
  std::uint64_t rounds() const { return rounds_; }
  bool complete() const { return complete_; }  // optimal; false: a limit was reached
  // The assignment: amount[k] units of flow[k] in cell[k], by flow, cells rising.
  struct Assignment {
    std::vector<Index> flow, cell;
    std::vector<double> amount;
  };
  const Assignment& assignment() const { return assignment_; }
  std::span<const double> price() const {
    return {price_.data(), fine_cells_};
  }  // prices of the cells that are needed
  // The a_j of the certificate, by flow.
  std::span<const double> potential() const { return potential_; }

 private:
  // A stretch is this many cells, for which one least price is kept.
  static constexpr std::size_t kStretch = 32;

  // Nodes: the cells of the level, then split flows. An arc belongs to the node below it.
  struct Node {
    Index parent, child, next, previous;  // next, previous: the list of siblings
    Index size;          // twice the cells of the subtree, plus one if this is a flow
    Index arcs;          // of a split flow
    double flow;         // on the arc to the parent,
    std::int64_t extra;  // and its infinitesimals, beside `flow`
  };
  struct Portion {  // work of a flow in a cell
    Index flow, cell;
    double amount;
  };
  // a cost row of the level: its first cell, and the time at which a unit costs `value`
  struct Row {
    Index from;
    double value, slope, first;
    double at(double time) const { return value + slope * (time - first); }
  };
  struct Cycle {  // what a pivot moves, its infinitesimals, and the arc that leaves
    double most;
    std::int64_t extra;
    Index leaving, join;  // join: the node where both sides meet
    bool tail_side;       // the leaving arc is on the side of the tail
  };
  struct Candidate {
    double reduced;
    Index flow, cell;
  };

  bool is_cell(Index v) const { return v < cells_; }
  const Row& row_of(std::size_t j, std::size_t t) const {
    std::size_t r = costs_->offset[j + 1] - 1;
    while (rows_[r].from > t) --r;
    return rows_[r];
  }
  double cost(std::size_t j, std::size_t t) const { return row_of(j, t).at(time_[t]); }
  // The extra cost of a unit of the flow in one cell over another. It is computed without the
  // rounding of the two costs, because prices are sums of such differences and may be far smaller
  // than costs.
  double rise(std::size_t j, std::size_t from, std::size_t to) const {
    const Row &before = row_of(j, from), &after = row_of(j, to);
    if (&before != &after) return after.at(time_[to]) - before.at(time_[from]);
    return before.slope == 0.0 ? 0.0 : before.slope * (time_[to] - time_[from]);
  }
  Index home_of(Index j) const;  // a cell that has work of the flow
  // The cell with the flow's least reduced cost, if that arc may enter; otherwise kNone.
  Index best_cell(std::size_t j) const;
  struct Arc {
    double reduced;  // cost of a unit more on the arc, at the present prices
    bool enters;     // negative by more than rounding, so that a pivot may take it in
  };
  Arc arc_to(Index j, Index cell) const;
  Arc arc_back(Index t) const;  // the arc t + 1 -> t, which costs nothing
  bool limits_reached() const;  // the limits are reached
  void refresh();               // the least price of each stretch with a changed price

  // A level is the problem on cells taken together: min_cost_flow_levels.cpp.
  // trim: finds the cells that are needed and what each takes; set_rows: the level's cost rows.
  void trim(std::span<const double> room);
  void set_rows();
  void set_level(std::span<const double> time, std::size_t stride);
  // Turns portions by cells of the level above into portions by cells of this level.
  void refine(std::size_t coarse_stride, std::size_t stride);
  // Lists the portions of the tree by cell; assign_carried() then moves the work on arcs t + 1 -> t
  // to the cells that keep it.
  void collect();
  void assign_carried();
  // The tree: min_cost_flow_tree.cpp.
  void connect();  // adds arcs without flow, until all cells and portions are one tree
  void make_nodes();
  void list_arcs();
  void build_tree();
  void prices_from_tree();
  // Pivots until no arc may enter; false if none could at first.
  bool improve();
  // Lets arcs t + 1 -> t enter where prices rise with time; true if it made a pivot.
  bool smooth();

  void attach(Index v, Index parent);  // hangs node v below a parent
  void detach(Index v);
  bool leads_up(Index v) const;
  // The cycle of an arc that enters from `tail` to `cell`: its first arc that becomes empty leaves.
  Cycle find_leaving(Index tail, Index cell, double most, std::int64_t extra) const;
  // Applies a cycle to the arcs from v up to where its sides meet; `up`: arcs that lead up lose.
  void push(Index v, const Cycle& cycle, bool up);
  // Changes the sizes of the nodes from v up to `end`.
  void grow(Index v, Index end, Index more);
  void shift_prices(Index top, double shift);
  void pivot(Index j, Index cell, double reduced);
  // Turns the subtree of `top`, which has so many cells, so that `top` hangs below `above`.
  void hang_below(Index top, Index above, Index cells, double flow, std::int64_t extra);
  void drop_leaf(Index v);  // a flow that is no longer split
  void read_out(std::span<const double> volume, std::span<const double> room);

  const CellCosts* costs_ = nullptr;
  // The caller's cells are fine; a level joins `stride_` of them, whose time is the middle one's.
  std::span<const double> fine_time_;
  std::size_t fine_cells_ = 0, cells_ = 0, flows_ = 0, stride_ = 1, middle_ = 0;
  std::vector<double> volume_, fine_demand_;
  std::vector<double> time_, demand_, price_;  // of the level
  std::vector<Row> rows_;
  std::vector<double> dense_;        // flow x cell -> cost, for small levels only
  std::size_t dense_stride_ = 0;     // cells of a row of dense_; 0: none
  std::vector<double> least_price_;  // least price of each kStretch cells
  std::vector<Index> stale_;         // stretches whose prices have changed
  std::vector<std::uint8_t> is_stale_;
  std::vector<Index> order_;  // flows that have work
  std::vector<Node> nodes_;
  std::vector<Index> node_of_, home_;  // flow -> its node if it is split, else its cell
  std::vector<Index> flow_of_;         // node - cells -> flow
  std::vector<Index> spare_;           // nodes that are free
  Index root_ = 0;
  // By cell; waiting_: portions of a coarse cell that have no finer cell yet.
  std::vector<Portion> portions_, fine_portions_, waiting_;
  std::vector<double> carried_;  // by cell: work on the arc to the cell before
  std::vector<std::size_t> first_;
  std::vector<Index> component_, degree_, stack_, reached_, arc_offset_, arc_node_;
  // key_: what a portion loses by waiting in its coarse cell; by_key_: portions, largest loss
  // first.
  std::vector<double> arc_amount_, key_;
  std::vector<Index> by_key_;
  std::vector<Index> hot_, next_hot_;  // flows to be priced now, and in the next round
  std::vector<Candidate> candidates_;
  Assignment assignment_;
  std::vector<double> potential_;
  double value_ = 0.0, bound_ = 0.0;  // cost of the flow, and a lower bound of any
  std::uint64_t pivots_ = 0, rounds_ = 0;
  std::uint64_t most_pivots_ = 0, most_rounds_ = 0;  // at which the level ends
  const std::function<bool()>* late_ = nullptr;
  bool complete_ = true;  // the optimum was found
};

}  // namespace malleable
