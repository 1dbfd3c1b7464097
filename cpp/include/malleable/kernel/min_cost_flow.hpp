// The minimum-cost flow of FlowFlex (section 4.2, figures 6 and 7), exact, with its duals.
//
// Flows j hand V_j units of work to cells of time t; a unit in cell t costs c_jt, which never falls
// with t, and cell t takes at most `room[t]` units. Work may always move to an earlier cell. What
// makes this network easier than others:
//   - costs never fall, so every cell but the last one that is needed is full: demands are known
//     and no arc needs a capacity;
//   - c_jt is piecewise linear in time[t]. In a piece of constant cost only the last cell needs an
//     arc, because arcs t + 1 -> t at no cost stand for all earlier ones. So a step function of k
//     steps has k + 1 arcs instead of one per cell, and arcs are never stored at all.
//
// Network simplex on a spanning tree of flows and cells. It starts from an order in which, from the
// last cell backwards, the flows that lose least there are served last; then a flow whose cheapest
// arc has a negative reduced cost enters, block of flows by block of flows. Trees stay strongly
// feasible (arcs without flow point to the root), so it ends. A pivot costs its cycle and the
// subtree that moves; pricing a flow costs its arcs, vectorised.
//
// Certificate: prices p_t >= 0 that never rise and a_j = min_t (c_jt + p_t). For all prices
// sum V_j a_j - sum room_t p_t is a lower bound; at the end it is the value, up to rounding.
//
// Cunningham 1976; Ahuja, Magnanti and Orlin 1993 (chapter 11).
#pragma once

#include <cstdint>
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
  std::size_t flows() const { return offset.size() - 1; }
};

class MinCostFlow {
 public:
  // `volume` per flow, at least 0; `time` never falls and `room` is positive, per cell. There must
  // be room for all. Afterwards the answers below stand. Allocates nothing once warm.
  void solve(std::span<const double> volume, std::span<const double> time,
             std::span<const double> room, const CellCosts& costs);

  double value() const { return value_; }  // of the assignment
  double bound() const { return bound_; }  // of the duals; no flow can cost less
  std::uint64_t pivots() const { return pivots_; }
  // The assignment: amount[k] units of flow[k] in cell[k], by flow, cells rising.
  struct Assignment {
    std::vector<Index> flow, cell;
    std::vector<double> amount;
  };
  const Assignment& assignment() const { return assignment_; }
  std::span<const double> price() const { return {node_price_.data(), cells_}; }
  std::span<const double> potential() const { return {node_price_.data() + cells_, flows_}; }

 private:
  struct Node {
    Index parent, child, next, previous;  // tree; siblings are a list
    Index depth;
    double flow;  // on the arc to the parent
  };
  double cost(std::size_t j, std::size_t t) const;
  double urgency(std::size_t j, std::size_t early, std::size_t late) const;
  void trim(std::span<const double> volume, std::span<const double> room);
  void first_order(std::span<const double> volume);
  void first_tree();
  bool upward(Index v) const;
  void attach(Index v, Index parent);
  void detach(Index v);
  void pivot(Index tail, Index head, double reduced);
  double best_arc(std::size_t j, Index& cell) const;
  void prices_from_tree();
  bool improve();
  void read_out(std::span<const double> volume, std::span<const double> room);

  const CellCosts* costs_ = nullptr;
  std::span<const double> time_;
  std::size_t cells_ = 0, flows_ = 0;
  std::vector<double> demand_, volume_;
  std::vector<Node> nodes_;         // cells, then flows
  std::vector<double> node_price_;  // p_t, then a_j
  std::vector<Index> order_, stack_;
  std::vector<double> key_;
  struct Candidate {
    double reduced;
    Index tail, head;
  };
  std::vector<Candidate> candidates_;
  struct Portion {
    Index flow;
    double amount;
  };
  std::vector<std::vector<Portion>> placed_;  // by cell
  std::vector<Portion> waiting_;
  struct Triple {
    Index flow, cell;
    double amount;
  };
  std::vector<Triple> triples_;
  std::vector<std::size_t> first_;
  Assignment assignment_;
  double value_ = 0.0, bound_ = 0.0;
  std::uint64_t pivots_ = 0, most_pivots_ = 0;
};

}  // namespace malleable
