// Sets of jobs that can all end by their due times together.
#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/on_time_set.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_on_time_set {

OnTimeSet set;  // one for all: begin() must leave nothing behind
DemandBound test;

// A job joins if and only if the exact deadline test lets it.
TEST(members_are_those_of_the_exact_test) {
  std::size_t refused = 0, joined = 0;
  trials(1, 400, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 25));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    set.begin(problem, table.deadline, 4096);
    Doubles due(jobs, kInfinity);
    for (const Index j : shuffled(random, jobs)) {
      if (problem.work[j] == 0.0) continue;
      Doubles tried = due;
      tried[j] = table.deadline[j];
      const bool fits = tried[j] > 0.0 && problem.work[j] <= problem.high[j] * tried[j] &&
                        test.peak(problem, tried).excess <= 0.0;
      const bool joins = set.add(j, table.deadline[j]);
      CHECK_EQUAL(joins, fits);
      ++(joins ? joined : refused);
      if (!joins) continue;
      if (chance(random, 0.2)) {  // out again, and there is room for it once more
        set.drop(j, table.deadline[j]);
        CHECK(set.add(j, table.deadline[j]));
      }
      due = tried;
    }
  });
  const std::size_t asked = joined + refused;
  CHECK(4 * joined > asked && 8 * refused > asked);  // both answers are common
}

// On a coarse grid fewer jobs join, but all of these can be on time.
TEST(coarse_grids_are_safe) {
  trials(2, 60, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const std::size_t jobs = 200;
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles due(jobs, kInfinity);
    set.begin(problem, table.deadline, 10);
    std::size_t members = 0;
    for (Index j = 0; j < jobs; ++j) {
      if (problem.work[j] == 0.0 || !set.add(j, table.deadline[j])) continue;
      due[j] = table.deadline[j];
      ++members;
    }
    CHECK(members > 0);
    CHECK_AT_MOST(test.peak(problem, due).excess, 0.0, 1e-9);
  });
}

}  // namespace test_on_time_set
}  // namespace malleable::check
