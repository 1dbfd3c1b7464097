// A lower bound from mean busy times, the means of the times at which work is done.
#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/mean_busy_time.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_mean_busy_time {

MeanBusyTime relaxation;

double cube(std::int64_t, double t) { return t * t * t; }
double stairs(std::int64_t job, double t) { return std::floor(t / static_cast<double>(job + 1)); }

// Least value of all packing orders and of some schedules that are none.
double best_known(const Problem& problem, const Penalties& penalties, Random& random) {
  double best = best_of_all_orders(problem, penalties, Aggregate::kSum);
  for (int k = 0; k < 10; ++k) {
    best = std::min(best,
                    value_of(problem, penalties, Aggregate::kSum, pack_at_random(problem, random)));
  }
  return best;
}

TEST(one_machine_is_exact) {
  // Without limits Smith's order is optimal, and the program's value is its cost.
  trials(1, 300, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    const auto slots = integer(random, 1, 9);
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      table.add(real(random, 0.1, 9.0), 0, kAllSlots, static_cast<double>(integer(random, 0, 4)));
    }
    const Problem problem = table.problem(slots);
    const Penalties penalties = table.penalties(Kind::kCompletion);
    Order order = identity(jobs);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      return table.work[a] * table.weight[b] < table.work[b] * table.weight[a];
    });
    const Doubles completion = pack_slowly(problem, order);
    const double best = value_of(problem, penalties, Aggregate::kSum, completion);
    Doubles earliest(jobs);
    earliest_completions(problem, earliest);
    const double bound = relaxation.bound(problem, penalties, completion, earliest, 1);
    CHECK_NEAR(bound, best, 1e-9 * scale_of(best));
  });
}

TEST(no_schedule_is_below_the_bound) {
  double close = 0.0, count = 0.0;
  trials(2, 250, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 7);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.25) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, -1.0, 1.0), mode);
    if (problem.beyond_reach) return;
    Doubles earliest(jobs);
    earliest_completions(problem, earliest);
    const Doubles start = pack_slowly(problem, shuffled(random, jobs));
    const bool any_work = *std::max_element(problem.work.begin(), problem.work.end()) > 0.0;
    const Kind kinds[] = {Kind::kResponse, Kind::kStretch, Kind::kTardiness,
                          Kind::kLateness, Kind::kSla,     Kind::kCustom};
    for (const Kind kind : kinds) {
      const CustomPenalty custom = chance(random, 0.5) ? cube : stairs;
      const Penalties penalties = table.penalties(kind, custom);
      const double best = best_known(problem, penalties, random);
      for (const int rounds : {1, 3, 30}) {
        const double bound = relaxation.bound(problem, penalties, start, earliest, rounds);
        CHECK_AT_MOST(bound, best, 1e-9 * scale_of(best));
        CHECK_EQUAL(bound > -kInfinity, any_work);
        if (rounds == 30 && kind == Kind::kResponse && any_work) {
          close += bound > 0.9 * best;
          count += 1.0;
        }
      }
    }
  });
  CHECK(close > 0.8 * count);
}

// Any point to linearise around gives a bound, however bad.
TEST(every_starting_point_is_valid) {
  trials(3, 150, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 6);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 4));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles earliest(jobs), start(jobs);
    earliest_completions(problem, earliest);
    for (double& t : start) t = std::pow(10.0, real(random, -3.0, 4.0));
    for (const Kind kind : {Kind::kResponse, Kind::kTardiness}) {
      const Penalties penalties = table.penalties(kind);
      const double best = best_known(problem, penalties, random);
      CHECK_AT_MOST(relaxation.bound(problem, penalties, start, earliest, 5), best,
                    1e-9 * scale_of(best));
    }
  });
}

// One job, or jobs whose maxima fit side by side: everybody runs alone, and the bound knows.
TEST(exact_where_nobody_competes) {
  trials(4, 200, [](Random& random) {
    Table table;
    std::int64_t slots = 0;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6));
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t high = integer(random, 1, 5);
      slots += high;
      table.add(real(random, 0.1, 9.0), chance(random, 0.5) ? integer(random, 0, high) : 0, high);
    }
    const Problem problem = table.problem(slots);
    const Penalties penalties = table.penalties(Kind::kCompletion);
    Doubles alone(jobs);
    double sum = 0.0;
    for (std::size_t j = 0; j < jobs; ++j) {
      alone[j] = table.work[j] / problem.high[j];
      sum += alone[j];
    }
    CHECK_NEAR(relaxation.bound(problem, penalties, alone, alone, 5), sum, 1e-9 * sum);
  });
}

TEST(many_jobs_and_all_magnitudes) {
  trials(5, 30, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 100, 400));
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t low = chance(random, 0.3) ? 1 : 0;
      table.add(std::pow(10.0, real(random, -4.0, 6.0)), low, integer(random, 1, 60));
    }
    const Problem problem = table.problem(400);
    const Penalties penalties = table.penalties(Kind::kCompletion);
    Order order = identity(jobs);
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return table.work[a] < table.work[b]; });
    Doubles earliest(jobs);
    earliest_completions(problem, earliest);
    const Doubles completion = pack_slowly(problem, order);
    const double value = value_of(problem, penalties, Aggregate::kSum, completion);
    const double bound = relaxation.bound(problem, penalties, completion, earliest, 10);
    CHECK_AT_MOST(bound, value, 1e-9 * value);
    CHECK_AT_MOST(0.5 * value, bound, 0.0);
  });
}

// Jobs of little weight that end on their minimum long before their turn comes: a minimum taken
// for more than their work would slow the others down and lift the bound above a schedule.
TEST(minima_that_end_before_their_turn) {
  trials(6, 12, [](Random& random) {
    const bool many = chance(random, 0.5);
    const std::size_t jobs = many ? 9000 : static_cast<std::size_t>(integer(random, 2, 300));
    const auto slots = static_cast<std::int64_t>(jobs);
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const bool last = j % 2 == 1;
      table.add(last ? real(random, 0.5, 2.0) : real(random, 100.0, 300.0), last ? 1 : 0,
                last ? 1 : slots);
      table.weight[j] = last ? 1e-9 : 1.0;
    }
    const Problem problem = table.problem(slots);
    const Penalties penalties = table.penalties(Kind::kCompletion);
    Order order = identity(jobs);
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      return table.work[a] * table.weight[b] < table.work[b] * table.weight[a];
    });
    MalleablePacking packing;
    Doubles completion(jobs);
    packing.run(problem, order, completion);
    const double value = value_of(problem, penalties, Aggregate::kSum, completion);
    Doubles earliest(jobs);
    earliest_completions(problem, earliest);
    const double bound = relaxation.bound(problem, penalties, completion, earliest, 1);
    CHECK_AT_MOST(bound, value, 1e-9 * value);
    CHECK_AT_MOST(0.9 * value, bound, 0.0);
  });
}

TEST(nothing_to_do) {
  Table table;
  table.add(0.0, 0, kAllSlots, 2.0, kInfinity, 3.0);
  const Problem problem = table.problem(4, 5.0);
  const Doubles zero{0.0};
  CHECK_EQUAL(relaxation.bound(problem, table.penalties(Kind::kCompletion), zero, zero, 3),
              -kInfinity);
}

}  // namespace test_mean_busy_time
}  // namespace malleable::check
