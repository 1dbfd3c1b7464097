// Schedules by shares, for jobs whose speed-up is below linear.
#include <cmath>
#include <vector>

#include "instances.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/shared_packing.hpp"
#include "malleable/kernel/water_filling.hpp"

namespace malleable::check {
namespace test_shared_packing {

Shape any_shape(Random& random) {
  Shape shape;
  shape.slots = integer(random, 1, 8);
  return shape;
}

// Linear jobs: equal shares are FAIR's.
TEST(equal_shares_of_linear_jobs_are_the_water_filling) {
  trials(1, 300, [](Random& random) {
    const Shape shape = any_shape(random);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 7));
    const Problem problem = random_table(random, jobs, shape).problem(shape.slots);
    SharedPacking packing;
    WaterFilling water_filling;
    Doubles slots(jobs), level(jobs), ends(jobs), fair(jobs);
    packing.allocate(problem, {}, slots);
    water_filling.allocate(problem, {}, level);
    CHECK(slots == level);
    Plan plan;
    packing.run(problem, {}, {}, ends);
    water_filling.plan(problem, {}, fair, plan);
    for (std::size_t j = 0; j < jobs; ++j) CHECK_NEAR(ends[j], fair[j], 1e-9 * scale_of(fair[j]));
  });
}

// In order, with the steepest parts: the first one takes all it can use, as the packing does.
TEST(the_steepest_order_of_linear_jobs_is_the_packing) {
  trials(2, 300, [](Random& random) {
    Shape shape = any_shape(random);
    shape.minima = false;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 7));
    const Problem problem = random_table(random, jobs, shape).problem(shape.slots);
    const Order order = shuffled(random, jobs);
    SharedPacking::Rule rule;
    rule.order = order;
    SharedPacking packing;
    MalleablePacking packed;
    Doubles ends(jobs), expected(jobs);
    packing.run(problem, {}, rule, ends);
    packed.run(problem, order, expected);
    for (std::size_t j = 0; j < jobs; ++j) {
      CHECK_NEAR(ends[j], expected[j], 1e-9 * scale_of(expected[j]));
    }
  });
}

// With every rule, pieces do a job's work at its rates, within its limits and the slots.
TEST(pieces_do_the_work_at_the_rates_of_their_slots) {
  trials(3, 300, [](Random& random) {
    const Shape shape = any_shape(random);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6));
    const Problem problem = random_table(random, jobs, shape).problem(shape.slots);
    SpeedupColumns speedup;
    for (std::size_t j = 0; j < jobs; ++j) speedup.add(real(random, 0.1, 1.0), {});
    const Order order = shuffled(random, jobs);
    Doubles share(jobs);
    for (double& each : share) each = real(random, 0.1, 4.0);
    SharedPacking::Rule rule;
    if (chance(random, 0.5)) {
      rule.order = order;
      rule.power = real(random, 1.0, 4.0);
    } else {
      rule.share = share;
    }
    SharedPacking packing;
    Doubles ends(jobs), done(jobs, 0.0), last(jobs, 0.0);
    Plan plan;
    packing.run(problem, speedup.view(), rule, ends, &plan);
    const Pieces& pieces = plan.pieces;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const auto j = static_cast<std::size_t>(pieces.job[k]);
      const auto held = static_cast<double>(pieces.slots[k]);
      CHECK(held >= 1.0 && held <= problem.high[j]);
      CHECK(held >= problem.low[j]);
      done[j] += speedup.view().at(j, held) * (pieces.end[k] - pieces.start[k]);
      last[j] = std::max(last[j], pieces.end[k]);
      double used = 0.0;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const bool beside = pieces.start[i] <= pieces.start[k] && pieces.end[i] > pieces.start[k];
        used += beside ? static_cast<double>(pieces.slots[i]) : 0.0;
      }
      CHECK(used <= problem.slots);
    }
    for (std::size_t j = 0; j < jobs; ++j) {
      CHECK_NEAR(done[j], problem.work[j], 1e-9 * scale_of(problem.work[j]));
      if (problem.work[j] > 0.0) CHECK_NEAR(last[j], ends[j], 1e-9 * scale_of(ends[j]));
    }
  });
}

// Two equal jobs of s^(1/2) on eight slots: heSRPT gives the first one 6 of them, then all.
TEST(two_jobs_of_root_speed_up) {
  Table table;
  table.add(6.0);
  table.add(6.0);
  SpeedupColumns speedup;
  speedup.add(0.5, {});
  speedup.add(0.5, {});
  const Order order{0, 1};
  SharedPacking::Rule rule;
  rule.order = order;
  rule.power = 2.0;
  SharedPacking packing;
  Doubles ends(2);
  packing.run(table.problem(8), speedup.view(), rule, ends);
  const double first = 6.0 / std::sqrt(6.0), left = 6.0 - first * std::sqrt(2.0);
  CHECK_NEAR(ends[0], first, 1e-12);
  CHECK_NEAR(ends[1], first + left / std::sqrt(8.0), 1e-12);
}

}  // namespace test_shared_packing
}  // namespace malleable::check
