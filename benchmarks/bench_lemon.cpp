// The min-cost flow against LEMON's network simplex, build and solve, in one process.
// Usage: bench_lemon [flows] [repeats]. Networks like cell_network() of benchmarks/instances:
// the same distributions, drawn by the standard library's generator. LEMON gets the network in two
// forms, and the quicker one counts: every arc from a flow to a cell (transport), or arcs t + 1 ->
// t and from each flow only those to cells behind which its cost rises (chain).
#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "malleable/kernel/min_cost_flow.hpp"

namespace {

using namespace malleable;

struct Network {
  std::vector<double> volume, time, room;
  CellCosts costs;
  double cost(std::size_t j, std::size_t t) const {
    std::size_t r = costs.offset[j + 1] - 1;
    while (costs.from[r] > t) --r;
    return costs.value[r] + costs.slope[r] * (time[t] - time[costs.from[r]]);
  }
};

enum class Metric { kCompletion, kTardiness, kSla };

Network draw(std::size_t flows, std::size_t cells, Metric metric) {
  std::mt19937_64 random(1);
  const auto whole = [&](int low, int high) {
    return static_cast<double>(std::uniform_int_distribution<int>(low, high)(random));
  };
  const auto uniform = [&](double high) {
    return std::uniform_real_distribution<double>(0.0, high)(random);
  };
  Network network;
  double total = 0.0;
  for (std::size_t j = 0; j < flows; ++j) {
    network.volume.push_back(whole(1, 99));
    total += network.volume.back();
  }
  const double step = std::ceil(total / 25.0 / static_cast<double>(cells));
  const double horizon = step * static_cast<double>(cells);
  for (std::size_t t = 0; t < cells; ++t) network.time.push_back(step * static_cast<double>(t));
  network.room.assign(cells, 25.0 * step);
  CellCosts& costs = network.costs;
  costs.clear();
  for (std::size_t j = 0; j < flows; ++j) {
    const auto row = [&](double at, double value, double slope) {
      const double cell = std::ceil(at / step);
      if (cell >= static_cast<double>(cells)) return;
      const auto from = static_cast<Index>(cell);
      if (costs.from.size() > costs.offset.back() && costs.from.back() == from) {
        costs.from.pop_back();
        costs.value.pop_back();
        costs.slope.pop_back();
      }
      costs.from.push_back(from);
      costs.value.push_back(value + slope * (network.time[from] - at));
      costs.slope.push_back(slope);
    };
    const double earliest = uniform(horizon / 5.0), unit = whole(1, 10) / network.volume[j];
    const double due = earliest + uniform(horizon / 2.0);
    if (metric == Metric::kCompletion) {
      row(0.0, unit * earliest, 0.0);
      row(earliest, unit * earliest, unit);
    } else if (metric == Metric::kTardiness) {
      row(0.0, 0.0, 0.0);
      row(due, 0.0, unit);
    } else {
      row(0.0, 0.0, 0.0);
      double at = earliest, paid = 0.0;
      for (int steps = static_cast<int>(whole(1, 5)); steps > 0; --steps) {
        at += uniform(horizon / 3.0);
        paid += unit;
        row(at, paid, 0.0);
      }
    }
    costs.offset.push_back(costs.from.size());
  }
  return network;
}

double best_ms(int repeats, const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < repeats; ++k) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                  .count());
  }
  return best;
}

// Value in the units of the network; LEMON counts in whole numbers.
double lemon_value(const Network& network, bool chain) {
  using Graph = lemon::StaticDigraph;
  constexpr double kScale = 1e4;
  const int flows = static_cast<int>(network.volume.size());
  const int cells = static_cast<int>(network.room.size());
  std::vector<std::pair<int, int>> arcs;
  std::vector<std::int64_t> price;
  for (int j = 0; j < flows; ++j) {
    double here = network.cost(static_cast<std::size_t>(j), 0);
    for (int t = 0; t < cells; ++t) {
      const bool last = t + 1 == cells;
      const double next =
          last ? 0.0 : network.cost(static_cast<std::size_t>(j), static_cast<std::size_t>(t) + 1);
      if (!chain || last || next > here) {
        arcs.emplace_back(j, flows + t);
        price.push_back(std::llround(here * kScale));
      }
      here = next;
    }
  }
  for (int t = 1; chain && t < cells; ++t) {
    arcs.emplace_back(flows + t, flows + t - 1);
    price.push_back(0);
  }
  // A static graph wants its arcs by source, which they are.
  Graph graph;
  graph.build(flows + cells, arcs.begin(), arcs.end());
  Graph::ArcMap<std::int64_t> cost(graph);
  for (int a = 0; a < static_cast<int>(price.size()); ++a) {
    cost[graph.arc(a)] = price[static_cast<std::size_t>(a)];
  }
  Graph::NodeMap<std::int64_t> supply(graph);
  for (int j = 0; j < flows; ++j) {
    supply[graph.node(j)] = std::llround(network.volume[static_cast<std::size_t>(j)]);
  }
  for (int t = 0; t < cells; ++t) {
    supply[graph.node(flows + t)] = -std::llround(network.room[static_cast<std::size_t>(t)]);
  }
  lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t> solver(graph);
  solver.costMap(cost).supplyMap(supply);
  solver.supplyType(decltype(solver)::GEQ);  // cells need not be full
  if (solver.run() != decltype(solver)::OPTIMAL) std::abort();
  return static_cast<double>(solver.totalCost()) / kScale;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t flows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 3;
  const char* const names[] = {"completion", "tardiness", "sla"};
  for (const std::size_t cells : {std::size_t{256}, std::size_t{1024}}) {
    for (const Metric metric : {Metric::kCompletion, Metric::kTardiness, Metric::kSla}) {
      const Network network = draw(flows, cells, metric);
      MinCostFlow solver;
      const double ours = best_ms(10 * repeats, [&] {
        solver.solve(network.volume, network.time, network.room, network.costs);
      });
      double value = 0.0, best = std::numeric_limits<double>::infinity();
      const char* form = "";
      for (const bool chain : {false, true}) {
        const double time = best_ms(repeats, [&] { value = lemon_value(network, chain); });
        if (time < best) {
          best = time;
          form = chain ? "chain" : "transport";
        }
      }
      double work = 0.0;
      for (const double v : network.volume) work += v;
      const bool same = std::fabs(value - solver.value()) <= work / 1e4;
      std::printf("%zu flows x %4zu cells, %-10s: %7.2f ms, LEMON (%s) %8.2f ms, %5.1f x, %s\n",
                  flows, cells, names[static_cast<int>(metric)], ours, form, best, best / ours,
                  same ? "same value" : "VALUES DIFFER");
      if (!same) return 1;
    }
  }
  return 0;
}
