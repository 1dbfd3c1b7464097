#include "held_loops.hpp"
#include "malleable/kernel/held_prices.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_held_prices {

// A loop of one job has its maximum until it ends, and so has the bound.
TEST(one_job_is_exact) {
  trials(1, 200, [](Random& random) {
    Table table;
    table.add(real(random, 0.1, 40.0), 0, integer(random, 1, 9), real(random, 0.5, 3.0));
    const Problem problem = table.problem(integer(random, 1, 9));
    const Penalties penalties = table.penalties(Kind::kResponse);
    const double period = real(random, 0.05, 9.0);
    const Doubles best = {problem.work[0] / problem.high[0]};
    const double value = evaluate(penalties, Aggregate::kSum, best);
    const double bound = HeldPrices().run(problem, penalties, period, best, value);
    CHECK(bound <= value);
    CHECK_NEAR(bound, value, 1e-3 * value);
  });
}

// Of equal jobs with room for all each gets what is there at once: nobody waits for anybody.
TEST(a_full_period_is_exact) {
  for (const int jobs : {1, 2, 5}) {
    Table table;
    for (int j = 0; j < jobs; ++j) table.add(6.0, 0, 2);
    const Problem problem = table.problem(2 * jobs);
    const Penalties penalties = table.penalties(Kind::kCompletion);
    const Doubles best(static_cast<std::size_t>(jobs), 3.0);
    CHECK_NEAR(HeldPrices().run(problem, penalties, 2.0, best, 3.0 * jobs), 3.0 * jobs, 1e-8);
  }
}

// Two jobs of one slot-period each on two slots: a second slot would make nobody any faster.
TEST(a_held_slot_is_worth_a_period) {
  Table table;
  for (int j = 0; j < 4; ++j) table.add(5.0);
  const Problem problem = table.problem(2);
  const Penalties penalties = table.penalties(Kind::kResponse);
  // Best: all four together in two periods. Without the period 2.5 + 5 + 7.5 + 10.
  const Doubles best = {5.0, 5.0, 10.0, 10.0};
  const double bound = HeldPrices().run(problem, penalties, 5.0, best, 30.0);
  CHECK(bound > 26.0);
  CHECK(bound <= 30.0);
}

TEST(no_loop_is_better) {
  trials(2, 150, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 8);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 7));
    const Table table = random_table(random, jobs, shape);
    Problem problem = table.problem(shape.slots, real(random, -1.0, 1.0));
    problem.drop_minima();
    const double period = std::exp(real(random, -3.0, 3.0));
    std::vector<Doubles> loops;
    for (int k = 0; k < 10; ++k) {
      loops.push_back(run_loop(problem, period, at_random(problem, random)));
    }
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      double best = kInfinity;
      for (const Doubles& loop : loops) {
        best = std::min(best, value_of(problem, penalties, Aggregate::kSum, loop));
      }
      const Doubles& known = loops[random() % loops.size()];
      const double value = value_of(problem, penalties, Aggregate::kSum, known);
      const double bound = HeldPrices().run(problem, penalties, period, known, value);
      CHECK(bound <= value);
      CHECK_AT_MOST(bound, best, 1e-9 * scale_of(best));
    }
  });
}

}  // namespace test_held_prices
}  // namespace malleable::check
