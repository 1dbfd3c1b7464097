// Cells of time for FlowFlex, and the cost of a flow's work in each.
#include "flow_instances.hpp"
#include "malleable/kernel/time_cells.hpp"

namespace malleable::check {
namespace test_time_cells {

TEST(cells_cover_the_work_and_costs_follow_the_penalties) {
  trials(1, 400, [](Random& random) {
    const FlowTable table = random_flows(random, 6, 6, true);
    if (table.arrival.empty()) return;
    const FlowProblem problem = table.problem(integer(random, 1, 8), real(random, 0.0, 2.0));
    constexpr Kind kinds[] = {Kind::kResponse, Kind::kTardy, Kind::kTardiness, Kind::kSla};
    const Penalties penalties = table.penalties(kinds[random() % std::size(kinds)]);
    FlowBound bound;
    bound.build(problem);
    TimeCells cells;
    cells.build(problem, penalties, bound.all(), bound.earliest(), 24);
    double room = 0.0, work = 0.0;
    for (const double v : problem.volume) work += v;
    for (std::size_t t = 0; t < cells.room.size(); ++t) {
      CHECK(cells.right[t] > cells.left[t] && cells.room[t] > 0.0);
      CHECK_AT_MOST(cells.room[t], problem.slots * (cells.right[t] - cells.left[t]), 1e-9);
      if (t > 0) CHECK_EQUAL(cells.left[t], cells.right[t - 1]);
      room += cells.room[t];
    }
    CHECK_NEAR(room, work, 1e-9 * (1.0 + work));
    for (const auto charge : {TimeCells::Charge::kLeft, TimeCells::Charge::kRight}) {
      CellCosts costs;
      cells.charge(problem, penalties, bound.earliest(), charge, costs);
      const auto time = cells.times(charge);
      for (std::size_t j = 0; j < problem.flows(); ++j) {
        if (problem.volume[j] == 0.0) continue;
        for (std::size_t t = 0; t < cells.room.size(); ++t) {
          std::size_t r = costs.offset[j];
          while (r + 1 < costs.offset[j + 1] && costs.from[r + 1] <= t) ++r;
          const double cost = problem.volume[j] *
                              (costs.value[r] + costs.slope[r] * (time[t] - time[costs.from[r]]));
          const double earliest = bound.earliest()[j];
          // Cells end within rounding of where a penalty jumps: a hair before and after.
          const auto paid = [&](double at) {
            return penalties(j, problem.now + std::max(at, earliest));
          };
          const double hair = 1e-10, margin = 1e-7 * (1.0 + cost);
          // Work in a cell is done between its ends.
          CHECK_AT_MOST(paid(cells.left[t] - hair), cost, margin);
          CHECK_AT_MOST(cost, paid(cells.right[t] + hair), margin);
          if (charge == TimeCells::Charge::kRight) {
            CHECK_AT_MOST(paid(cells.right[t] - hair), cost, margin);
          }
        }
      }
    }
  });
}

TEST(a_deadline_is_where_its_share_is_done) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(8.0, 2);
  const FlowProblem problem = table.problem(2);
  TimeCells cells;
  cells.left = {0.0, 1.0, 2.0, 3.0};
  cells.right = {1.0, 2.0, 3.0, 4.0};
  cells.room = {2.0, 2.0, 2.0, 2.0};
  const MinCostFlow::Assignment all{{0, 0, 0, 0}, {0, 1, 2, 3}, {2.0, 2.0, 2.0, 2.0}};
  std::vector<double> due(1);
  const double expected[][2] = {{0.25, 1.0}, {0.5, 2.0}, {0.51, 3.0}, {1.0, 4.0}};
  for (const auto& [share, time] : expected) {
    rounded_deadlines(problem, cells, all, std::vector<double>{0.5}, share, due);
    CHECK_EQUAL(due[0], time);
  }
  rounded_deadlines(problem, cells, all, std::vector<double>{3.5}, 0.5, due);
  CHECK_EQUAL(due[0], 3.5);
}

}  // namespace test_time_cells
}  // namespace malleable::check
