// The minimum-cost flow of work into cells of time, and its lower bound.
#include <cstdlib>
#include <functional>

#include "check.hpp"
#include "malleable/kernel/min_cost_flow.hpp"

namespace malleable::check {
namespace test_min_cost_flow {

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

// A flow that is valid, duals that are feasible, a bound that is one. Returns value less bound, as
// a share of what the terms of both add up to.
double check_solution(const Network& network, const MinCostFlow& solver) {
  const auto& found = solver.assignment();
  std::vector<double> done(network.volume.size(), 0.0), used(network.room.size(), 0.0);
  double value = 0.0, slack = 0.0, space = 0.0;
  for (std::size_t k = 0; k < found.flow.size(); ++k) {
    const Index j = found.flow[k], t = found.cell[k];
    CHECK(found.amount[k] > 0.0);
    done[j] += found.amount[k];
    used[t] += found.amount[k];
    value += found.amount[k] * network.cost(j, t);
    slack += found.amount[k] * (network.cost(j, t) + solver.price()[t] - solver.potential()[j]);
  }
  for (const double room : network.room) space += room;
  for (std::size_t j = 0; j < done.size(); ++j) {
    CHECK_NEAR(done[j], network.volume[j], 1e-9 * network.volume[j]);
  }
  for (std::size_t t = 0; t < used.size(); ++t) {
    CHECK_AT_MOST(used[t], network.room[t], 1e-9 * network.room[t] + 1e-12 * space);
  }
  double dual = 0.0, size = 0.0;
  for (std::size_t j = 0; j < done.size(); ++j) {
    dual += network.volume[j] * solver.potential()[j];
    size += network.volume[j] * std::fabs(solver.potential()[j]);
    for (std::size_t t = 0; t < network.room.size(); ++t) {
      const double price = t < solver.price().size() ? solver.price()[t] : 0.0;
      const double cost = network.cost(j, t);
      CHECK_AT_MOST(solver.potential()[j], cost + price, 1e-14 * (std::fabs(cost) + price));
    }
  }
  for (std::size_t t = 0; t < solver.price().size(); ++t) {
    dual -= network.room[t] * solver.price()[t];
    size += network.room[t] * solver.price()[t];
    CHECK(solver.price()[t] >= 0.0);
    if (t > 0) CHECK(solver.price()[t] <= solver.price()[t - 1]);
  }
  CHECK_NEAR(value, solver.value(), 1e-12 * (size + std::fabs(value)));
  CHECK_NEAR(std::min(dual, value), solver.bound(), 1e-12 * size);
  CHECK(solver.bound() <= solver.value());
  if (solver.complete()) CHECK_NEAR(slack, 0.0, 1e-9 * size);
  return size > 0.0 ? (solver.value() - solver.bound()) / size : 0.0;
}

TEST(flows_duals_and_slackness) {
  MinCostFlow solver;
  trials(1, 1500, [&](Random& random) {
    // Mostly small ones; some with several levels of cells, and more cells than flows.
    const bool large = chance(random, 0.05);
    const Network network = random_network(random, large ? 60 : 14, large ? 150 : 20);
    solver.solve(network.volume, network.time, network.room, network.costs);
    CHECK(solver.complete());
    check_solution(network, solver);
    // A flow that costs what the duals say is optimal.
    CHECK_NEAR(solver.value(), solver.bound(), 1e-9 * (1.0 + solver.value()));
  });
}

double decades(Random& random, double low, double high) {
  return std::pow(10.0, real(random, low, high));
}

// Weights over eight decades, works over ten, three kinds of cost side by side.
Network wide_network(Random& random, std::int64_t most_flows, std::int64_t most_cells) {
  Network network;
  network.costs.clear();
  const auto flows = static_cast<std::size_t>(integer(random, 1, most_flows));
  const auto cells = static_cast<std::size_t>(integer(random, 1, most_cells));
  double work = 0.0;
  for (std::size_t j = 0; j < flows; ++j) {
    network.volume.push_back(chance(random, 0.05) ? 0.0 : decades(random, -5.0, 5.0));
    work += network.volume.back();
  }
  const bool even = chance(random, 0.5);
  std::vector<double> share(cells, 1.0);
  double all = 0.0;
  for (double& s : share) all += s = even ? 1.0 : decades(random, -4.0, 0.0);
  double at = 0.0;
  for (const double s : share) {
    network.time.push_back(at);
    network.room.push_back(std::max(work * s / all, 1e-300));
    at += network.room.back() / 25.0;
  }
  network.room.back() += 1e-9 * work;
  for (std::size_t j = 0; j < flows; ++j) {
    const double volume = network.volume[j] > 0.0 ? network.volume[j] : 1.0;
    const double unit = decades(random, -4.0, 4.0) / volume;
    const auto start = static_cast<std::size_t>(integer(random, 0, most_cells / 2));
    const auto row = [&](std::size_t from, double value, double slope) {
      network.costs.from.push_back(static_cast<Index>(from));
      network.costs.value.push_back(value);
      network.costs.slope.push_back(slope);
    };
    switch (integer(random, 0, 2)) {
      case 0: {  // response: flat up to the earliest completion, then a slope
        const double floor = unit * real(random, 0.0, 1.0) * at;
        row(0, floor, start == 0 ? unit : 0.0);
        if (start > 0 && start < cells) row(start, floor, unit);
        break;
      }
      case 1:  // tardiness
        row(0, 0.0, 0.0);
        if (start > 0 && start < cells) row(start, 0.0, unit);
        break;
      default: {  // steps
        row(0, 0.0, 0.0);
        double paid = 0.0;
        for (std::size_t from = start + 1; from < cells;
             from += static_cast<std::size_t>(integer(random, 1, most_cells))) {
          row(from, paid += unit * decades(random, -2.0, 2.0), 0.0);
        }
      }
    }
    network.costs.offset.push_back(network.costs.from.size());
  }
  return network;
}

TEST(wide_ranges_end_at_the_optimum) {
  MinCostFlow solver;
  const char* wanted = std::getenv("MALLEABLE_FUZZ");  // for a longer run: so many instances
  const std::size_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 6000;
  std::uint64_t rounds = 0, pivots = 0;
  double gap = 0.0;
  trials(7, count, [&](Random& random) {
    const bool large = chance(random, 0.03);
    const Network network = wide_network(random, large ? 80 : 12, large ? 200 : 30);
    solver.solve(network.volume, network.time, network.room, network.costs);
    CHECK(solver.complete());
    gap = std::max(gap, check_solution(network, solver));
    CHECK(gap <= 1e-9);
    rounds = std::max(rounds, solver.rounds());
    pivots = std::max(pivots, solver.pivots());
  });
  if (wanted != nullptr) {
    std::printf("%zu instances: at most %llu rounds, %llu pivots, gap %.3g\n", count,
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(pivots),
                gap);
  }
}

// Cells and works that are less than the rounding of others: some stay empty.
TEST(less_than_the_rounding_of_others) {
  MinCostFlow solver;
  trials(13, 3000, [&](Random& random) {
    Network network = random_network(random, 12, 70);
    double work = 0.0, space = 0.0;
    for (double& room : network.room) space += room = chance(random, 0.7) ? 1e-12 : 1e15;
    for (double& volume : network.volume)
      work += volume = chance(random, 0.5) ? decades(random, -12.0, 1.0) : 1e15;
    if (work > space) network.room.back() += 1.000001 * (work - space);
    solver.solve(network.volume, network.time, network.room, network.costs);
    CHECK(solver.complete());
    CHECK(check_solution(network, solver) <= 1e-9);
  });
}

TEST(limits_leave_a_flow_and_a_bound) {
  MinCostFlow solver, whole;
  bool reached[3] = {false, false, false};
  trials(11, 300, [&](Random& random) {
    const Network network =
        chance(random, 0.5) ? wide_network(random, 20, 60) : random_network(random, 20, 60);
    whole.solve(network.volume, network.time, network.room, network.costs);
    std::uint64_t asked = 0;
    const std::function<bool()> late = [&] { return ++asked > 2; };
    const MinCostFlow::Limits limits[] = {
        {.pivots = static_cast<std::uint64_t>(integer(random, 0, 3))},
        {.rounds = static_cast<std::uint64_t>(integer(random, 0, 2))},
        {.late = &late}};
    for (std::size_t k = 0; k < 3; ++k) {
      asked = 0;
      solver.solve(network.volume, network.time, network.room, network.costs, limits[k]);
      reached[k] |= !solver.complete();
      check_solution(network, solver);
      const double margin = 1e-9 * (std::fabs(whole.value()) + 1e-300);
      CHECK_AT_MOST(solver.bound(), whole.value(), margin);
      CHECK_AT_MOST(whole.value(), solver.value(), margin);
      if (k == 0) CHECK(solver.pivots() <= 5 * limits[k].pivots);  // a limit a level
      if (k == 1) CHECK(solver.rounds() <= 5 * limits[k].rounds);
    }
  });
  for (const bool each : reached) CHECK(each);
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

}  // namespace test_min_cost_flow
}  // namespace malleable::check
