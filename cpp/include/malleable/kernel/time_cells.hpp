// The time-indexed network of FlowFlex (Nagarajan et al. 2013, section 4.2), in which flows hand
// their work to cells (spans) of time (min_cost_flow.hpp), on a grid that follows the costs.
//
// Cells end at even steps and wherever some flow's cost bends or jumps (perhaps between whole
// numbers), as far as the work reaches. A cell's room is the most work that the flows could do in
// it, given when their jobs can start; at most its length times the slots. A unit of flow j in a
// cell costs w_j(max(time, earliest completion)) / V_j, where w_j is its penalty, V_j its work, and
// the time is the cell's left end for a bound (all work in a cell is done after its left end) and
// the right end for deadlines that can be kept (as in figure 6). O((flows + cells) log cells) and
// the rows written; flows x cells for a caller's own penalties.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/flow_bound.hpp"
#include "malleable/kernel/min_cost_flow.hpp"

namespace malleable {

struct TimeCells {
  std::vector<double> left, right, room;  // from now

  // `all`: one row, the most work that all flows together can have done by each time. At most
  // about `steps` even cells, and as many again for break points.
  void build(const FlowProblem& problem, const Penalties& penalties, const WorkProfiles& all,
             std::span<const double> earliest, std::size_t steps);

  // Work in a cell counts as done at its left end (for bounds) or at its right end.
  enum class Charge : std::uint8_t { kLeft, kRight };
  void charge(const FlowProblem& problem, const Penalties& penalties,
              std::span<const double> earliest, Charge where, CellCosts& costs) const;

  std::span<const double> times(Charge where) const {
    return where == Charge::kLeft ? left : right;
  }

 private:
  std::vector<double> cuts_;  // workspace: times at which cells end
};

// The time by which `share` of each flow's work is done in an assignment, but at least the flow's
// earliest completion. Cells count with their right ends. Flows without work: 0.
void rounded_deadlines(const FlowProblem& problem, const TimeCells& cells,
                       const MinCostFlow::Assignment& assignment, std::span<const double> earliest,
                       double share, std::span<double> due);

}  // namespace malleable
