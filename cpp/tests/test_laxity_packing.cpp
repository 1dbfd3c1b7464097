// Priority orders packed so that jobs get their maximum from their latest start on.
#include "malleable/kernel/laxity_packing.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "oracles.hpp"
#include "plan_check.hpp"

namespace malleable::check {
namespace test_laxity_packing {

LaxityPacking packing;  // one for all: a run must leave nothing behind

// All slots computed again from their definition at every event; ends before latest starts.
struct Slow {
  const Problem& problem;
  const Order& order;
  const Doubles& due;
  Doubles left = problem.work, end = Doubles(problem.size(), 0.0);
  std::vector<bool> urgent = std::vector<bool>(problem.size(), false), hopeless = urgent,
                    done = urgent;
  double time = 0.0;

  bool alive(Index j) const { return problem.work[j] > 0.0 && !done[j]; }
  double committed() const {
    double sum = 0.0;
    for (const Index j : order) {
      if (alive(j)) sum += urgent[j] ? problem.high[j] : problem.low[j];
    }
    return sum;
  }
  Doubles rates() const {
    Doubles rate(problem.size(), 0.0);
    double slack = problem.slots - committed();
    for (const Index j : order) {
      if (!alive(j)) continue;
      rate[j] = urgent[j] ? problem.high[j] : problem.low[j];
      const double more = std::min(slack, problem.high[j] - rate[j]);
      rate[j] += more;
      slack -= more;
    }
    return rate;
  }
  double latest_start(Index j, double rate) const {
    if (urgent[j] || hopeless[j] || rate >= problem.high[j]) return kInfinity;
    const double most = problem.high[j];
    return std::max(time, (most * due[j] - left[j] - rate * time) / (most - rate));
  }
  bool step() {
    const Doubles rate = rates();
    double end_at = kInfinity, start_at = kInfinity;
    Index ends = kNone, starts = kNone;
    for (const Index j : order) {
      if (!alive(j)) continue;
      if (const double at = time + left[j] / rate[j]; at < end_at) end_at = at, ends = j;
      if (const double at = latest_start(j, rate[j]); at < start_at) start_at = at, starts = j;
    }
    if (ends == kNone) return false;
    const double next = std::min(end_at, start_at);
    for (const Index j : order) left[j] = std::max(0.0, left[j] - rate[j] * (next - time));
    time = next;
    if (end_at <= start_at) {
      done[ends] = true;
      end[ends] = time;
      return true;
    }
    const bool fits = committed() + problem.high[starts] - problem.low[starts] <= problem.slots;
    (fits ? urgent : hopeless)[starts] = true;
    return true;
  }
  Doubles run() {
    while (step()) {
    }
    return end;
  }
};

void check_packing(const Problem& problem, const Order& order, const Doubles& due) {
  const std::size_t n = problem.size();
  Doubles completion(n, -1.0), traced(n, -1.0);
  packing.run(problem, order, due, completion);
  const Doubles expected = Slow{problem, order, due}.run();
  for (std::size_t j = 0; j < n; ++j) {
    CHECK_NEAR(completion[j], expected[j], 1e-9 * scale_of(expected[j]));
  }
  Plan plan;
  packing.run(problem, order, due, traced, &plan);
  CHECK(traced == completion);
  plan.completion = absolute(problem, completion);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) plan.start[j] = plan.completion[j];
  }
  if (n == 0) return;
  check_limits(problem, plan);
  check_jobs(problem, plan);
}

// Two slots. The first in the order is put off: the second job is due at 3 and needs both slots
// from 1 on.
TEST(by_hand) {
  Table table;
  table.add(6.0, 0, 2);
  table.add(4.0, 0, 2);
  Doubles completion(2);
  packing.run(table.problem(2), Order{0, 1}, Doubles{kInfinity, 3.0}, completion);
  CHECK_NEAR(completion[1], 3.0, 1e-12);
  CHECK_NEAR(completion[0], 5.0, 1e-12);
  // Not all can be met: when the latest start of the last job has come, at 1.5, both slots are the
  // second job's until 3, and the first one, without a deadline, gets them then.
  table.add(2.0, 0, 2);
  completion.resize(3);
  packing.run(table.problem(2), Order{0, 1, 2}, Doubles{kInfinity, 3.0, 2.5}, completion);
  CHECK_NEAR(completion[1], 3.0, 1e-12);
  CHECK_NEAR(completion[0], 5.0, 1e-12);
  CHECK_NEAR(completion[2], 6.0, 1e-12);
}

// The last job holds its minimum until its latest start, (3 * 4 - 8 - 1 * 0) / (3 - 1) = 2.
TEST(minima_count) {
  Table table;
  table.add(20.0, 0, 3);
  table.add(8.0, 1, 3);
  Doubles completion(2);
  packing.run(table.problem(3), Order{0, 1}, Doubles{kInfinity, 4.0}, completion);
  CHECK_NEAR(completion[1], 4.0, 1e-12);
  CHECK_NEAR(completion[0], 4.0 + (20.0 - 4.0) / 3.0, 1e-12);
}

TEST(no_deadlines_is_malleable_packing) {
  MalleablePacking plain;
  trials(1, 300, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 30));
    const Problem problem = random_table(random, jobs, shape).problem(shape.slots);
    const Order order = shuffled(random, jobs);
    Doubles expected(jobs, 0.0), completion(jobs);
    plain.run(problem, order, expected);
    packing.run(problem, order, Doubles(jobs, kInfinity), completion);
    for (std::size_t j = 0; j < jobs; ++j) {
      CHECK_NEAR(completion[j], expected[j], 1e-9 * scale_of(expected[j]));
    }
  });
}

TEST(random_tables) {
  trials(2, 2000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.overcommit = chance(random, 0.2);
    shape.minima = chance(random, 0.6);
    shape.maxima = chance(random, 0.9);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 14));
    const Table table = random_table(random, jobs, shape);
    Doubles due = table.deadline;
    for (double& d : due) {
      if (chance(random, 0.2)) d = kInfinity;
    }
    check_packing(table.problem(shape.slots, real(random, -5.0, 5.0)), shuffled(random, jobs), due);
  });
}

TEST(many_jobs) {
  trials(3, 6, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 60);
    const auto jobs = static_cast<std::size_t>(integer(random, 300, 600));
    const Table table = random_table(random, jobs, shape);
    check_packing(table.problem(shape.slots), shuffled(random, jobs), table.deadline);
  });
}

}  // namespace test_laxity_packing
}  // namespace malleable::check
