// Fixed numbers of slots of least cost.
#include <queue>

#include "instances.hpp"
#include "malleable/kernel/resource_allocation.hpp"

namespace malleable::check {
namespace test_resource_allocation {

ResourceAllocation allocation;

double pay(const Problem& problem, const Penalties& penalties, std::size_t j, double slots) {
  if (problem.work[j] == 0.0) return penalties(j, problem.idle_end[j]);
  const double span = slots > 0.0 ? problem.work[j] / slots : kInfinity;
  return penalties(j, problem.now + span);
}

// The least objective if every job may have slots between `low` and `high`, slot by slot. A gang
// may also have none if it `may_wait`.
double least_objective(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       bool may_wait = false) {
  const auto capacity = static_cast<std::size_t>(problem.slots);
  const bool sum = aggregate == Aggregate::kSum;
  Doubles best(capacity + 1, sum || problem.size() == 0 ? 0.0 : -kInfinity);
  for (std::size_t j = 0; j < problem.size(); ++j) {
    Doubles next(capacity + 1, kInfinity);
    const bool work = problem.work[j] > 0.0;
    const double first = !work          ? 0.0
                         : problem.gang ? std::max(1.0, problem.low[j])
                                        : problem.low[j];
    for (double s = may_wait ? 0.0 : first; s <= (work ? problem.high[j] : 0.0); ++s) {
      if (s > 0.0 && s < first) continue;
      const double paid = pay(problem, penalties, j, s);
      for (auto c = static_cast<std::size_t>(s); c <= capacity; ++c) {
        const double before = best[c - static_cast<std::size_t>(s)];
        next[c] = std::min(next[c], sum ? before + paid : std::max(before, paid));
      }
    }
    best = next;
  }
  return best[capacity];
}

struct Stated {
  double value = 0.0, most = 0.0;  // most: what one job can gain
};

// Within limits and slots.
Stated check_slots(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                   const Doubles& slots) {
  Stated told;
  double used = 0.0, sum = 0.0, worst = problem.size() > 0 ? -kInfinity : 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double low = problem.gang && slots[j] == 0.0 ? 0.0 : problem.low[j];
    CHECK(slots[j] == std::floor(slots[j]));
    CHECK(slots[j] >= low && slots[j] <= problem.high[j]);
    if (problem.work[j] == 0.0) CHECK_EQUAL(slots[j], 0.0);
    used += slots[j];
    const double paid = pay(problem, penalties, j, slots[j]);
    sum += paid;
    worst = std::max(worst, paid);
    const double first = std::max(1.0, problem.low[j]);
    told.most = std::max(
        told.most, pay(problem, penalties, j, first) - pay(problem, penalties, j, problem.high[j]));
  }
  CHECK_AT_MOST(used, problem.slots, 0.0);
  told.value = aggregate == Aggregate::kSum ? sum : worst;
  return told;
}

// The least, or of a sum with steps at most what one job can gain above it.
void check_optimal(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                   bool exact) {
  Doubles slots(problem.size(), -1.0);
  allocation.run(problem, penalties, aggregate, {}, slots);
  const Stated told = check_slots(problem, penalties, aggregate, slots);
  const double best = least_objective(problem, penalties, aggregate);
  const double more = exact || !(best < kInfinity) ? 0.0 : told.most;
  CHECK_AT_MOST(told.value, best + more, 1e-9 * scale_of(best));
}

bool convex(Kind kind, Aggregate aggregate) {
  return aggregate == Aggregate::kMax ||
         (kind != Kind::kTardy && kind != Kind::kSla && kind != Kind::kCustom);
}

double needed(const Problem& problem) {
  double sum = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] > 0.0) sum += std::max(1.0, problem.low[j]);
  }
  return sum;
}

double square(std::int64_t job, double t) { return t * t * static_cast<double>(job + 1); }
double root(std::int64_t, double t) { return std::sqrt(std::max(t, 0.0)); }
double stairs(std::int64_t, double t) { return std::floor(t); }

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

TEST(every_metric) {
  trials(1, 1500, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 14);
    shape.overcommit = chance(random, 0.2);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 6));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, real(random, -1.0, 3.0));
    for (const Kind kind : kKinds) {
      for (const Aggregate aggregate : kAggregates) {
        check_optimal(problem, table.penalties(kind), aggregate, convex(kind, aggregate));
      }
    }
  });
}

TEST(mixed_and_custom_penalties) {
  trials(2, 400, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 2, 12);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    for (const CustomPenalty custom : {square, root, stairs}) {
      Penalties penalties;
      std::vector<Kind> kinds(jobs);
      for (Kind& kind : kinds) {
        kind = static_cast<Kind>(integer(random, 0, static_cast<int>(Kind::kCustom)));
      }
      penalties.build(table.view(), kinds, custom);
      for (const Aggregate aggregate : kAggregates) {
        const bool exact = convex(Kind::kCustom, aggregate);
        check_optimal(problem, penalties, aggregate, exact);
        check_optimal(problem, table.penalties(Kind::kCustom, custom), aggregate, exact);
      }
    }
  });
}

TEST(gangs_that_fit_together) {
  trials(3, 800, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 3, 14);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, 0.0, MinMode::kGang);
    if (needed(problem) > problem.slots) return;
    for (const Kind kind : kKinds) {
      for (const Aggregate aggregate : kAggregates) {
        check_optimal(problem, table.penalties(kind), aggregate, convex(kind, aggregate));
      }
    }
  });
}

// Fewer slots than jobs: the early ones in the preference get one each, minima are kept.
TEST(some_have_to_wait) {
  Table table;
  for (int j = 0; j < 6; ++j) table.add(4.0 + j, j == 5 ? 1 : 0);
  const Problem problem = table.problem(3);
  const Penalties penalties = table.penalties(Kind::kResponse);
  for (const Aggregate aggregate : kAggregates) {
    Doubles slots(6);
    allocation.run(problem, penalties, aggregate, Order{4, 2, 0, 1, 3, 5}, slots);
    CHECK(slots == (Doubles{0, 0, 1, 0, 1, 1}));
    allocation.run(problem, penalties, aggregate, {}, slots);
    CHECK(slots == (Doubles{1, 1, 0, 0, 0, 1}));
  }
}

TEST(gangs_that_have_to_wait) {
  Table table;
  table.add(4.0, 3, 4);
  table.add(4.0, 3, 4);
  table.add(4.0, 9, 9);  // never fits
  table.add(4.0, 1, 4);
  const Problem problem = table.problem(5, 0.0, MinMode::kGang);
  for (const Aggregate aggregate : kAggregates) {
    Doubles slots(4);
    allocation.run(problem, table.penalties(Kind::kResponse), aggregate, Order{2, 1, 0, 3}, slots);
    CHECK_EQUAL(slots[0], 0.0);
    CHECK_EQUAL(slots[2], 0.0);
    CHECK(slots[1] >= 3.0 && slots[3] >= 1.0 && slots[1] + slots[3] <= 5.0);
  }
}

TEST(limits_hold_when_somebody_waits) {
  trials(5, 500, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 5);
    shape.overcommit = true;
    const auto jobs = static_cast<std::size_t>(integer(random, 3, 12));
    const Table table = random_table(random, jobs, shape);
    for (const MinMode mode : {MinMode::kGuarantee, MinMode::kGang}) {
      const Problem problem = table.problem(shape.slots, 0.0, mode);
      for (const Kind kind : kKinds) {
        for (const Aggregate aggregate : kAggregates) {
          Doubles slots(jobs);
          const Penalties penalties = table.penalties(kind);
          allocation.run(problem, penalties, aggregate, shuffled(random, jobs), slots);
          check_slots(problem, penalties, aggregate, slots);
        }
      }
    }
  });
}

struct Unit {
  double price;
  Index job;
  bool operator<(const Unit& other) const {
    return price != other.price ? price > other.price : job > other.job;
  }
};

// The next slot goes where it is cheapest, ties to the lower index: s (s + 1) / (w W) is one over
// the gain of slot s + 1 with a linear penalty.
Doubles slot_by_slot(const Problem& problem, const Doubles& weight) {
  const std::size_t n = problem.size();
  Doubles slots(n);
  std::priority_queue<Unit> heap;
  double left = problem.slots;
  const auto offer = [&](std::size_t j) {
    const double scale = problem.work[j] * weight[j], s = slots[j];
    if (scale > 0.0 && s < problem.high[j])
      heap.push({s * (s + 1.0) / scale, static_cast<Index>(j)});
  };
  for (std::size_t j = 0; j < n; ++j) {
    const bool gains = problem.work[j] * weight[j] > 0.0;
    slots[j] = gains ? std::max(1.0, problem.low[j]) : problem.low[j];
    left -= slots[j];
    offer(j);
  }
  for (; left > 0.0 && !heap.empty(); --left) {
    const Index j = heap.top().job;
    heap.pop();
    slots[j] += 1.0;
    offer(j);
  }
  return slots;
}

TEST(many_jobs_slot_by_slot) {
  trials(7, 40, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6000));
    const bool ties = chance(random, 0.5);
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) {
      const std::int64_t low = chance(random, 0.2) ? integer(random, 0, 3) : 0;
      const std::int64_t high = chance(random, 0.5) ? kAllSlots : low + integer(random, 1, 30);
      const double work = ties ? static_cast<double>(integer(random, 0, 12))
                               : std::pow(10.0, real(random, -3.0, 3.0));
      table.add(work, low, high, static_cast<double>(integer(random, 0, 3)));
    }
    const auto floor = static_cast<std::int64_t>(needed(table.problem(kMostSlots)));
    const Problem problem = table.problem(floor + 1 + integer(random, 0, 40'000));
    const Penalties penalties = table.penalties(Kind::kResponse);
    Doubles slots(jobs);
    allocation.run(problem, penalties, Aggregate::kSum, {}, slots);
    CHECK(slots == slot_by_slot(problem, table.weight));
    check_slots(problem, penalties, Aggregate::kSum, slots);
  });
}

TEST(equal_prices_go_to_the_lower_index) {
  Table table;
  for (int j = 0; j < 7; ++j) table.add(3.0);
  for (const Kind kind : {Kind::kResponse, Kind::kStretch, Kind::kCompletion}) {
    for (const Aggregate aggregate : kAggregates) {
      for (std::int64_t count = 7; count < 30; ++count) {
        Doubles slots(7);
        allocation.run(table.problem(count), table.penalties(kind), aggregate, {}, slots);
        for (std::size_t j = 0; j < 7; ++j) {
          const auto expected = count / 7 + (static_cast<std::int64_t>(j) < count % 7 ? 1 : 0);
          CHECK_EQUAL(slots[j], static_cast<double>(expected));
        }
      }
    }
  }
}

TEST(huge_slot_counts) {
  Table table;
  table.add(1e18, 0, kAllSlots, 1.0, 5.0);
  table.add(3e17, 7, kAllSlots, 2.0, 9.0);
  table.add(1e18, 0, kMostSlots / 2, 1.0, 0.5);
  const Problem problem = table.problem(kMostSlots);
  for (const Kind kind : kKinds) {
    for (const Aggregate aggregate : kAggregates) {
      const Penalties penalties = table.penalties(kind);
      Doubles slots(3);
      allocation.run(problem, penalties, aggregate, {}, slots);
      check_slots(problem, penalties, aggregate, slots);
    }
  }
  // Response times of two alike jobs share the slots equally.
  Table alike;
  alike.add(1e15);
  alike.add(1e15);
  Doubles slots(2);
  allocation.run(alike.problem(kMostSlots), alike.penalties(Kind::kResponse), Aggregate::kSum, {},
                 slots);
  CHECK_EQUAL(slots[0], static_cast<double>(kMostSlots / 2));
  CHECK_EQUAL(slots[1], static_cast<double>(kMostSlots / 2));
}

}  // namespace test_resource_allocation
}  // namespace malleable::check
