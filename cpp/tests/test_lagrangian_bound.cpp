// A lower bound of sums from prices of the work that must be done by certain times.
#include <algorithm>
#include <cmath>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/lagrangian_bound.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_lagrangian_bound {

constexpr Kind kSums[] = {Kind::kTardy, Kind::kSla, Kind::kTardiness, Kind::kStretch,
                          Kind::kResponse};

struct Instance {
  Table table;
  Problem problem;
  Doubles earliest;
};

Instance random_instance(Random& random) {
  Shape shape;
  shape.slots = integer(random, 1, 6);
  const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
  Instance made{random_table(random, jobs, shape), {}, Doubles(jobs)};
  const MinMode mode = chance(random, 0.2) ? MinMode::kGang : MinMode::kGuarantee;
  made.problem = made.table.problem(shape.slots, real(random, -1.0, 1.0), mode);
  earliest_completions(made.problem, made.earliest);
  return made;
}

TEST(no_schedule_pays_less) {
  LagrangianBound prices;
  std::size_t tight = 0, asked = 0;
  trials(1, 400, [&](Random& random) {
    const Instance made = random_instance(random);
    const Problem& problem = made.problem;
    for (const Kind kind : kSums) {
      const Penalties penalties = made.table.penalties(kind);
      double best = best_of_all_orders(problem, penalties, Aggregate::kSum);
      for (int k = 0; k < 10; ++k) {
        best = std::min(
            best, value_of(problem, penalties, Aggregate::kSum, pack_at_random(problem, random)));
      }
      const Doubles known = pack_slowly(problem, shuffled(random, problem.size()));
      const double value = value_of(problem, penalties, Aggregate::kSum, known);
      for (const std::size_t times : {1u, 3u, 64u}) {
        if (!prices.begin(problem, penalties, made.earliest, known, times)) continue;
        double before = -kInfinity;
        for (const std::size_t steps : {1u, 10u, 100u}) {
          const double bound = prices.improve(value, steps);
          CHECK_AT_MOST(bound, best, 1e-9 * scale_of(best));
          CHECK(bound >= before);
          before = bound;
        }
        asked += times == 64 && best > 0.0;
        tight += times == 64 && best > 0.0 && before > 0.7 * best;
      }
    }
  });
  CHECK(2 * tight > asked);
}

// One time and one multiplier: the same by looking at many multipliers and completions.
TEST(one_time_is_exact) {
  LagrangianBound prices;
  std::size_t compared = 0, asked = 0;
  trials(2, 300, [&](Random& random) {
    const Instance made = random_instance(random);
    const Problem& problem = made.problem;
    const std::size_t n = problem.size();
    double end = 0.0;
    for (const double work : problem.work) end += work / problem.slots;
    for (const Kind kind : {Kind::kTardy, Kind::kSla, Kind::kTardiness}) {
      const Penalties penalties = made.table.penalties(kind);
      ++asked;
      const Doubles late(n, kInfinity);
      if (!prices.begin(problem, penalties, made.earliest, late, 1)) continue;
      double time = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
          const double at = penalties.at()[r], due = at + tolerance(at) - problem.now;
          if (problem.work[j] > 0.0 && due >= made.earliest[j] && due <= end) {
            time = std::max(time, due);
          }
        }
      }
      const auto dual = [&](double multiplier) {
        double sum = -multiplier * problem.slots * time;
        for (std::size_t j = 0; j < n; ++j) {
          if (problem.work[j] == 0.0) {
            sum += penalties(j, problem.idle_end[j]);
            continue;
          }
          const double low = problem.gang ? 0.0 : problem.low[j];
          double least = kInfinity;
          const auto consider = [&](double c) {
            if (c < made.earliest[j]) return;
            least = std::min(least, penalties(j, problem.now + c) +
                                        multiplier * demand_bound(problem.work[j], low,
                                                                  problem.high[j], c, time));
          };
          consider(made.earliest[j]);
          consider(1e6);
          for (int k = 0; k <= 2000; ++k) consider(end * 2.0 * k / 2000.0);
          for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
            const double at = penalties.at()[r];
            consider(at + 0.5 * tolerance(at) - problem.now);
          }
          sum += least;
        }
        return sum;
      };
      // Concave: a ternary search finds its top.
      double low = 0.0, high = 1e3;
      for (int k = 0; k < 60; ++k) {
        const double a = low + (high - low) / 3.0, b = high - (high - low) / 3.0;
        (dual(a) < dual(b) ? low : high) = dual(a) < dual(b) ? a : b;
      }
      const double top = dual(low);
      const double bound = prices.improve(top + 0.1 * std::fabs(top) + 0.1, 2000);
      CHECK_AT_MOST(bound, top, 1e-6 * scale_of(top));
      CHECK_AT_MOST(top, bound, 0.01 * scale_of(top));
      ++compared;
    }
  });
  CHECK(4 * compared > asked);
}

TEST(choices_are_completions_that_can_be) {
  LagrangianBound prices;
  trials(3, 200, [&](Random& random) {
    const Instance made = random_instance(random);
    const std::size_t n = made.problem.size();
    for (const Kind kind : kSums) {
      const Penalties penalties = made.table.penalties(kind);
      const Doubles known = pack_slowly(made.problem, shuffled(random, n));
      if (!prices.begin(made.problem, penalties, made.earliest, known, 16)) continue;
      prices.improve(value_of(made.problem, penalties, Aggregate::kSum, known), 20);
      Doubles due(n);
      prices.choices(due);
      for (std::size_t j = 0; j < n; ++j) {
        CHECK(made.problem.work[j] == 0.0 || due[j] >= made.earliest[j]);
        CHECK(std::isfinite(prices.average()[j]));
      }
    }
  });
}

double square(std::int64_t, double t) { return t * t; }

TEST(nothing_is_known_of_custom_penalties) {
  Table table;
  table.add(4.0);
  const Problem problem = table.problem(2);
  const Doubles one{2.0};
  LagrangianBound prices;
  CHECK(!prices.begin(problem, table.penalties(Kind::kCustom, square), one, one, 8));
}

}  // namespace test_lagrangian_bound
}  // namespace malleable::check
