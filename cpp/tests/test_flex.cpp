// FLEX plans: orders of jobs, packed into schedules and improved by local search.
#include "malleable/policy/flex.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_flex {

Flex flex;

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

double square(std::int64_t, double t) { return t * std::fabs(t); }

std::vector<Penalties> objectives_of(const Table& table) {
  std::vector<Penalties> objectives{table.penalties(Kind::kCustom, square)};
  for (const Kind kind : kKinds) objectives.push_back(table.penalties(kind));
  return objectives;
}

Plan plan_of(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
             FlexOptions options = {}) {
  Plan plan;
  flex.plan(problem, penalties, aggregate, options, plan);
  check_plan(problem, penalties, aggregate, plan);
  CHECK(plan.candidates <= options.effort);
  return plan;
}

bool same(const Plan& a, const Plan& b) {
  return a.status == b.status && a.value == b.value && a.lower_bound == b.lower_bound &&
         a.order == b.order && a.start == b.start && a.completion == b.completion &&
         a.allocation == b.allocation && a.pieces.job == b.pieces.job &&
         a.pieces.start == b.pieces.start && a.pieces.end == b.pieces.end &&
         a.pieces.slots == b.pieces.slots && a.candidates == b.candidates;
}

TEST(sums_get_the_best_order) {
  trials(1, 80, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 7);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, 0.0, 2.0), mode);
    for (const Penalties& penalties : objectives_of(table)) {
      const double best = best_of_all_orders(problem, penalties, Aggregate::kSum);
      const Plan plan = plan_of(problem, penalties, Aggregate::kSum);
      // Packing for deadlines may beat every order.
      CHECK_AT_MOST(plan.value, best, 1e-7 * scale_of(best));
      if (penalties.linear() || problem.gang) CHECK_NEAR(plan.value, best, 1e-7 * scale_of(best));
    }
  });
}

TEST(max_objectives_are_solved) {
  trials(2, 300, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 7);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, real(random, 0.0, 2.0));
    for (const Penalties& penalties : objectives_of(table)) {
      const double best = best_of_all_orders(problem, penalties, Aggregate::kMax);
      const Plan plan = plan_of(problem, penalties, Aggregate::kMax);
      CHECK_AT_MOST(plan.value, best, 1e-7 * scale_of(best));
      CHECK_NEAR(plan.value, plan.lower_bound, 1e-6 * scale_of(plan.value));
    }
  });
}

TEST(no_order_beats_the_bound_of_gangs) {
  trials(3, 100, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 7);
    shape.overcommit = true;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, 0.0, MinMode::kGang);
    for (const Penalties& penalties : objectives_of(table)) {
      for (const Aggregate aggregate : kAggregates) {
        const double best = best_of_all_orders(problem, penalties, aggregate);
        const Plan plan = plan_of(problem, penalties, aggregate);
        CHECK_AT_MOST(plan.lower_bound, best, 1e-7 * scale_of(best));
        CHECK_NEAR(plan.value, best, 1e-7 * scale_of(best));
      }
    }
  });
}

// No order of these two ends before 2.25; water-filling ends both at 2.
TEST(beyond_orders) {
  Table table;
  table.add(3.0, 1, 2);
  table.add(3.0, 1, 2);
  const Plan plan = plan_of(table.problem(3), table.penalties(Kind::kCompletion), Aggregate::kMax);
  CHECK_NEAR(plan.value, 2.0, 1e-8);
}

// A minimum that fills every slot until 3: no bound may exceed the 4 that an order attains.
TEST(slots_that_minima_fill) {
  Table table;
  table.add(6.0, 2, 2, 1.0, 3.0);
  table.add(1.0, 0, 2, 3.0, 7.0);
  table.add(6.0, 0, 1, 2.0, 7.0);
  const Plan plan = plan_of(table.problem(2), table.penalties(Kind::kTardiness), Aggregate::kMax);
  CHECK_NEAR(plan.value, 4.0, 1e-7);
  CHECK_NEAR(plan.lower_bound, 4.0, 1e-6);
}

TEST(effort_and_budget) {
  trials(4, 12, [](Random& random) {
    Shape shape;
    shape.slots = 9;
    const Table table = random_table(random, 15, shape);
    const Problem problem = table.problem(9);
    for (const Penalties& penalties : objectives_of(table)) {
      for (const Aggregate aggregate : kAggregates) {
        const Plan none = plan_of(problem, penalties, aggregate, {0, kInfinity});
        CHECK_EQUAL(none.candidates, 0u);
        CHECK(none.status == Status::kOk);
        const Plan some = plan_of(problem, penalties, aggregate, {300, kInfinity});
        CHECK_AT_MOST(some.value, none.value, 1e-9 * scale_of(none.value));
        const Plan broke = plan_of(problem, penalties, aggregate, {300, 0.0});
        CHECK_EQUAL(broke.candidates, 0u);
        CHECK_AT_MOST(broke.value, none.value, 1e-9 * scale_of(none.value));
        CHECK(broke.status == Status::kOk || broke.status == Status::kTruncated);
      }
    }
  });
}

TEST(the_same_input_gives_the_same_plan) {
  trials(5, 20, [](Random& random) {
    Shape shape;
    shape.slots = 9;
    shape.overcommit = chance(random, 0.5);
    const Table table = random_table(random, 12, shape);
    const Problem problem = table.problem(9);
    for (const Penalties& penalties : objectives_of(table)) {
      for (const Aggregate aggregate : kAggregates) {
        const Plan first = plan_of(problem, penalties, aggregate, {200, kInfinity});
        Plan second;
        Flex().plan(problem, penalties, aggregate, {200, kInfinity}, second);
        CHECK(same(first, second));
      }
    }
  });
}

TEST(one_order) {
  trials(6, 100, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    shape.overcommit = chance(random, 0.3);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 9));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, 0.0, 2.0), mode);
    const Order order = shuffled(random, jobs);
    const Doubles expected = absolute(problem, pack_slowly(problem, order));
    for (const Penalties& penalties : objectives_of(table)) {
      for (const Aggregate aggregate : kAggregates) {
        Plan plan;
        flex.plan_order(problem, penalties, aggregate, order, true, plan);
        check_plan(problem, penalties, aggregate, plan);
        CHECK(plan.order == order);
        for (std::size_t j = 0; j < jobs; ++j) {
          CHECK_NEAR(plan.completion[j], expected[j], 1e-9 * scale_of(expected[j]));
        }
        Plan brief;
        flex.plan_order(problem, penalties, aggregate, order, false, brief);
        CHECK(brief.completion == plan.completion && brief.value == plan.value);
        CHECK_AT_MOST(brief.lower_bound, brief.value, 0.0);
      }
    }
  });
}

TEST(own_orders) {
  trials(8, 200, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    for (const Penalties& penalties : objectives_of(table)) {
      Order order(jobs);
      CHECK_EQUAL(flex.own_order(problem, penalties, Aggregate::kSum, order), -kInfinity);
      CHECK(is_permutation_of_all(order));
      const double level = flex.own_order(problem, penalties, Aggregate::kMax, order);
      CHECK(is_permutation_of_all(order));
      const double value =
          value_of(problem, penalties, Aggregate::kMax, pack_slowly(problem, order));
      CHECK_AT_MOST(level, value, 1e-7 * scale_of(value));
    }
  });
}

TEST(no_jobs_or_nothing_to_do) {
  Table idle;
  idle.add(0.0, 3, 4, 2.0, 1.0, 5.0);
  idle.add(0.0, 0, kAllSlots, 1.0, 9.0, -1.0);
  for (const Table& table : {Table{}, idle}) {
    const Problem problem = table.problem(2, 6.0);
    for (const Penalties& penalties : objectives_of(table)) {
      for (const Aggregate aggregate : kAggregates) {
        const Plan plan = plan_of(problem, penalties, aggregate);
        CHECK_NEAR(plan.lower_bound, plan.value, 1e-9 * scale_of(plan.value));
        CHECK_EQUAL(plan.pieces.size(), 0u);
      }
    }
  }
}

TEST(gangs_that_never_fit) {
  Table table;
  table.add(3.0, 5, 9, 1.0, 2.0);
  table.add(3.0, 1, 2, 1.0, 2.0);
  const Problem problem = table.problem(4, 0.0, MinMode::kGang);
  for (const Penalties& penalties : objectives_of(table)) {
    for (const Aggregate aggregate : kAggregates) {
      const Plan plan = plan_of(problem, penalties, aggregate);
      CHECK(plan.status == Status::kInfeasible);
      CHECK_EQUAL(plan.completion[0], kInfinity);
      CHECK_NEAR(plan.completion[1], 1.5, 1e-12);
    }
  }
}

TEST(minima_that_are_scaled) {
  Table table;
  table.add(20.0, 20, 20);
  table.add(10.0, 10, 10);
  const Plan plan = plan_of(table.problem(10), table.penalties(Kind::kResponse), Aggregate::kSum);
  CHECK(plan.status == Status::kMinimaScaled);
  CHECK_EQUAL(plan.allocation[0], 7);
  CHECK_EQUAL(plan.allocation[1], 3);
}

TEST(huge_slot_counts) {
  Table table;
  table.add(1e18, 0, kAllSlots, 1.0, 5.0);
  table.add(3e17, 7, kAllSlots, 2.0, 9.0);
  table.add(1e18, 0, kMostSlots / 2, 1.0, 0.5);
  table.step(800.0, 1.0);
  for (const Kind kind : kKinds) {
    for (const Aggregate aggregate : kAggregates) {
      plan_of(table.problem(kMostSlots), table.penalties(kind), aggregate, {50, kInfinity});
    }
  }
}

}  // namespace test_flex
}  // namespace malleable::check
