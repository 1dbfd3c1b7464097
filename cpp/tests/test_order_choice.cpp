// A choice among priority orders by the cost of their schedules.
#include "instances.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/policy/order_choice.hpp"

namespace malleable::check {
namespace test_order_choice {

OrderChoice choice;  // one for all: a run must leave nothing behind

Order chosen(const Problem& problem, const Penalties& penalties, double doubt = 0.0) {
  Order order(problem.size());
  choice.run(problem, penalties, kSpread, order, 0.0, doubt);
  return order;
}

double value(const Problem& problem, const Penalties& penalties, const Order& order) {
  Doubles end(problem.size());
  MalleablePacking().run(problem, order, end);
  for (std::size_t j = 0; j < end.size(); ++j) {
    end[j] = problem.work[j] > 0.0 ? end[j] + problem.now : problem.idle_end[j];
  }
  return evaluate(penalties, Aggregate::kSum, end);
}

TEST(it_orders_every_table) {
  trials(1, 400, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.5) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, 0.0, 3.0), mode);
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      const Order order = chosen(problem, penalties);
      CHECK(is_permutation_of_all(order));
      CHECK(order == chosen(problem, penalties));
    }
  });
}

TEST(sums_of_lines_cost_no_more_than_by_smith) {
  trials(2, 400, [](Random& random) {
    const Table table = random_table(random, 8, {});
    const Problem problem = table.problem(4);
    const Penalties penalties = table.penalties(Kind::kResponse);
    Order smith = identity(8);
    const auto key = [&](Index j) {
      return table.weight[j] > 0.0 ? problem.work[j] / table.weight[j] : kInfinity;
    };
    std::stable_sort(smith.begin(), smith.end(), [&](Index a, Index b) { return key(a) < key(b); });
    CHECK(value(problem, penalties, chosen(problem, penalties)) <=
          value(problem, penalties, smith) * (1.0 + 1e-9));
  });
}

TEST(a_narrow_job_cannot_catch_up_later) {
  Table table;
  table.add(100.0, 0, 1);
  table.add(90.0, 0, 64);
  CHECK(chosen(table.problem(64), table.penalties(Kind::kResponse)).front() == 0);
}

TEST(gangs_go_by_time) {
  Table table;
  table.add(64.0 * 1.0, 64, 64);
  table.add(8.0 * 7.0, 8, 8);
  const Problem problem = table.problem(64, 0.0, MinMode::kGang);
  CHECK(chosen(problem, table.penalties(Kind::kResponse)).front() == 0);
}

// A job that is late by its estimate, but not by much, may be on time if sizes err.
TEST(doubtful_sizes) {
  Table table;
  table.add(11.0, 0, 1, 1.0, 40.0);
  table.add(11.0, 0, 1, 1.0, 10.0);
  const Problem problem = table.problem(1);
  const Penalties penalties = table.penalties(Kind::kTardy);
  CHECK(chosen(problem, penalties).front() == 0);
  CHECK(chosen(problem, penalties, 0.5).front() == 1);
}

TEST(deadlines_that_can_be_met_are_met_with_slack) {
  Table table;
  table.add(100.0, 0, 1, 1.0, 101.0);
  table.add(3200.0, 0, 64, 1.0, 100.0);
  for (const Kind kind : {Kind::kTardiness, Kind::kTardy}) {
    CHECK(chosen(table.problem(64), table.penalties(kind)).front() == 0);
  }
}

TEST(a_step_out_of_reach_waits_for_one_that_can_be_met) {
  Table table;
  table.add(10.0, 0, 10, 1.0, 0.5);
  table.add(20.0, 0, 10, 1.0, 2.0);
  CHECK(chosen(table.problem(10), table.penalties(Kind::kTardy)).front() == 1);
}

}  // namespace test_order_choice
}  // namespace malleable::check
