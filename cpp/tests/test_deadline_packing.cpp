// Schedules that meet deadlines whenever any schedule does.
#include "malleable/kernel/deadline_packing.hpp"
#include "malleable/kernel/demand_bound.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_deadline_packing {

DeadlinePacking packing;  // one for all: a run must leave nothing behind

// Work and slots hold for any due dates, minima if the dates can be met. Returns the completions,
// from now.
Doubles check_packing(const Problem& problem, const Doubles& due) {
  const std::size_t n = problem.size();
  Order order(n);
  Doubles completion(n, -1.0);
  Plan plan;
  packing.run(problem, due, order, completion, plan);
  CHECK(is_permutation_of_all(order));
  for (std::size_t k = 1; k < n; ++k) CHECK(due[order[k - 1]] <= due[order[k]]);
  plan.completion = absolute(problem, completion);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) plan.start[j] = plan.completion[j];
  }
  Problem kept = problem;
  if (DemandBound().peak(problem, due).excess > 0.0) kept.drop_minima();
  if (n > 0) {
    check_limits(kept, plan);
    check_jobs(kept, plan);
  }
  return completion;
}

Doubles random_due(Random& random, const Table& table) {
  Doubles due = table.deadline;
  const double stretch = real(random, 0.3, 3.0);
  for (std::size_t j = 0; j < due.size(); ++j) {
    due[j] = chance(random, 0.1) ? kInfinity : std::max(0.05, stretch * due[j]);
  }
  return due;
}

TEST(meets_every_due_date_that_can_be_met) {
  DemandBound forced;
  std::size_t met = 0;
  trials(1, 4000, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.whole = chance(random, 0.3);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 10));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, real(random, -3.0, 3.0));
    const Doubles due = random_due(random, table);
    const Doubles completion = check_packing(problem, due);
    if (forced.peak(problem, due).excess > 0.0) return;
    ++met;
    for (std::size_t j = 0; j < jobs; ++j) {
      if (due[j] < kInfinity) CHECK_AT_MOST(completion[j], due[j], 1e-9 * scale_of(due[j]));
    }
  });
  CHECK(met > 50);
}

TEST(what_fails_the_test_no_order_meets) {
  DemandBound forced;
  std::size_t failed = 0;
  trials(2, 500, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 6);
    shape.whole = chance(random, 0.5);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    const Doubles due = random_due(random, table);
    if (forced.peak(problem, due).excess <= 1e-6) return;
    ++failed;
    const auto late = [&](const Doubles& completion) {
      bool some = false;
      for (std::size_t j = 0; j < jobs; ++j) some |= completion[j] > due[j];
      return some;
    };
    all_orders(jobs, [&](const Order& order) { CHECK(late(pack_slowly(problem, order))); });
    for (int k = 0; k < 10; ++k) CHECK(late(pack_at_random(problem, random)));
    CHECK(late(check_packing(problem, due)));
  });
  CHECK(failed > 10);
}

// Three slots, two jobs of work 3, minimum 1, maximum 2: every packing order needs 2.25.
TEST(better_than_every_order) {
  Table table;
  table.add(3.0, 1, 2);
  table.add(3.0, 1, 2);
  const Problem problem = table.problem(3);
  double best = kInfinity;
  all_orders(2, [&](const Order& order) {
    const Doubles completion = pack_slowly(problem, order);
    best = std::min(best, std::max(completion[0], completion[1]));
  });
  CHECK_NEAR(best, 2.25, 1e-12);
  const Doubles completion = check_packing(problem, {2.0, 2.0});
  CHECK_NEAR(std::max(completion[0], completion[1]), 2.0, 1e-12);
}

// While a job waits for slots that it could use, none is free.
TEST(leaves_no_usable_slot_idle) {
  trials(3, 800, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 8));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles completion(jobs);
    Order order(jobs);
    Plan plan;
    packing.run(problem, random_due(random, table), order, completion, plan);
    Doubles times{0.0};
    times.insert(times.end(), plan.pieces.end.begin(), plan.pieces.end.end());
    times.insert(times.end(), plan.pieces.start.begin(), plan.pieces.start.end());
    std::sort(times.begin(), times.end());
    for (std::size_t k = 1; k < times.size(); ++k) {
      const double middle = (times[k - 1] + times[k]) / 2.0;
      if (times[k] - times[k - 1] < 1e-9 * scale_of(middle)) continue;
      Doubles held(jobs, 0.0);
      double used = 0.0;
      for (std::size_t p = 0; p < plan.pieces.size(); ++p) {
        if (plan.pieces.start[p] > middle || plan.pieces.end[p] < middle) continue;
        held[static_cast<std::size_t>(plan.pieces.job[p])] +=
            static_cast<double>(plan.pieces.slots[p]);
        used += static_cast<double>(plan.pieces.slots[p]);
      }
      for (std::size_t j = 0; j < jobs; ++j) {
        const bool could = completion[j] > middle && held[j] < problem.high[j];
        if (could) CHECK_EQUAL(used, problem.slots);
      }
    }
  });
}

TEST(no_job_and_one) {
  check_packing(Table{}.problem(3), {});
  for (const double due : {1.0, 2.0, 100.0, kInfinity}) {
    Table table;
    table.add(6.0, 1, 3);
    const Doubles completion = check_packing(table.problem(3), {due});
    CHECK_NEAR(completion[0], 2.0, 1e-12);
    Table idle;
    idle.add(0.0);
    check_packing(idle.problem(3), {due});
  }
}

TEST(due_dates_that_have_passed) {
  trials(4, 300, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 6);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6));
    const Table table = random_table(random, jobs, shape);
    Doubles due(jobs);
    for (double& d : due) {
      const double some[] = {0.0, -1.0, -kInfinity, 1e-12, 3.0};
      d = some[random() % 5];
    }
    check_packing(table.problem(shape.slots), due);
  });
}

TEST(due_dates_that_tie) {
  trials(5, 300, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    shape.whole = true;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    const Table table = random_table(random, jobs, shape);
    Doubles due(jobs, static_cast<double>(integer(random, 1, 20)));
    check_packing(table.problem(shape.slots), due);
  });
}

// Jobs so short beside the others that they vanish in the rounding of time.
TEST(works_of_all_magnitudes) {
  trials(6, 300, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 8));
    Table table;
    Doubles due;
    for (std::size_t j = 0; j < jobs; ++j) {
      const double work = std::pow(10.0, real(random, -9.0, 9.0));
      table.add(work, integer(random, 0, 1), integer(random, 1, 9));
      due.push_back(work * real(random, 0.2, 40.0));
    }
    check_packing(table.problem(10), due);
  });
}

TEST(huge_slot_counts) {
  trials(7, 200, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 8));
    Table table;
    Doubles due;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t high = chance(random, 0.4) ? kAllSlots : integer(random, 1, kMostSlots);
      const std::int64_t low = integer(random, 0, std::min(high, kMostSlots / 8));
      const double work = real(random, 1e3, 1e16);
      table.add(work, low, high);
      due.push_back(work / static_cast<double>(std::min(high, kMostSlots)) *
                    real(random, 0.5, 8.0));
    }
    check_packing(table.problem(kMostSlots), due);
  });
}

TEST(many_jobs) {
  trials(8, 5, [](Random& random) {
    Shape shape;
    shape.slots = 200;
    const Table table = random_table(random, 800, shape);
    check_packing(table.problem(200), random_due(random, table));
  });
}

}  // namespace test_deadline_packing
}  // namespace malleable::check
