// Schedules of gangs, which run on their minimum at least or not at all.
#include "malleable/kernel/gang_packing.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_gang_packing {

GangPacking packing;

void check_gangs(const Problem& problem, const Order& order) {
  const std::size_t n = problem.size();
  const Doubles expected = pack_slowly(problem, order);
  Doubles completion(n, 0.0);
  std::size_t told = 0, with_work = 0;
  double last = 0.0;
  Plan plan;
  plan.start.assign(n, problem.now);
  plan.allocation.assign(n, 0);
  packing.run(
      problem, order,
      [&](Index j, double time) {
        CHECK(time >= last && completion[j] == 0.0);
        completion[j] = last = time;
        ++told;
        return true;
      },
      &plan);
  for (std::size_t j = 0; j < n; ++j) {
    with_work += problem.work[j] > 0.0;
    CHECK_NEAR(completion[j], expected[j], 1e-9 * scale_of(expected[j]));
    CHECK_EQUAL(completion[j] == kInfinity,
                problem.work[j] > 0.0 && problem.low[j] > problem.slots);
    if (problem.work[j] == 0.0) plan.start[j] = problem.idle_end[j];
  }
  CHECK_EQUAL(told, with_work);
  plan.completion = absolute(problem, completion);
  if (n > 0) {
    check_limits(problem, plan);
    check_jobs(problem, plan);
  }
}

Problem gangs(const Table& table, std::int64_t slots, double now = 0.0) {
  return table.problem(slots, now, MinMode::kGang);
}

TEST(no_job_and_one) {
  check_gangs(gangs(Table{}, 4), {});
  Table table;
  table.add(6.0, 3, 4);
  check_gangs(gangs(table, 3), {0});
  check_gangs(gangs(table, 4), {0});
  check_gangs(gangs(table, kMostSlots), {0});
}

TEST(a_gang_that_never_fits) {
  Table table;
  table.add(6.0, 5, 5);
  table.add(2.0, 0, 1);
  table.add(3.0, 4, 9);
  for (const Order& order : {Order{0, 1, 2}, Order{2, 1, 0}, Order{1, 0, 2}}) {
    check_gangs(gangs(table, 4), order);
  }
  Table alone;
  alone.add(6.0, 5, 5);
  alone.add(0.0, 9, 9);
  check_gangs(gangs(alone, 4), {0, 1});
}

// Four slots: the second gang of three does not fit beside the first, the job of one slot does.
TEST(smaller_gangs_overtake) {
  Table table;
  table.add(6.0, 3, 3);
  table.add(6.0, 3, 3);
  table.add(5.0, 1, 1);
  const Problem problem = gangs(table, 4);
  Doubles completion(3);
  packing.run(
      problem, Order{0, 1, 2},
      [&](Index j, double time) {
        completion[j] = time;
        return true;
      },
      nullptr);
  CHECK_NEAR(completion[0], 2.0, 1e-12);
  CHECK_NEAR(completion[1], 4.0, 1e-12);
  CHECK_NEAR(completion[2], 5.0, 1e-12);
}

TEST(random_gangs) {
  trials(1, 3000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.overcommit = true;
    shape.maxima = chance(random, 0.7);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    const Table table = random_table(random, jobs, shape);
    check_gangs(gangs(table, shape.slots, real(random, -5.0, 5.0)), shuffled(random, jobs));
  });
}

TEST(many_gangs) {
  trials(2, 10, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 200, 700));
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t low = integer(random, 0, 66);
      const double work = chance(random, 0.3) ? 4.0 : real(random, 0.1, 50.0);
      table.add(work, low, std::max<std::int64_t>(1, low) + integer(random, 0, 8));
    }
    check_gangs(gangs(table, 64), shuffled(random, jobs));
  });
}

// Numbers of jobs around powers of two: the edges of the tree.
TEST(edges_of_the_tree) {
  for (const std::size_t jobs : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 32u, 33u}) {
    trials(100 + jobs, 30, [&](Random& random) {
      Table table;
      for (std::size_t j = 0; j < jobs; ++j) {
        const std::int64_t low = integer(random, 0, 5);
        table.add(static_cast<double>(integer(random, 1, 3)), low, std::max<std::int64_t>(1, low));
      }
      check_gangs(gangs(table, integer(random, 1, 5)), shuffled(random, jobs));
    });
  }
}

TEST(equal_gangs_tie) {
  Table table;
  for (int j = 0; j < 64; ++j) table.add(6.0, 2, 3);
  for (std::int64_t slots = 1; slots < 140; slots += 7) {
    check_gangs(gangs(table, slots), identity(64));
  }
}

TEST(stops_when_told) {
  Table table;
  for (int j = 0; j < 5; ++j) table.add(1.0 + j, 9, 9);  // none of them ever runs
  table.add(1.0, 1, 1);
  for (std::size_t wanted = 1; wanted <= 6; ++wanted) {
    std::size_t told = 0;
    packing.run(
        gangs(table, 4), identity(6), [&](Index, double) { return ++told < wanted; }, nullptr);
    CHECK_EQUAL(told, wanted);
  }
}

}  // namespace test_gang_packing
}  // namespace malleable::check
