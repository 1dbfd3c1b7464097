// Slots by latest start that are held until something ends.
#include "instances.hpp"
#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/latest_start_shares.hpp"

namespace malleable::check {
namespace test_latest_start_shares {

LatestStartShares shares;  // one for all: a run must leave nothing behind

Doubles starts_of(const Problem& problem, const Doubles& due) {
  Doubles start(problem.size());
  for (std::size_t j = 0; j < start.size(); ++j) {
    start[j] = minimum_until(problem.work[j], problem.low[j], problem.high[j], due[j]);
  }
  return start;
}

Doubles held(const Problem& problem, const Doubles& start) {
  Doubles slots(problem.size());
  Order order(problem.size());
  shares.run(problem, start, order, slots);
  CHECK(is_permutation_of_all(order));
  return slots;
}

TEST(slots_fit_whatever_the_table) {
  trials(1, 2000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    const Problem problem = random_table(random, jobs, shape).problem(shape.slots);
    Doubles due(jobs);
    for (double& each : due) each = chance(random, 0.1) ? kInfinity : real(random, -5.0, 50.0);
    const Doubles slots = held(problem, starts_of(problem, due));
    double sum = 0.0, most = 0.0;
    for (std::size_t j = 0; j < jobs; ++j) {
      CHECK_EQUAL(slots[j], std::floor(slots[j]));
      if (!(problem.work[j] > 0.0)) {
        CHECK_EQUAL(slots[j], 0.0);
        continue;
      }
      CHECK(slots[j] >= problem.low[j] && slots[j] <= problem.high[j]);
      sum += slots[j];
      most += problem.high[j];
    }
    CHECK_EQUAL(sum, std::min(problem.slots, most));
  });
}

// The rule in small steps, until the first job ends: what each job gets on average.
Doubles average_slowly(const Problem& problem, const Doubles& due) {
  const std::size_t n = problem.size();
  const double step = 1e-3;
  Doubles left = problem.work;
  for (double time = 0.0;; time += step) {
    Doubles late(n);
    for (std::size_t j = 0; j < n; ++j) {
      late[j] = time + minimum_until(left[j], problem.low[j], problem.high[j], due[j] - time);
    }
    Order order = identity(n);
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return late[a] < late[b]; });
    double free = problem.slots;
    for (std::size_t j = 0; j < n; ++j) {
      left[j] -= problem.low[j] * step;
      free -= problem.low[j];
    }
    bool ended = false;
    for (const Index j : order) {
      const double more = std::min(free, problem.high[j] - problem.low[j]);
      left[j] -= more * step;
      free -= more;
      ended |= left[j] <= 0.0;
    }
    if (!ended) continue;
    for (std::size_t j = 0; j < n; ++j) left[j] = (problem.work[j] - left[j]) / (time + step);
    return left;
  }
}

TEST(each_job_has_what_the_rule_gives_on_average) {
  trials(2, 40, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 2, 6));
    Table table;
    Doubles due(jobs);
    const bool minima = chance(random, 0.5);
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t high = integer(random, 2000, 10'000);
      const double alone = real(random, 2.0, 8.0);
      table.add(alone * static_cast<double>(high), minima ? integer(random, 0, 900) : 0, high);
      due[j] = alone + real(random, 0.0, 6.0);
    }
    const Problem problem = table.problem(10'000);
    const Doubles slots = held(problem, starts_of(problem, due));
    const Doubles slowly = average_slowly(problem, due);
    for (std::size_t j = 0; j < jobs; ++j) CHECK(std::fabs(slots[j] - slowly[j]) < 30.0);
  });
}

TEST(narrow_jobs_are_rounded_up) {
  Table table;
  table.add(100.0, 0, 1);
  table.add(640.0, 0, 64);
  const Problem problem = table.problem(64);
  CHECK(held(problem, {2.0, 1.0}) == Doubles({1.0, 63.0}));
}

}  // namespace test_latest_start_shares
}  // namespace malleable::check
