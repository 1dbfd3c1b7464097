#include "check.hpp"
#include "malleable/kernel/min_cost_flow.hpp"

namespace malleable::check {
namespace {

struct Network {
  std::vector<double> volume, time, room;
  CellCosts costs;
  double cost(std::size_t j, std::size_t t) const {
    std::size_t r = costs.offset[j];
    while (r + 1 < costs.offset[j + 1] && costs.from[r + 1] <= t) ++r;
    return costs.value[r] + costs.slope[r] * (time[t] - time[costs.from[r]]);
  }
};

Network random_network(Random& random, std::int64_t most_flows, std::int64_t most_cells) {
  Network network;
  network.costs.clear();
  const auto flows = static_cast<std::size_t>(integer(random, 1, most_flows));
  const auto cells = static_cast<std::size_t>(integer(random, 1, most_cells));
  const bool whole = chance(random, 0.5);
  double at = 0.0, work = 0.0, space = 0.0;
  for (std::size_t t = 0; t < cells; ++t) {
    network.time.push_back(at);
    at += real(random, 0.1, 2.0);
    network.room.push_back(whole ? static_cast<double>(integer(random, 1, 5))
                                 : real(random, 0.5, 4.0));
    space += network.room.back();
  }
  for (std::size_t j = 0; j < flows; ++j) {
    network.volume.push_back(whole ? static_cast<double>(integer(random, 0, 4))
                                   : real(random, 0.0, 3.0));
    work += network.volume.back();
    double level = real(random, 0.0, 2.0);
    for (std::size_t from = 0; from < cells;) {
      const double slope = chance(random, 0.4) ? 0.0 : real(random, 0.0, 2.0);
      network.costs.from.push_back(static_cast<Index>(from));
      network.costs.value.push_back(level);
      network.costs.slope.push_back(slope);
      const std::size_t next = from + static_cast<std::size_t>(integer(random, 1, most_cells));
      if (next < cells) level += slope * (network.time[next] - network.time[from]);
      level += chance(random, 0.5) ? 0.0 : real(random, 0.0, 2.0);
      from = next;
    }
    network.costs.offset.push_back(network.costs.from.size());
  }
  if (work > space) network.room.back() += work - space;
  return network;
}

TEST(flows_duals_and_slackness) {
  MinCostFlow solver;
  trials(1, 1500, [&](Random& random) {
    // Mostly small ones; some with several levels of cells, and more cells than flows.
    const bool large = chance(random, 0.05);
    const Network network = random_network(random, large ? 60 : 14, large ? 150 : 20);
    solver.solve(network.volume, network.time, network.room, network.costs);
    const auto& found = solver.assignment();
    std::vector<double> done(network.volume.size(), 0.0), used(network.room.size(), 0.0);
    double value = 0.0, slack = 0.0, largest = 0.0;
    for (std::size_t k = 0; k < found.flow.size(); ++k) {
      const Index j = found.flow[k], t = found.cell[k];
      CHECK(found.amount[k] > 0.0);
      done[j] += found.amount[k];
      used[t] += found.amount[k];
      value += found.amount[k] * network.cost(j, t);
      slack += found.amount[k] * (network.cost(j, t) + solver.price()[t] - solver.potential()[j]);
    }
    for (std::size_t j = 0; j < done.size(); ++j) {
      CHECK_NEAR(done[j], network.volume[j], 1e-9);
      largest = std::max(largest, network.cost(j, network.room.size() - 1));
    }
    for (std::size_t t = 0; t < used.size(); ++t) CHECK_AT_MOST(used[t], network.room[t], 1e-9);
    double dual = 0.0;
    for (std::size_t j = 0; j < done.size(); ++j) {
      dual += network.volume[j] * solver.potential()[j];
      for (std::size_t t = 0; t < network.room.size(); ++t) {
        const double price = t < solver.price().size() ? solver.price()[t] : 0.0;
        CHECK_AT_MOST(solver.potential()[j], network.cost(j, t) + price, 1e-9 * (1.0 + largest));
      }
    }
    for (std::size_t t = 0; t < solver.price().size(); ++t) {
      dual -= network.room[t] * solver.price()[t];
      CHECK(solver.price()[t] >= 0.0);
      if (t > 0) CHECK(solver.price()[t] <= solver.price()[t - 1]);
    }
    const double margin = 1e-9 * (1.0 + value);
    CHECK_NEAR(value, solver.value(), margin);
    CHECK_NEAR(dual, solver.bound(), margin);
    CHECK_NEAR(value, dual, margin);  // a flow that costs what the duals say is optimal
    CHECK_NEAR(slack, 0.0, margin);
  });
}

TEST(smith_without_earliest_times) {
  // Linear costs from 0 on: the optimum serves by w / V, and its cost is that of the sorted fill.
  Network network;
  network.costs.clear();
  for (int t = 0; t < 6; ++t) {
    network.time.push_back(t);
    network.room.push_back(2.0);
  }
  const double slopes[] = {1.0, 3.0, 2.0};
  for (const double slope : slopes) {
    network.volume.push_back(4.0);
    network.costs.from.push_back(0);
    network.costs.value.push_back(0.0);
    network.costs.slope.push_back(slope);
    network.costs.offset.push_back(network.costs.from.size());
  }
  MinCostFlow solver;
  solver.solve(network.volume, network.time, network.room, network.costs);
  CHECK_NEAR(solver.value(), 3.0 * 2 * (0 + 1) + 2.0 * 2 * (2 + 3) + 1.0 * 2 * (4 + 5), 1e-12);
  CHECK_NEAR(solver.bound(), solver.value(), 1e-12);
}

}  // namespace
}  // namespace malleable::check
