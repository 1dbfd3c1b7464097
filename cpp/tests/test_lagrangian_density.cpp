// The same kind of bound from a price of slots that is a density over time.
#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/lagrangian_bound.hpp"
#include "malleable/kernel/lagrangian_density.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_lagrangian_density {

const std::function<bool()> kNeverStops;

constexpr Kind kSums[] = {Kind::kTardiness, Kind::kTardy, Kind::kSla, Kind::kResponse};

// For any cells, sample and parts.
TEST(no_schedule_pays_less) {
  LagrangianDensity density;
  trials(1, 200, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 6);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.2) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, -1.0, 1.0), mode);
    Doubles earliest(jobs), due(jobs);
    earliest_completions(problem, earliest);
    for (const Kind kind : kSums) {
      const Penalties penalties = table.penalties(kind);
      double best = best_of_all_orders(problem, penalties, Aggregate::kSum);
      for (int k = 0; k < 10; ++k) {
        best = std::min(
            best, value_of(problem, penalties, Aggregate::kSum, pack_at_random(problem, random)));
      }
      const Doubles known = pack_slowly(problem, shuffled(random, jobs));
      const double value = value_of(problem, penalties, Aggregate::kSum, known);
      density.begin(problem, penalties, earliest, known, kNeverStops);
      for (const std::size_t cells : {32u, 128u, 512u}) {
        density.refine(cells);
        density.sample(chance(random, 0.3) ? 2 : jobs);
        for (int step = 0; step < 40; ++step) density.step(value);
        for (const std::size_t parts : {1u, 6u}) {
          const double bound = density.bound(parts, due);
          CHECK_AT_MOST(bound, best, 1e-9 * scale_of(best));
          for (std::size_t j = 0; j < jobs; ++j) {
            CHECK(problem.work[j] == 0.0 || due[j] >= earliest[j]);
          }
        }
      }
    }
  });
}

// Cells say about as much as single times even where few jobs are late.
TEST(cells_are_not_far_from_single_times) {
  trials(2, 5, [](Random& random) {
    Shape shape;
    shape.slots = 10;
    const std::size_t jobs = 150;
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles earliest(jobs), due(jobs);
    earliest_completions(problem, earliest);
    const Penalties penalties = table.penalties(Kind::kTardiness);
    // By weight over work, and what some such order pays: steps go for a value that is not far off.
    Order order = identity(jobs);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
      return table.work[a] * table.weight[b] < table.work[b] * table.weight[a];
    });
    const Doubles known = pack_slowly(problem, order);
    const double value = value_of(problem, penalties, Aggregate::kSum, known);
    LagrangianBound points;
    CHECK(points.begin(problem, penalties, earliest, known, 64));
    LagrangianDensity density;
    density.begin(problem, penalties, earliest, known, kNeverStops);
    for (const std::size_t cells : {32u, 64u, 128u}) {
      density.refine(cells);
      for (int step = 0; step < 70; ++step) density.step(value);
    }
    CHECK_AT_MOST(0.9 * points.improve(value, 200), density.bound(1, due), 0.0);
  });
}

// One job, whose tail costs what its slots are worth: no price keeps it from ending at once.
TEST(one_job_is_exact) {
  Table table;
  table.add(8.0, 0, 2, 3.0, 1.0);
  const Problem problem = table.problem(2);
  const Penalties penalties = table.penalties(Kind::kTardiness);
  const Doubles earliest{4.0};
  LagrangianDensity density;
  density.begin(problem, penalties, earliest, earliest, kNeverStops);
  Doubles due(1);
  CHECK_NEAR(density.bound(1, due), 9.0, 1e-9);
  CHECK_NEAR(due[0], 4.0, 1e-9);
}

// Fifty equal jobs of one slot, all due at once: 1, 2, ..., 50 s late one after the other on one
// slot, as Smith's rule has it; the density leaves little of it open.
TEST(a_batch_on_one_slot_is_close) {
  Table table;
  for (int k = 0; k < 50; ++k) table.add(1.0, 0, 1, 1.0, 0.0);
  const Problem problem = table.problem(1);
  const Penalties penalties = table.penalties(Kind::kTardiness);
  Doubles earliest(50, 1.0), known(50), due(50);
  for (int k = 0; k < 50; ++k) known[static_cast<std::size_t>(k)] = k + 1.0;
  LagrangianDensity density;
  density.begin(problem, penalties, earliest, known, kNeverStops);
  for (const std::size_t cells : {32u, 64u, 128u}) {
    density.refine(cells);
    for (int step = 0; step < 60; ++step) density.step(1275.0);
  }
  const double bound = density.bound(1, due);
  CHECK_AT_MOST(bound, 1275.0, 1e-9);
  CHECK_AT_MOST(0.97 * 1275.0, bound, 0.0);
  CHECK_EQUAL(density.average().size(), 50u);
}

}  // namespace test_lagrangian_density
}  // namespace malleable::check
