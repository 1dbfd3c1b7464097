// Schedules from priority orders: each job gets all that it can use, behind the minima of the
// others.
#include "malleable/kernel/malleable_packing.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_malleable_packing {

MalleablePacking packing;  // one for all: a run must leave nothing behind

void check_packing(const Problem& problem, const Order& order) {
  const std::size_t n = problem.size();
  const Doubles expected = pack_slowly(problem, order);
  Doubles completion(n, -1.0);
  packing.run(problem, order, completion);
  for (std::size_t j = 0; j < n; ++j) {
    CHECK_NEAR(completion[j], expected[j], 1e-9 * scale_of(expected[j]));
  }
  // Tracing changes no completion, and neither does telling as one goes.
  Plan plan;
  Doubles traced(n, -1.0);
  packing.run(problem, order, traced, &plan);
  CHECK(traced == completion);
  std::size_t told = 0;
  double last = 0.0;
  packing.run_until(problem, order, [&](Index j, double time) {
    CHECK_EQUAL(time, completion[j]);
    CHECK(time >= last && problem.work[j] > 0.0);
    last = time;
    ++told;
    return true;
  });
  std::size_t with_work = 0;
  for (const double work : problem.work) with_work += work > 0.0;
  CHECK_EQUAL(told, with_work);
  CHECK_AT_MOST(static_cast<double>(plan.pieces.size()), 4.0 * static_cast<double>(n), 0.0);
  plan.completion = absolute(problem, completion);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) plan.start[j] = plan.completion[j];
  }
  if (n > 0) {
    check_limits(problem, plan);
    check_jobs(problem, plan);
  }
  // The slots now are the first layer.
  const Doubles now = first_layer(problem, problem.work, order);
  for (std::size_t j = 0; j < n; ++j) {
    if (completion[j] > 1e-300) CHECK_EQUAL(static_cast<double>(plan.allocation[j]), now[j]);
  }
}

TEST(no_job_and_one) {
  check_packing(Table{}.problem(3), {});
  for (const double work : {0.0, 1e-12, 1.0, 1e15}) {
    for (const std::int64_t high : {std::int64_t{1}, std::int64_t{2}, kAllSlots}) {
      Table table;
      table.add(work, 1, high);
      check_packing(table.problem(3), {0});
      check_packing(table.problem(1), {0});
    }
  }
}

// Three slots; the first job may use two, so the second gets one until the first ends.
TEST(by_hand) {
  Table table;
  table.add(4.0, 0, 2);
  table.add(6.0, 1, 3);
  table.add(3.0, 0, 3);
  Doubles completion(3);
  packing.run(table.problem(3), Order{0, 1, 2}, completion);
  CHECK_NEAR(completion[0], 2.0, 1e-12);
  CHECK_NEAR(completion[1], 2.0 + 4.0 / 3.0, 1e-12);
  CHECK_NEAR(completion[2], 13.0 / 3.0, 1e-12);
  packing.run(table.problem(3), Order{2, 1, 0}, completion);
  CHECK_NEAR(completion[2], 1.5, 1e-12);
  CHECK_NEAR(completion[1], 3.0, 1e-12);
  CHECK_NEAR(completion[0], 5.0, 1e-12);
}

TEST(random_tables) {
  trials(1, 3000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.overcommit = chance(random, 0.3);
    shape.minima = chance(random, 0.8);
    shape.maxima = chance(random, 0.8);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    const Table table = random_table(random, jobs, shape);
    check_packing(table.problem(shape.slots, real(random, -5.0, 5.0)), shuffled(random, jobs));
  });
}

TEST(many_jobs) {
  trials(2, 12, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 400);
    shape.overcommit = chance(random, 0.3);
    const auto jobs = static_cast<std::size_t>(integer(random, 500, 1500));
    const Table table = random_table(random, jobs, shape);
    check_packing(table.problem(shape.slots), shuffled(random, jobs));
  });
}

// Every job alike: all completions tie, and all events share one time.
TEST(equal_jobs) {
  trials(3, 40, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 300));
    const std::int64_t low = integer(random, 0, 2), high = low + integer(random, 1, 3);
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) table.add(7.0, low, high);
    check_packing(table.problem(integer(random, 1, 900)), shuffled(random, jobs));
  });
}

TEST(minima_equal_maxima) {
  trials(4, 200, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 20));
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t slots = integer(random, 1, 5);
      table.add(real(random, 0.1, 9.0), slots, slots);
    }
    check_packing(table.problem(integer(random, 1, 100)), shuffled(random, jobs));
  });
}

TEST(huge_slot_counts) {
  trials(5, 200, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t high = chance(random, 0.3) ? kAllSlots : integer(random, 1, kMostSlots);
      table.add(real(random, 1.0, 1e18), integer(random, 0, std::min(high, kMostSlots / 16)), high);
    }
    check_packing(table.problem(kMostSlots), shuffled(random, jobs));
  });
}

TEST(works_of_all_magnitudes) {
  trials(6, 300, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 15));
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      table.add(std::pow(10.0, real(random, -9.0, 9.0)), integer(random, 0, 1),
                integer(random, 1, 9));
    }
    check_packing(table.problem(16), shuffled(random, jobs));
  });
}

TEST(gangs_are_packed_by_their_own_rule) {
  trials(7, 500, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    shape.overcommit = true;
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 9));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, 0.0, MinMode::kGang);
    const Order order = shuffled(random, jobs);
    const Doubles expected = pack_slowly(problem, order);
    Doubles completion(jobs);
    packing.run(problem, order, completion);
    for (std::size_t j = 0; j < jobs; ++j) {
      CHECK_NEAR(completion[j], expected[j], 1e-9 * scale_of(expected[j]));
    }
  });
}

TEST(stops_when_told) {
  trials(8, 200, [](Random& random) {
    Shape shape;
    shape.slots = 5;
    const Table table = random_table(random, 10, shape);
    for (const MinMode mode : {MinMode::kGuarantee, MinMode::kGang}) {
      const Problem problem = table.problem(5, 0.0, mode);
      std::size_t told = 0;
      const std::size_t wanted = 3;
      packing.run_until(problem, shuffled(random, 10),
                        [&](Index, double) { return ++told < wanted; });
      CHECK_EQUAL(told, wanted);
    }
  });
}

}  // namespace test_malleable_packing
}  // namespace malleable::check
