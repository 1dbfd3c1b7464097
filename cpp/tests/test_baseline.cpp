// FIFO and fair sharing, the plainest plans.
#include "malleable/policy/baseline.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_baseline {

Baseline baseline;

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

template <typename Check>
void on_random_tables(std::uint64_t seed, std::size_t count, Check check) {
  trials(seed, count, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.overcommit = chance(random, 0.3);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 9));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, 0.0, 4.0), mode);
    const Kind kind = kKinds[random() % std::size(kKinds)];
    check(table, problem, table.penalties(kind), kAggregates[random() % 2]);
  });
}

TEST(fifo_packs_by_arrival_without_minima) {
  on_random_tables(1, 800,
                   [](const Table& table, const Problem& problem, const Penalties& penalties,
                      Aggregate aggregate) {
                     Plan plan;
                     baseline.fifo(problem, penalties, aggregate, table.arrival, plan);
                     Problem free = problem;
                     free.drop_minima();
                     check_plan(free, penalties, aggregate, plan);
                     CHECK(plan.status == Status::kOk);
                     for (std::size_t k = 1; k < plan.order.size(); ++k) {
                       const Index a = plan.order[k - 1], b = plan.order[k];
                       CHECK(table.arrival[a] < table.arrival[b] ||
                             (table.arrival[a] == table.arrival[b] && a < b));
                     }
                     const Doubles expected = absolute(free, pack_slowly(free, plan.order));
                     for (std::size_t j = 0; j < problem.size(); ++j) {
                       CHECK_NEAR(plan.completion[j], expected[j], 1e-9 * scale_of(expected[j]));
                     }
                   });
}

TEST(water_fillings) {
  on_random_tables(2, 800,
                   [](const Table& table, const Problem& problem, const Penalties& penalties,
                      Aggregate aggregate) {
                     for (const Doubles& weight : {Doubles{}, table.weight}) {
                       Plan plan;
                       baseline.water_filling(problem, penalties, aggregate, weight, plan);
                       check_plan(problem, penalties, aggregate, plan);
                       const Doubles now = water_filling_slowly(problem, weight);
                       for (std::size_t j = 0; j < problem.size(); ++j) {
                         CHECK_EQUAL(static_cast<double>(plan.allocation[j]), now[j]);
                       }
                       for (std::size_t k = 1; k < plan.order.size(); ++k) {
                         const auto end = [&](Index j) {  // from now; jobs without work come first
                           return problem.work[j] > 0.0 ? plan.completion[j] : problem.now;
                         };
                         CHECK(end(plan.order[k - 1]) <= end(plan.order[k]));
                       }
                     }
                   });
}

// Two jobs that arrived first keep what they hold, minimum of the third or not.
TEST(fifo_by_hand) {
  Table table;
  table.add(4.0, 3, 3, 1.0, kInfinity, 2.0);
  table.add(4.0, 0, 2, 1.0, kInfinity, 1.0);
  table.add(4.0, 0, 2, 1.0, kInfinity, 1.0);
  Plan plan;
  baseline.fifo(table.problem(4, 2.0), table.penalties(Kind::kResponse), Aggregate::kSum,
                table.arrival, plan);
  CHECK(plan.order == (Order{1, 2, 0}));
  CHECK_NEAR(plan.completion[1], 4.0, 1e-12);
  CHECK_NEAR(plan.completion[0], 4.0 + 4.0 / 3.0, 1e-12);
  CHECK_NEAR(plan.value, 3.0 + 3.0 + 10.0 / 3.0, 1e-12);
}

TEST(no_jobs) {
  const Table table;
  for (const Aggregate aggregate : kAggregates) {
    Plan plan;
    baseline.fifo(table.problem(2), table.penalties(Kind::kTardy), aggregate, {}, plan);
    check_plan(table.problem(2), table.penalties(Kind::kTardy), aggregate, plan);
    baseline.water_filling(table.problem(2), table.penalties(Kind::kTardy), aggregate, {}, plan);
    check_plan(table.problem(2), table.penalties(Kind::kTardy), aggregate, plan);
    CHECK_EQUAL(plan.value, 0.0);
  }
}

}  // namespace test_baseline
}  // namespace malleable::check
