// Water-filling: one level of slots for all jobs, within minima and maxima.
#include "malleable/kernel/water_filling.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_water_filling {

WaterFilling water_filling;  // one for all: a call must leave nothing behind

void check_allocation(const Problem& problem, const Doubles& weight) {
  const Doubles expected = water_filling_slowly(problem, weight);
  Doubles slots(problem.size(), -1.0);
  water_filling.allocate(problem, weight, slots);
  double used = 0.0;
  for (std::size_t j = 0; j < slots.size(); ++j) {
    CHECK_EQUAL(slots[j], expected[j]);
    used += slots[j];
  }
  CHECK_AT_MOST(used, problem.slots, 0.0);
}

void check_schedule(const Problem& problem, const Doubles& weight) {
  const std::size_t n = problem.size();
  const Doubles expected = schedule_by(problem, [&](const Doubles& left) {
    Problem rest = problem;
    rest.work = left;
    for (std::size_t j = 0; j < n; ++j) {
      if (left[j] <= 0.0) rest.low[j] = 0.0;
    }
    return water_filling_slowly(rest, weight);
  });
  Doubles completion(n, -1.0);
  Plan plan;
  water_filling.plan(problem, weight, completion, plan);
  for (std::size_t j = 0; j < n; ++j) {
    CHECK_NEAR(completion[j], expected[j], 1e-9 * scale_of(expected[j]));
  }
  plan.completion = absolute(problem, completion);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) plan.start[j] = plan.completion[j];
  }
  if (n > 0) {
    check_limits(problem, plan);
    check_jobs(problem, plan);
  }
}

TEST(by_hand) {
  Table table;
  table.add(1.0, 0, 2);
  table.add(1.0, 5, 9);
  table.add(1.0);
  table.add(0.0, 3, 3);
  table.add(1.0);
  Doubles slots(5);
  water_filling.allocate(table.problem(14), {}, slots);
  CHECK(slots == (Doubles{2, 5, 4, 0, 3}));  // 3.5 each, the odd slot to the lower index
  water_filling.allocate(table.problem(14), Doubles{1, 1, 5, 1, 1}, slots);
  CHECK(slots == (Doubles{1, 5, 7, 0, 1}));  // 9/7, 5, 45/7, 9/7: the largest fraction is 3/7
}

TEST(unweighted) {
  trials(1, 2000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 40);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 15));
    const Table table = random_table(random, jobs, shape);
    check_allocation(table.problem(shape.slots), {});
    check_allocation(table.problem(shape.slots, 0.0, MinMode::kGang), {});
  });
}

TEST(weighted) {
  trials(2, 3000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 60);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    Table table = random_table(random, jobs, shape);
    const std::int64_t heaviest = chance(random, 0.5) ? 3 : 1000;
    for (double& w : table.weight) {
      w = static_cast<double>(integer(random, chance(random, 0.2) ? 0 : 1, heaviest));
    }
    check_allocation(table.problem(shape.slots), table.weight);
  });
}

TEST(the_scale_of_weights_does_not_matter) {
  trials(3, 300, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 30);
    Table table = random_table(random, 8, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles first(8), second(8);
    water_filling.allocate(problem, table.weight, first);
    for (double& w : table.weight) w *= 0x1p-40;
    water_filling.allocate(problem, table.weight, second);
    CHECK(first == second);
  });
}

TEST(weights_of_all_magnitudes) {
  trials(4, 500, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 50);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles weight(jobs), slots(jobs);
    for (double& w : weight) w = std::pow(10.0, real(random, -12.0, 12.0));
    water_filling.allocate(problem, weight, slots);
    double used = 0.0, most = 0.0;
    for (std::size_t j = 0; j < jobs; ++j) {
      used += slots[j];
      most += problem.work[j] > 0.0 ? problem.high[j] : 0.0;
      CHECK(slots[j] >= problem.low[j] && slots[j] <= problem.high[j]);
    }
    CHECK_EQUAL(used, std::min(most, problem.slots));
  });
}

// The last slot is where the definition has it, up to a million of them and however unlike the
// weights; kinks of several jobs beside each other, closer than any tolerance.
TEST(large_slot_counts) {
  trials(5, 2000, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    const std::int64_t heaviest = std::int64_t{1} << integer(random, 0, 20);
    const std::int64_t slots = (std::int64_t{1} << 20) >> integer(random, 0, 8);
    const std::int64_t kink = integer(random, 1, slots / 8);
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const auto weight = integer(random, chance(random, 0.1) ? 0 : 1, heaviest);
      const auto share = static_cast<std::int64_t>(Wide{kink} * weight / heaviest);
      const std::int64_t beside = std::max<std::int64_t>(share, 4) - 2;
      std::int64_t low = 0, high = kAllSlots;
      if (chance(random, 0.3)) low = beside + integer(random, -2, 2);
      if (chance(random, 0.5)) high = std::max(low, beside + integer(random, -1, 5));
      table.add(1.0, low, high, static_cast<double>(weight));
    }
    check_allocation(table.problem(slots), {});
    check_allocation(table.problem(slots), table.weight);
  });
}

// As many as there may be: no job has more than there are, or than it can use.
TEST(huge_slot_counts) {
  trials(8, 500, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    const std::int64_t slots = kMostSlots >> integer(random, 0, 8);
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t high = chance(random, 0.5) ? kAllSlots : integer(random, 1, slots / 4);
      table.add(1.0, 0, high, static_cast<double>(integer(random, 1, 1 << 20)));
    }
    const Problem problem = table.problem(slots);
    Doubles given(jobs);
    for (const Doubles& weight : {Doubles{}, table.weight}) {
      water_filling.allocate(problem, weight, given);
      double used = 0.0, most = 0.0;
      for (std::size_t j = 0; j < jobs; ++j) {
        CHECK(given[j] <= problem.high[j]);
        used += given[j];
        most += problem.high[j];
      }
      CHECK_AT_MOST(used, problem.slots, 0.0);
      CHECK_AT_MOST(std::min(most, problem.slots) - 8.0, used, 0.0);
    }
  });
}

TEST(schedules) {
  trials(6, 800, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 9));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, -3.0, 3.0), mode);
    check_schedule(problem, {});
    if (!problem.gang) check_schedule(problem, table.weight);
  });
}

// Slots handed on one by one are the water_filling that equal weights ask for again at every end.
TEST(handing_on_is_a_new_water_filling) {
  trials(10, 60, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 300);
    const auto jobs = static_cast<std::size_t>(integer(random, 10, 80));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles poured(jobs), anew(jobs);
    Plan one, other;
    water_filling.plan(problem, {}, poured, one);
    water_filling.plan(problem, Doubles(jobs, 1.0), anew, other);
    CHECK(poured == anew);
    CHECK(one.pieces.job == other.pieces.job);
    CHECK(one.pieces.slots == other.pieces.slots);
    CHECK(one.pieces.start == other.pieces.start);
  });
}

// A job that is nothing beside what has passed must end all the same.
TEST(works_of_all_magnitudes) {
  trials(7, 200, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 8));
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      table.add(std::pow(10.0, real(random, -12.0, 12.0)), 0, integer(random, 1, 3));
    }
    const Problem problem = table.problem(integer(random, 1, 9));
    Doubles completion(jobs);
    Plan plan;
    water_filling.plan(problem, {}, completion, plan);
    for (std::size_t j = 0; j < jobs; ++j) {
      CHECK(completion[j] >= problem.work[j] / problem.high[j] * (1.0 - 1e-9));
      CHECK(completion[j] < kInfinity);
    }
  });
}

TEST(equal_jobs) {
  Table table;
  for (int j = 0; j < 100; ++j) table.add(10.0, 0, 3);
  for (const std::int64_t slots : {1, 7, 99, 100, 101, 250, 300, 1000}) {
    check_allocation(table.problem(slots), {});
    check_schedule(table.problem(slots), {});
  }
}

}  // namespace test_water_filling
}  // namespace malleable::check
