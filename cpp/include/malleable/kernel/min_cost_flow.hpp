// The minimum-cost flow of FlowFlex (section 4.2, figures 6 and 7), exact, with its duals.
//
// Flows j hand V_j units of work to cells of time t; a unit in cell t costs c_jt, which never falls
// with t, and cell t takes at most `room[t]` units. So work never moves to an earlier cell for
// nothing: what is left is a transport problem, whose cells are all full but the last one that is
// needed.
//
// Shortest augmenting paths with prices: flows come one after the other, those first that lose most
// by waiting. Each takes the way that costs least to a cell with room, on which flows that are
// there already move on to other cells (Dijkstra's algorithm over the cells). For each two cells a
// heap knows the flow that moves from one to the other for least. A path costs O(cells^2) at most,
// and a flow that comes to a cell O(cells log flows); mostly there is about one path for each flow.
//
// Certificate: prices p_t >= 0 that never rise and a_j = min_t (c_jt + p_t). For all prices
// sum V_j a_j - sum room_t p_t is a lower bound; at the end it is the value, up to rounding (which
// is taken off the bound).
//
// Edmonds and Karp 1972; Ahuja, Magnanti and Orlin 1993 (section 9.7).
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
  // One more of the last flow, or another one in place of its last; `at`: at the cell's own time.
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
  // `volume` per flow, at least 0; `time` never falls and `room` is positive, per cell. There must
  // be room for all. Once it is `late`, which is asked before each path, what is left takes the
  // first room there is: that is a flow, too, and the prices still give a bound. Afterwards the
  // answers below stand. Allocates nothing once warm.
  void solve(std::span<const double> volume, std::span<const double> time,
             std::span<const double> room, const CellCosts& costs,
             const std::function<bool()>* late = nullptr);

  double value() const { return value_; }      // of the assignment
  double bound() const { return bound_; }      // of the duals; no flow can cost less
  bool complete() const { return complete_; }  // false: it was late
  // The assignment: amount[k] units of flow[k] in cell[k], by flow, cells rising.
  struct Assignment {
    std::vector<Index> flow, cell;
    std::vector<double> amount;
  };
  const Assignment& assignment() const { return assignment_; }
  // Of the cells that are needed.
  std::span<const double> price() const { return price_; }
  std::span<const double> potential() const { return potential_; }

 private:
  struct Part {  // of a flow
    Index cell;
    double amount;
  };
  struct Move {  // of a unit to another cell
    double rise;
    Index flow;
    bool operator<(const Move& other) const {  // heaps have their greatest first
      return rise != other.rise ? rise > other.rise : flow > other.flow;
    }
  };

  void open();
  void set_row(Index j);
  double* part(Index j, Index cell);
  void put(Index j, Index cell, double amount);
  void take(Index j, Index cell, double amount);
  void look_at(Index cell);
  Index find_path();
  double push(Index j, Index end, double most);
  void read_out();

  const CellCosts* costs_ = nullptr;
  std::span<const double> volume_, time_, given_;  // room that is given
  std::size_t cells_ = 0;
  std::vector<Index> order_;
  std::vector<std::vector<Part>> parts_;  // by flow
  std::vector<double> room_, row_;        // left; what a unit of one flow costs
  std::vector<std::vector<Move>> moves_;  // by cell and the other cell
  std::vector<double> rise_;              // the least of these,
  std::vector<std::uint8_t> stale_;       // if no flow has left this cell since
  std::vector<double> distance_;
  std::vector<Index> before_;  // the cell from which a flow moves
  std::vector<std::uint8_t> settled_;
  std::vector<double> price_, potential_;
  Assignment assignment_;
  double value_ = 0.0, bound_ = 0.0;
  bool complete_ = true;
};

}  // namespace malleable
