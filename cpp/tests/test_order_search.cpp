// Local search over priority orders.
#include "malleable/kernel/order_search.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_order_search {

OrderSearch search;

const std::function<bool()> kNeverStop = [] { return false; };

double square(std::int64_t, double t) { return t * std::fabs(t); }

constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

std::vector<Penalties> objectives_of(const Table& table) {
  std::vector<Penalties> objectives{table.penalties(Kind::kCustom, square)};
  for (const Kind kind : kKinds) objectives.push_back(table.penalties(kind));
  return objectives;
}

TEST(a_score_is_the_objective) {
  trials(1, 300, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 8);
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 8));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, real(random, -2.0, 2.0), mode);
    const Order order = shuffled(random, jobs);
    const Doubles packed = pack_slowly(problem, order);
    double with_work = -kInfinity;
    for (const Penalties& penalties : objectives_of(table)) {
      for (const Aggregate aggregate : kAggregates) {
        search.begin(problem, penalties, aggregate);
        double expected = value_of(problem, penalties, aggregate, packed);
        if (aggregate == Aggregate::kMax) {  // jobs without work do not depend on the order
          with_work = -kInfinity;
          for (std::size_t j = 0; j < jobs; ++j) {
            if (problem.work[j] > 0.0) {
              with_work = std::max(with_work, penalties(j, problem.now + packed[j]));
            }
          }
          expected = with_work;
        }
        const Score score = search.score(order);
        const double scale = scale_of(expected) + scale_of(expected - with_work);
        CHECK_NEAR(score.value, expected,
                   aggregate == Aggregate::kMax ? 1e-9 * scale_of(expected) : 1e-7 * scale);
        // A limit that it reaches changes nothing; one that it exceeds leaves something beyond it.
        CHECK_EQUAL(search.score(order, score).value, score.value);
        const Score tight{score.value - 0.1 * scale_of(score.value), 0.0};
        CHECK(search.score(order, tight).value > tight.value || with_work == -kInfinity);
      }
    }
  });
}

TEST(scores_compare_by_value_first) {
  CHECK(OrderSearch::better({1.0, 9.0}, {2.0, 0.0}));
  CHECK(!OrderSearch::better({2.0, 0.0}, {1.0, 9.0}));
  CHECK(OrderSearch::better({1.0, 1.0}, {1.0, 2.0}));
  CHECK(!OrderSearch::better({1.0, 1.0}, {1.0, 1.0}));
  CHECK(!OrderSearch::better({1.0 - 1e-15, 1.0}, {1.0, 1.0}));  // rounding is no improvement
  CHECK(OrderSearch::better({5.0, 1.0}, {}));
  CHECK(OrderSearch::better({-2.0, 1.0}, {-1.0, 1.0}));
}

TEST(few_jobs_get_their_best_order) {
  std::size_t missed = 0, count = 0;
  trials(2, 150, [&](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 6);
    const auto jobs = static_cast<std::size_t>(integer(random, 2, 5));
    const Table table = random_table(random, jobs, shape);
    const MinMode mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    const Problem problem = table.problem(shape.slots, 0.0, mode);
    for (const Penalties& penalties : objectives_of(table)) {
      const double best = best_of_all_orders(problem, penalties, Aggregate::kSum);
      if (!std::isfinite(best)) continue;
      search.begin(problem, penalties, Aggregate::kSum);
      std::vector<PackedOrder> starts{{shuffled(random, jobs)},
                                      {shuffled(random, jobs), table.deadline}};
      if (problem.gang) starts.pop_back();
      Score reached = search.score(starts[0].order, {}, starts[0].due);
      const Score first = reached;
      const auto tried = search.improve(starts, reached, 3000, -kInfinity, kNeverStop);
      CHECK(tried <= 3000);
      CHECK(is_permutation_of_all(starts[0].order));
      CHECK(!OrderSearch::better(first, reached));
      CHECK_NEAR(search.score(starts[0].order, {}, starts[0].due).value, reached.value,
                 1e-12 * scale_of(reached.value));
      // Packing for deadlines may beat every order.
      if (starts[0].due.empty()) CHECK_AT_MOST(best, reached.value, 1e-7 * scale_of(best));
      missed += reached.value > best + 1e-7 * scale_of(best);
      ++count;
    }
  });
  CHECK_EQUAL(missed, 0u);
  CHECK(count > 50);
}

TEST(the_same_search_gives_the_same_order) {
  trials(3, 30, [](Random& random) {
    Shape shape;
    shape.slots = 8;
    const Table table = random_table(random, 20, shape);
    const Problem problem = table.problem(8);
    const Order start = shuffled(random, 20);
    for (const Penalties& penalties : objectives_of(table)) {
      std::vector<Order> results;
      for (int run = 0; run < 2; ++run) {
        OrderSearch fresh;
        fresh.begin(problem, penalties, Aggregate::kSum);
        std::vector<PackedOrder> starts{{start}};
        Score best = fresh.score(start);
        fresh.improve(starts, best, 500, -kInfinity, kNeverStop);
        results.push_back(starts[0].order);
      }
      CHECK(results[0] == results[1]);
    }
  });
}

TEST(it_stops) {
  Random random(4);
  Shape shape;
  shape.slots = 5;
  const Table table = random_table(random, 30, shape);
  const Problem problem = table.problem(5);
  const Penalties penalties = table.penalties(Kind::kTardiness);
  search.begin(problem, penalties, Aggregate::kSum);
  std::vector<PackedOrder> starts{{identity(30)}};
  Score best = search.score(starts[0].order, {}, starts[0].due);
  const Score before = best;
  CHECK_EQUAL(search.improve(starts, best, 0, -kInfinity, kNeverStop), 0u);
  CHECK_EQUAL(search.improve(starts, best, 1000, before.value, kNeverStop), 0u);  // at the bound
  std::size_t asked = 0;
  const auto tried = search.improve(starts, best, 1000, -kInfinity, [&] { return ++asked >= 20; });
  CHECK(tried <= 20);
  CHECK(!OrderSearch::better(before, best));
}

TEST(nothing_to_order) {
  for (const std::size_t jobs : {0u, 1u, 3u}) {
    Table table;
    for (std::size_t j = 0; j < jobs; ++j) table.add(j == 0 ? 2.0 : 0.0);
    const Problem problem = table.problem(2);
    const Penalties penalties = table.penalties(Kind::kResponse);
    search.begin(problem, penalties, Aggregate::kSum);
    std::vector<PackedOrder> starts{{identity(jobs)}};
    Score best = search.score(starts[0].order, {}, starts[0].due);
    CHECK_EQUAL(search.improve(starts, best, 100, -kInfinity, kNeverStop), 0u);
    CHECK_NEAR(best.value, jobs > 0 ? 1.0 : 0.0, 1e-12);
    CHECK(is_permutation_of_all(starts[0].order));
  }
}

TEST(large_orders_keep_their_jobs) {
  trials(5, 5, [](Random& random) {
    Shape shape;
    shape.slots = 30;
    const Table table = random_table(random, 300, shape);
    const Problem problem = table.problem(30);
    for (const Kind kind : {Kind::kTardy, Kind::kStretch}) {
      const Penalties penalties = table.penalties(kind);
      search.begin(problem, penalties, Aggregate::kSum);
      std::vector<PackedOrder> starts{{shuffled(random, 300), table.deadline},
                                      {shuffled(random, 300)}};
      Score best = search.score(starts[0].order, {}, starts[0].due);
      search.improve(starts, best, 2000, -kInfinity, kNeverStop);
      CHECK(is_permutation_of_all(starts[0].order));
      CHECK_NEAR(search.score(starts[0].order, {}, starts[0].due).value, best.value,
                 1e-9 * scale_of(best.value));
    }
  });
}

}  // namespace test_order_search
}  // namespace malleable::check
