// The minimum-cost flow with its duals, over costs and volumes of all sizes.
#include "malleable/kernel/min_cost_flow.hpp"
#include "target.hpp"

namespace malleable::fuzz {
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

Network read_network(Bytes& bytes) {
  Network network;
  network.costs.clear();
  const std::size_t cells = 1 + bytes.index(bytes.chance(32) ? 90 : 16);
  const std::size_t flows = 1 + bytes.index(12);
  double at = 0.0, work = 0.0, space = 0.0;
  for (std::size_t t = 0; t < cells; ++t) {
    network.time.push_back(at);
    at += bytes.amount({1e-9, 1e9});
    network.room.push_back(std::fmax(1e-12, bytes.amount({1e-12, 1e15})));
    space += network.room.back();
  }
  for (std::size_t j = 0; j < flows; ++j) {
    network.volume.push_back(bytes.amount(kWork));
    work += network.volume.back();
    double level = bytes.amount(kWeight);
    for (std::size_t from = 0; from < cells;) {
      const double slope = bytes.amount(kWeight);
      network.costs.from.push_back(static_cast<Index>(from));
      network.costs.value.push_back(level);
      network.costs.slope.push_back(slope);
      const std::size_t next = from + 1 + bytes.index(cells);
      if (next < cells) level += slope * (network.time[next] - network.time[from]);
      if (bytes.chance(100)) level += bytes.amount(kWeight);
      from = next;
    }
    network.costs.offset.push_back(network.costs.from.size());
  }
  if (work > space) network.room.back() += 1.000001 * (work - space);
  return network;
}

}  // namespace

void fuzz(Bytes bytes) {
  const Network network = read_network(bytes);
  MinCostFlow solver;
  solver.solve(network.volume, network.time, network.room, network.costs);
  const auto& found = solver.assignment();
  std::vector<double> done(network.volume.size(), 0.0), used(network.room.size(), 0.0);
  double value = 0.0, work = 0.0;
  for (std::size_t k = 0; k < found.flow.size(); ++k) {
    const Index j = found.flow[k], t = found.cell[k];
    CHECK(j < done.size() && t < used.size());
    CHECK(found.amount[k] > 0.0);
    done[j] += found.amount[k];
    used[t] += found.amount[k];
    value += found.amount[k] * network.cost(j, t);
  }
  for (const double volume : network.volume) work += volume;
  for (std::size_t j = 0; j < done.size(); ++j) {
    CHECK_NEAR(done[j], network.volume[j], 1e-9 * network.volume[j]);
  }
  for (std::size_t t = 0; t < used.size(); ++t)
    CHECK_AT_MOST(used[t], network.room[t], 1e-9 * work);

  // The duals are what they say, to the last flow and cell: then the bound is one.
  const std::size_t priced = solver.price().size();
  double dual = 0.0, margin = 0.0;
  for (std::size_t j = 0; j < done.size(); ++j) {
    double least = kInfinity;
    for (std::size_t t = 0; t < network.room.size(); ++t) {
      least = std::min(least, network.cost(j, t) + (t < priced ? solver.price()[t] : 0.0));
    }
    CHECK_AT_MOST(solver.potential()[j], least, 1e-9 * std::fabs(least));
    dual += network.volume[j] * least;
    margin += network.volume[j] * std::fabs(least);
  }
  for (std::size_t t = 0; t < priced; ++t) {
    dual -= network.room[t] * solver.price()[t];
    margin += network.room[t] * solver.price()[t];
    CHECK(solver.price()[t] >= 0.0);
    if (t > 0) CHECK(solver.price()[t] <= solver.price()[t - 1]);
  }
  CHECK(std::isfinite(solver.value()) && !std::isnan(solver.bound()));
  CHECK_NEAR(solver.value(), value, 1e-9 * std::fabs(value));
  CHECK_AT_MOST(solver.bound(), dual, 1e-9 * margin);
  CHECK_AT_MOST(solver.bound(), solver.value(), 0.0);
  CHECK_NEAR(solver.value(), dual, 1e-9 * (margin + std::fabs(value)));
}

}  // namespace malleable::fuzz
