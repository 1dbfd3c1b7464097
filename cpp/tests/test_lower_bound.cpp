// The best lower bound of an objective, against schedules that exist.
#include "malleable/kernel/lower_bound.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_lower_bound {

LowerBound lower_bound;

double cube(std::int64_t, double t) { return t * t * t; }

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

void check_bound(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                 double best, const Doubles& known) {
  const double value = value_of(problem, penalties, aggregate, known);
  for (const bool quick : {false, true}) {
    const double bound = lower_bound.run(problem, penalties, aggregate, known, value, quick);
    CHECK(bound <= value);
    CHECK_AT_MOST(bound, best, 1e-8 * scale_of(best));
  }
}

TEST(no_schedule_is_better) {
  trials(1, 250, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 7);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.25) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, -1.0, 1.0), mode);
    std::vector<Doubles> schedules;
    all_orders(jobs, [&](const Order& order) { schedules.push_back(pack_slowly(problem, order)); });
    for (int k = 0; k < 20; ++k) schedules.push_back(pack_at_random(problem, random));
    std::vector<Penalties> objectives{table.penalties(Kind::kCustom, cube)};
    for (const Kind kind : kKinds) objectives.push_back(table.penalties(kind));
    for (const Penalties& penalties : objectives) {
      for (const Aggregate aggregate : kAggregates) {
        double best = kInfinity;
        for (const Doubles& schedule : schedules) {
          best = std::min(best, value_of(problem, penalties, aggregate, schedule));
        }
        check_bound(problem, penalties, aggregate, best, schedules[random() % schedules.size()]);
      }
    }
  });
}

// Without limits some order is optimal, and for these objectives the bound finds its value.
TEST(tight_without_limits) {
  trials(2, 200, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 5);
    shape.minima = shape.maxima = false;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    const Doubles known = pack_slowly(problem, shuffled(random, jobs));
    const auto check_tight = [&](Kind kind, Aggregate aggregate) {
      const Penalties penalties = table.penalties(kind);
      const double best = best_of_all_orders(problem, penalties, aggregate);
      const double value = value_of(problem, penalties, aggregate, known);
      const double bound = lower_bound.run(problem, penalties, aggregate, known, value);
      CHECK_NEAR(bound, best, 1e-7 * scale_of(best));
    };
    check_tight(Kind::kCompletion, Aggregate::kSum);
    for (const Kind kind : kKinds) check_tight(kind, Aggregate::kMax);
  });
}

TEST(edges) {
  CHECK_EQUAL(lower_bound.run(Table{}.problem(3), Table{}.penalties(Kind::kTardy), Aggregate::kSum,
                              {}, 0.0),
              0.0);
  Table idle;
  idle.add(0.0, 0, kAllSlots, 2.0, 1.0, 4.0);
  for (const Kind kind : kKinds) {
    const Penalties penalties = idle.penalties(kind);
    const double paid = penalties(0, 4.0);
    for (const Aggregate aggregate : kAggregates) {
      const Doubles none{0.0};
      CHECK_NEAR(lower_bound.run(idle.problem(3, 9.0), penalties, aggregate, none, paid), paid,
                 1e-9);
    }
  }
  // A schedule that is no better than the trivial bound is optimal.
  Table one;
  one.add(6.0, 0, 2);
  const Doubles three{3.0};
  const Penalties response = one.penalties(Kind::kResponse);
  CHECK_EQUAL(lower_bound.run(one.problem(4), response, Aggregate::kSum, three, 3.0), 3.0);
}

TEST(jobs_that_never_run) {
  Table table;
  table.add(4.0, 9, 9);
  table.add(4.0, 1, 2);
  const Problem problem = table.problem(4, 0.0, MinMode::kGang);
  const Doubles known{kInfinity, 2.0};
  for (const Kind kind : kKinds) {
    if (kind == Kind::kLateness) continue;
    const Penalties penalties = table.penalties(kind);
    for (const Aggregate aggregate : kAggregates) {
      const double value = value_of(problem, penalties, aggregate, known);
      const double bound = lower_bound.run(problem, penalties, aggregate, known, value);
      CHECK(!std::isnan(bound) && bound <= value);
    }
  }
}

}  // namespace test_lower_bound
}  // namespace malleable::check
