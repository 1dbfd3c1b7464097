// The deadline test by demand: the work that deadlines force before any time must fit; a level is a
// value of a max objective, which sets deadlines.
#include <map>

#include "malleable/kernel/demand_bound.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_demand_bound {

constexpr double kUnit = 12.0;  // works and slots over 1, 2, 3 and 4 are whole in twelfths

// Largest flow from jobs through the intervals between break points, with whole capacities.
class Flow {
 public:
  explicit Flow(std::size_t nodes) : seen_(nodes), arcs_(nodes) {}
  void arc(std::size_t from, std::size_t to, std::int64_t capacity) {
    arcs_[from][to] += capacity;
    arcs_[to][from] += 0;
  }
  std::int64_t run(std::size_t source, std::size_t sink) {
    std::int64_t total = 0;
    for (;;) {
      seen_.assign(arcs_.size(), false);
      const std::int64_t more = push(source, sink, std::int64_t{1} << 60);
      if (more == 0) return total;
      total += more;
    }
  }

 private:
  std::int64_t push(std::size_t node, std::size_t sink, std::int64_t most) {
    if (node == sink) return most;
    seen_[node] = true;
    for (auto& [to, capacity] : arcs_[node]) {
      if (capacity == 0 || seen_[to]) continue;
      const std::int64_t got = push(to, sink, std::min(most, capacity));
      if (got > 0) {
        capacity -= got;
        arcs_[to][node] += got;
        return got;
      }
    }
    return 0;
  }
  std::vector<bool> seen_;
  std::vector<std::map<std::size_t, std::int64_t>> arcs_;
};

// Whether all jobs can end by their due dates: each holds its minimum until it would end on that or
// is due, the rest is a flow. Works, limits and due dates are whole, minima divide twelve.
bool possible(const Problem& problem, const Doubles& due) {
  std::vector<std::int64_t> points{0}, end(problem.size()), base(problem.size());
  const auto low = [&](std::size_t j) {
    return problem.gang ? 0 : static_cast<std::int64_t>(problem.low[j]);
  };
  std::int64_t need = 0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const auto work = static_cast<std::int64_t>(kUnit * problem.work[j]);  // in twelfths
    end[j] = work == 0 ? 0 : static_cast<std::int64_t>(kUnit * due[j]);
    base[j] = low(j) > 0 ? std::min(end[j], work / low(j)) : 0;
    points.push_back(end[j]);
    points.push_back(base[j]);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  const std::size_t jobs = problem.size(), sink = jobs + points.size();
  Flow flow(sink + 2);
  const std::size_t source = sink + 1;
  std::vector<std::int64_t> free(points.size());
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    free[k] = static_cast<std::int64_t>(problem.slots) * (points[k + 1] - points[k]);
  }
  for (std::size_t j = 0; j < jobs; ++j) {
    const std::int64_t rest = static_cast<std::int64_t>(kUnit * problem.work[j]) - low(j) * base[j];
    if (rest > 0) flow.arc(source, j, rest);
    need += rest;
    for (std::size_t k = 0; k + 1 < points.size(); ++k) {
      const std::int64_t length = points[k + 1] - points[k];
      if (points[k] < base[j]) free[k] -= low(j) * length;
      const auto room = static_cast<std::int64_t>(problem.high[j]) - low(j);
      if (points[k] < end[j] && rest > 0) flow.arc(j, jobs + k, room * length);
    }
  }
  for (std::size_t k = 0; k + 1 < points.size(); ++k) flow.arc(jobs + k, sink, free[k]);
  return flow.run(source, sink) == need;
}

Table random_whole_table(Random& random, std::size_t jobs, std::int64_t slots) {
  Table table;
  std::int64_t left = slots;
  for (std::size_t j = 0; j < jobs; ++j) {
    std::int64_t low = chance(random, 0.5) ? std::min(left, integer(random, 0, 4)) : 0;
    const std::int64_t high = std::max<std::int64_t>(1, low) + integer(random, 0, 4);
    left -= low;
    const std::int64_t work = chance(random, 0.05) ? 0 : integer(random, 1, 20);
    table.add(static_cast<double>(work), low, high, 1.0,
              static_cast<double>(integer(random, 1, 9)));
  }
  return table;
}

TEST(demand_bound_by_hand) {
  CHECK_EQUAL(demand_bound(10.0, 2.0, 5.0, 8.0, 0.0), 0.0);
  CHECK_EQUAL(demand_bound(10.0, 2.0, 5.0, 8.0, 3.0), 6.0);
  CHECK_EQUAL(demand_bound(10.0, 2.0, 5.0, 8.0, 7.5), 10.0);
  CHECK_EQUAL(demand_bound(10.0, 0.0, 5.0, 8.0, 7.0), 5.0);
  CHECK_EQUAL(demand_bound(10.0, 0.0, 5.0, 8.0, 9.0), 10.0);
  CHECK_EQUAL(demand_bound(10.0, 0.0, 5.0, kInfinity, 1e9), 0.0);
  CHECK_EQUAL(demand_bound(10.0, 1.0, 5.0, -kInfinity, 0.0), 10.0);
}

TEST(the_test_is_necessary_and_sufficient) {
  DemandBound forced;
  std::size_t yes = 0, no = 0;
  trials(1, 3000, [&](Random& random) {
    const std::int64_t slots = integer(random, 1, 8);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 7));
    const Table table = random_whole_table(random, jobs, slots);
    const MinMode mode = chance(random, 0.2) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(slots, 0.0, mode);
    const bool expected = possible(problem, table.deadline);
    const auto peak = forced.peak(problem, table.deadline);
    CHECK_EQUAL(peak.excess <= 1e-9, expected);
    ++(expected ? yes : no);
  });
  CHECK(yes > 50 && no > 50);
}

// Work demanded beyond what the slots can do, at every time at which that may turn.
double worst_excess(const Problem& problem, const Doubles& due) {
  Doubles times{0.0};
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double work = problem.work[j], high = problem.high[j];
    const double low = problem.gang ? 0.0 : problem.low[j];
    if (work == 0.0) continue;
    if (low > 0.0) times.push_back(work / low);
    if (due[j] < kInfinity) {
      times.push_back(std::max(0.0, due[j]));
      times.push_back(std::max(0.0, due[j] - work / high));
      if (high > low) times.push_back(std::max(0.0, (high * due[j] - work) / (high - low)));
    }
  }
  double worst = 0.0;
  for (const double t : times) {
    double sum = -problem.slots * t;
    for (std::size_t j = 0; j < problem.size(); ++j) {
      if (problem.work[j] == 0.0) continue;
      const double low = problem.gang ? 0.0 : problem.low[j];
      const double head = std::min(problem.work[j], low * t);
      const double left = std::max(0.0, due[j] - t);
      const double tail = left < kInfinity ? problem.work[j] - problem.high[j] * left : 0.0;
      sum += std::max(head, tail);
    }
    worst = std::max(worst, sum);
  }
  return worst;
}

TEST(the_peak_is_where_demand_is_largest) {
  DemandBound forced;
  trials(2, 2000, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 10);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 9));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    Doubles due = table.deadline;
    for (double& d : due) {
      if (chance(random, 0.2)) d = kInfinity;
    }
    const auto peak = forced.peak(problem, due);
    const double worst = worst_excess(problem, due);
    CHECK_EQUAL(peak.excess > 1e-9, worst > 1e-9);
    CHECK_AT_MOST(peak.excess, worst, 1e-9 * scale_of(worst));
    // Unless a job is late on its own, the peak is exact.
    bool alone = false;
    for (std::size_t j = 0; j < jobs; ++j) {
      alone |= problem.work[j] > problem.high[j] * std::max(due[j], 0.0);
    }
    if (!alone) CHECK_NEAR(peak.excess, worst, 1e-9 * scale_of(worst));
  });
}

// First time by which the others' forced minima leave room for the whole job.
double earliest_slowly(const Problem& problem, std::size_t j) {
  const double work = problem.work[j];
  double from = work / problem.high[j], to = 1e9;
  const auto enough = [&](double t) {
    double sum = problem.slots * t;
    for (std::size_t i = 0; i < problem.size(); ++i) {
      if (i != j && !problem.gang) sum -= std::min(problem.work[i], problem.low[i] * t);
    }
    return sum >= work * (1.0 - 1e-14);
  };
  if (enough(from)) return from;
  for (int step = 0; step < 200; ++step) {
    const double middle = from + (to - from) / 2.0;
    (enough(middle) ? to : from) = middle;
  }
  return to;
}

TEST(earliest_completions_leave_room_for_minima) {
  trials(3, 2000, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 12);
    shape.overcommit = chance(random, 0.3);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 9));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, 0.0, mode);
    Doubles earliest(jobs, -1.0);
    earliest_completions(problem, earliest);
    for (std::size_t j = 0; j < jobs; ++j) {
      const double expected = problem.work[j] > 0.0 ? earliest_slowly(problem, j) : 0.0;
      CHECK_NEAR(earliest[j], expected, 1e-9 * scale_of(expected));
    }
  });
}

TEST(no_packing_beats_the_earliest_completions) {
  trials(4, 150, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 7);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Problem problem = random_table(random, jobs, shape).problem(shape.slots);
    Doubles earliest(jobs);
    earliest_completions(problem, earliest);
    all_orders(jobs, [&](const Order& order) {
      const Doubles completion = pack_slowly(problem, order);
      for (std::size_t j = 0; j < jobs; ++j) {
        CHECK_AT_MOST(earliest[j], completion[j], 1e-9 * completion[j]);
      }
    });
  });
}

bool passes(const Problem& problem, const Penalties& penalties, double level) {
  double total = 0.0;
  for (const double work : problem.work) total += work;
  Doubles due(problem.size());
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double latest = penalties.latest(j, level);
    due[j] = latest + tolerance(latest) - problem.now;
    if (std::isinf(latest)) due[j] = latest;
  }
  return worst_excess(problem, due) <= 1e-9 * total;
}

TEST(the_level_is_the_least_that_passes) {
  DemandBound forced;
  trials(5, 600, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 7));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, real(random, -2.0, 2.0));
    Doubles completion = pack_slowly(problem, identity(jobs));
    for (const Kind kind : kKinds) {
      const Penalties penalties = table.penalties(kind);
      const double to = value_of(problem, penalties, Aggregate::kMax, completion);
      double from = -kInfinity;
      for (std::size_t j = 0; j < jobs; ++j) {
        const double alone = problem.now + problem.work[j] / problem.high[j];
        from = std::max(from, penalties(j, problem.work[j] > 0.0 ? alone : problem.idle_end[j]));
      }
      const double level = forced.level(problem, penalties, from, to, 1.0);
      CHECK(level >= from - 1e-12 * scale_of(from) && level <= to);
      CHECK(passes(problem, penalties, level + 1e-7 * scale_of(level)));
      const double below = level - 1e-6 * scale_of(level);
      if (below > from) CHECK(!passes(problem, penalties, below));
    }
  });
}

// A minimum that fills every slot until 3 and leaves the excess there at zero at every level.
TEST(a_plateau_is_not_the_least_level) {
  Table table;
  table.add(6.0, 2, 2, 1.0, 3.0);
  table.add(1.0, 0, 2, 3.0, 7.0);
  table.add(6.0, 0, 1, 2.0, 7.0);
  DemandBound forced;
  const double level =
      forced.level(table.problem(2), table.penalties(Kind::kTardiness), 0.0, 50.0, 1.0);
  CHECK_NEAR(level, 4.0, 1e-6);
}

// A function known by its values, whose least level lies three hundred decades below the highest:
// halving ends, with a level that is none too high.
std::uint64_t asked = 0;
double cliff(std::int64_t, double t) {
  ++asked;
  return t <= 1.0 ? 0.0 : t <= 5.0 ? 1e-300 : 1e300;
}

TEST(a_level_is_bracketed_in_bounded_time) {
  Table table;
  table.add(1.0, 0, 1, 1.0, kInfinity);
  table.add(1.0, 0, 1, 1.0, kInfinity);
  DemandBound forced;
  asked = 0;
  const double level =
      forced.level(table.problem(1), table.penalties(Kind::kCustom, cliff), 0.0, 1e300, 1.0);
  CHECK(level >= 0.0 && level <= 1e-300);
  CHECK(asked < 202u * 2u * 300u);
}

TEST(deadlines_of_a_level) {
  Table table;
  table.add(1.0, 0, kAllSlots, 2.0, 10.0);
  table.add(1.0, 0, kAllSlots, 0.0, 10.0);
  const Problem problem = table.problem(1, 4.0);
  Doubles due(2);
  DemandBound::deadlines(problem, table.penalties(Kind::kTardiness), 6.0, 1.0, due);
  CHECK_NEAR(due[0], 9.0, 1e-6);
  CHECK(due[0] > 9.0);  // by the tolerance
  CHECK_EQUAL(due[1], kInfinity);
  DemandBound::deadlines(problem, table.penalties(Kind::kTardy), -1.0, 1.0, due);
  CHECK_EQUAL(due[0], -kInfinity);
}

}  // namespace test_demand_bound
}  // namespace malleable::check
