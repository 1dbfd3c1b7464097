#include "malleable/kernel/time_cells.hpp"

#include <algorithm>

#include "malleable/model/tolerance.hpp"

namespace malleable {

// Cuts time into cells at flows' earliest ends, where penalties bend, and at even steps; `room` is
// the work that all slots can do in a cell.
void TimeCells::build(const FlowProblem& problem, const Penalties& penalties,
                      const WorkProfiles& all, std::span<const double> earliest,
                      std::size_t steps) {
  left.clear();
  right.clear();
  room.clear();
  if (all.time.empty()) return;
  const double end = all.time.back();
  std::vector<double>& cuts = cuts_;
  cuts.clear();
  const auto cut = [&](double t) {
    if (t > 0.0 && t < end) cuts.push_back(t);
  };
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    if (problem.volume[j] == 0.0) continue;
    cut(earliest[j]);
    const auto at = penalties.at();
    for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
      cut(at[r] + tolerance(at[r]) - problem.now);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.size() > steps) {
    for (std::size_t k = 0; k < steps; ++k) cuts[k] = cuts[(k + 1) * cuts.size() / steps - 1];
    cuts.resize(steps);
  }
  for (std::size_t k = 1; k < steps; ++k) {
    cut(end * static_cast<double>(k) / static_cast<double>(steps));
  }
  cuts.push_back(end);
  std::sort(cuts.begin(), cuts.end());
  double from = 0.0, before = 0.0;
  for (const double to : cuts) {
    // Times in which no work can be done, or that are too short, need no cell.
    const double by = all.at(0, to);
    if (!(by - before > kRounding * by) || !(to > from)) continue;
    left.push_back(from);
    right.push_back(to);
    room.push_back(by - before);
    from = to;
    before = by;
  }
}

// The cost of a unit of each flow's work in each cell: its penalty at the left or right end of the
// cell, over its volume.
void TimeCells::charge(const FlowProblem& problem, const Penalties& penalties,
                       std::span<const double> earliest, Charge where, CellCosts& costs) const {
  costs.clear();
  const std::size_t cells = left.size();
  const bool at_left = where == Charge::kLeft;
  const std::vector<double>& time = at_left ? left : right;
  const double now = problem.now;
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    const double volume = problem.volume[j] > 0.0 ? problem.volume[j] : 1.0;
    const auto row = [&](std::size_t cell, double value, double slope) {
      if (cell < cells) costs.row(static_cast<Index>(cell), value / volume, slope / volume);
    };
    // The first cell from a time on: work in it is done after that time, and earlier work before
    // it.
    const auto cell_of = [&](double t) {
      const auto at = at_left ? std::lower_bound(time.begin(), time.end(), t)
                              : std::upper_bound(time.begin(), time.end(), t);
      return static_cast<std::size_t>(at - time.begin());
    };
    row(0, penalties(j, now + earliest[j]), 0.0);
    const std::size_t alone = cell_of(earliest[j]);
    if (penalties.is_custom(j)) {
      for (std::size_t t = alone; t < cells; ++t) row(t, penalties(j, now + time[t]), 0.0);
      costs.offset.push_back(costs.from.size());
      continue;
    }
    const std::size_t first = penalties.offset()[j], end = penalties.offset()[j + 1];
    for (std::size_t r = first; r < end; ++r) {
      const double at = penalties.at()[r], slope = penalties.slope()[r];
      const double from = r == first ? -kInfinity : at + tolerance(at) - now;
      const double until =
          r + 1 < end ? penalties.at()[r + 1] + tolerance(penalties.at()[r + 1]) - now : kInfinity;
      if (until <= earliest[j]) continue;
      const std::size_t cell = std::max(alone, from == -kInfinity ? 0 : cell_of(from));
      if (cell < cells) row(cell, penalties.value()[r] + slope * (now + time[cell] - at), slope);
    }
    costs.offset.push_back(costs.from.size());
  }
}

// Due times: the end of the cell in which the given share of a flow's work is done.
void rounded_deadlines(const FlowProblem& problem, const TimeCells& cells,
                       const MinCostFlow::Assignment& assignment, std::span<const double> earliest,
                       double share, std::span<double> due) {
  std::fill(due.begin(), due.end(), 0.0);
  std::size_t k = 0;
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    const double wanted = share * problem.volume[j] * (1.0 - kUnseen);
    double done = 0.0;
    bool reached = false;
    for (; k < assignment.flow.size() && assignment.flow[k] == j; ++k) {
      done += assignment.amount[k];
      if (!reached && done >= wanted) {
        due[j] = std::max(earliest[j], cells.right[assignment.cell[k]]);
        reached = true;
      }
    }
  }
}

}  // namespace malleable
