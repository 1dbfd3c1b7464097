// Priority orders by penalties: Smith's ratios, due dates, apparent cost, on-time sets.
#include <algorithm>
#include <functional>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_priority_orders {

PriorityOrders orders;

constexpr OrderRule kRules[] = {OrderRule::kSmith,        OrderRule::kShortestPath,
                                OrderRule::kDueDate,      OrderRule::kModifiedDue,
                                OrderRule::kApparentCost, OrderRule::kOnTimeSet,
                                OrderRule::kLeastSlack};

double square(std::int64_t, double t) { return t * std::fabs(t); }

Order make(OrderRule rule, const Problem& problem, const Penalties& penalties) {
  Doubles earliest(problem.size());
  earliest_completions(problem, earliest);
  Order order(problem.size());
  orders.make(rule, problem, penalties, earliest, order);
  return order;
}

Order by_key(const Doubles& keys) {
  Order order = identity(keys.size());
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return keys[a] < keys[b]; });
  return order;
}

TEST(every_rule_orders_every_table) {
  trials(1, 400, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 9);
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 12));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots, real(random, -3.0, 3.0));
    std::vector<Penalties> objectives{table.penalties(Kind::kCustom, square)};
    for (const Kind kind : kKinds) objectives.push_back(table.penalties(kind));
    for (const Penalties& penalties : objectives) {
      for (const OrderRule rule : kRules) {
        const Order order = make(rule, problem, penalties);
        CHECK(is_permutation_of_all(order));
        CHECK(order == make(rule, problem, penalties));
      }
    }
  });
}

TEST(smith_is_work_over_weight) {
  trials(2, 300, [](Random& random) {
    Shape shape;
    shape.idle = false;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(4);
    Doubles smith, path, stretch;
    for (std::size_t j = 0; j < jobs; ++j) {
      const double w = table.weight[j], alone = problem.work[j] / problem.high[j];
      smith.push_back(w > 0.0 ? problem.work[j] / w : kInfinity);
      path.push_back(w > 0.0 ? alone / w : kInfinity);
      stretch.push_back(w > 0.0 ? problem.work[j] / (w / problem.work[j]) : kInfinity);
    }
    for (const Kind kind : {Kind::kResponse, Kind::kCompletion, Kind::kLateness}) {
      CHECK(make(OrderRule::kSmith, problem, table.penalties(kind)) == by_key(smith));
      CHECK(make(OrderRule::kShortestPath, problem, table.penalties(kind)) == by_key(path));
    }
    CHECK(make(OrderRule::kSmith, problem, table.penalties(Kind::kStretch)) == by_key(stretch));
  });
}

TEST(smith_is_optimal_without_limits) {
  trials(3, 100, [](Random& random) {
    Shape shape;
    shape.minima = shape.maxima = false;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 5));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    for (const Kind kind : {Kind::kResponse, Kind::kStretch}) {
      const Penalties penalties = table.penalties(kind);
      const Doubles packed = pack_slowly(problem, make(OrderRule::kSmith, problem, penalties));
      const double best = best_of_all_orders(problem, penalties, Aggregate::kSum);
      CHECK_NEAR(value_of(problem, penalties, Aggregate::kSum, packed), best,
                 1e-9 * scale_of(best));
    }
  });
}

TEST(due_dates) {
  trials(4, 300, [](Random& random) {
    Shape shape;
    shape.idle = false;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 12));
    Table table = random_table(random, jobs, shape);
    for (std::size_t j = 0; j < jobs; ++j) {  // ahead of what can be reached
      table.deadline[j] = chance(random, 0.1) ? kInfinity : 1e3 + std::floor(table.deadline[j]);
      table.weight[j] = 1.0;
    }
    const Problem problem = table.problem(4);
    Doubles slack, earliest(jobs);
    earliest_completions(problem, earliest);
    for (std::size_t j = 0; j < jobs; ++j) slack.push_back(table.deadline[j] - earliest[j]);
    for (const Kind kind : {Kind::kTardy, Kind::kTardiness}) {
      CHECK(make(OrderRule::kDueDate, problem, table.penalties(kind)) == by_key(table.deadline));
    }
    const Order by_slack = make(OrderRule::kLeastSlack, problem, table.penalties(Kind::kTardy));
    for (std::size_t k = 1; k < jobs; ++k) {
      CHECK_AT_MOST(slack[by_slack[k - 1]], slack[by_slack[k]], 1e-5);
    }
  });
}

// Moore and Hodgson: as few late jobs as possible on one machine.
TEST(the_on_time_set_is_largest_on_one_machine) {
  trials(5, 300, [](Random& random) {
    Shape shape;
    shape.minima = shape.maxima = false;
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 6));
    Table table = random_table(random, jobs, shape);
    for (double& w : table.weight) w = 1.0;
    const Problem problem = table.problem(shape.slots);
    const Penalties penalties = table.penalties(Kind::kTardy);
    const Doubles packed = pack_slowly(problem, make(OrderRule::kOnTimeSet, problem, penalties));
    CHECK_EQUAL(value_of(problem, penalties, Aggregate::kSum, packed),
                best_of_all_orders(problem, penalties, Aggregate::kSum));
  });
}

// A set that is late keeps the jobs that have joined it so far.
TEST(a_set_that_is_late_stays_as_it_is) {
  constexpr std::size_t kJobs = 4000;
  Table table;
  for (std::size_t j = 0; j < kJobs; ++j) table.add(1.0, 0, 1, 1.0, 2.0 * kJobs);
  const Problem problem = table.problem(1);
  const Penalties penalties = table.penalties(Kind::kTardy);
  Doubles earliest(kJobs);
  earliest_completions(problem, earliest);
  orders.study(problem, penalties, earliest);
  std::vector<DueAsk> asks;
  for (Index j = 0; j < kJobs; ++j) asks.push_back({1.0 * j, 2.0 * kJobs, j});
  const auto members = [&](const std::function<bool()>& late) {
    Order order(kJobs);
    orders.set_by(problem, penalties, asks, 0.0, true, order, late);
    CHECK(is_permutation_of_all(order));
    return std::ranges::count_if(orders.target(), [](double t) { return t < kInfinity; });
  };
  CHECK_EQUAL(members({}), std::ptrdiff_t{kJobs});
  int looks = 0;
  const std::ptrdiff_t some = members([&] { return ++looks > 2; });
  CHECK(some > 0 && some < std::ptrdiff_t{kJobs} / 2);
  CHECK_EQUAL(looks, 3);
}

TEST(by_due_takes_the_longest_path_first) {
  Table table;
  table.add(4.0, 0, 2);
  table.add(9.0, 0, 3);
  table.add(1.0, 0, 1);
  table.add(0.0);
  table.add(2.0, 0, 1);
  const Problem problem = table.problem(4);
  Order order(5);
  orders.by_due(problem, Doubles{5.0, 5.0, 1.0, 5.0, kInfinity}, order);
  CHECK(order == (Order{2, 1, 0, 3, 4}));
  orders.by_due(problem, Doubles(5, -kInfinity), order);
  CHECK(order == (Order{1, 0, 4, 2, 3}));
}

TEST(by_moldable_completion) {
  Table table;
  for (const double work : {6.0, 6.0, 0.0, 5.0, 7.0}) table.add(work);
  const Problem problem = table.problem(4);
  Order order(5);
  Doubles slots{1.0, 2.0, 0.0, 0.0, 0.0};
  orders.by_moldable(problem, slots, Order{4, 3, 2, 1, 0}, order);
  CHECK(order == (Order{2, 1, 0, 4, 3}));
  slots = {1.0, 2.0, 0.0, 1.0, 7.0};
  orders.by_moldable(problem, slots, {}, order);
  CHECK(order == (Order{2, 4, 1, 3, 0}));
}

TEST(rates) {
  Table table;
  table.add(4.0, 0, kAllSlots, 3.0, 2.0);
  const Problem problem = table.problem(1);
  const auto rate = [&](Kind kind) {
    return PriorityOrders::rate(problem, table.penalties(kind), 0, 1.0, 5.0);
  };
  CHECK_NEAR(rate(Kind::kResponse), 3.0, 1e-12);
  CHECK_NEAR(rate(Kind::kStretch), 0.75, 1e-12);
  CHECK_NEAR(rate(Kind::kTardy), 3.0 / 4.0, 1e-12);
  CHECK_NEAR(rate(Kind::kTardiness), 9.0 / 4.0, 1e-12);
  CHECK_EQUAL(rate(Kind::kSla), 0.0);
}

TEST(many_jobs_of_all_magnitudes) {
  trials(6, 10, [](Random& random) {
    Table table;
    for (int j = 0; j < 3000; ++j) {
      const double work = std::pow(10.0, real(random, -6.0, 6.0));
      table.add(work, 0, integer(random, 1, 50), static_cast<double>(integer(random, 0, 3)),
                work * real(random, 0.0, 9.0));
      table.step(work, 1.0);
      table.step(2.0 * work, 3.0);
    }
    const Problem problem = table.problem(100);
    for (const Kind kind : kKinds) {
      for (const OrderRule rule : kRules) {
        CHECK(is_permutation_of_all(make(rule, problem, table.penalties(kind))));
      }
    }
  });
}

}  // namespace test_priority_orders
}  // namespace malleable::check
