// The jobs of one decision as columns; minima that do not fit are scaled.
#include "instances.hpp"
#include "malleable/model/problem.hpp"

namespace malleable::check {
namespace test_problem {

// floor(m S / sum), then one slot at a time to the largest remainder, then index.
Doubles scale_slowly(const Doubles& minima, std::int64_t slots) {
  std::int64_t sum = 0, left = slots;
  for (const double m : minima) sum += static_cast<std::int64_t>(m);
  std::vector<std::int64_t> rest;
  Doubles scaled;
  for (const double m : minima) {
    const std::int64_t product = static_cast<std::int64_t>(m) * slots;
    scaled.push_back(static_cast<double>(product / sum));
    rest.push_back(product % sum);
    left -= product / sum;
  }
  for (; left > 0; --left) {
    const auto largest = std::max_element(rest.begin(), rest.end());  // the first of equals
    scaled[static_cast<std::size_t>(largest - rest.begin())] += 1.0;
    *largest = -1;
  }
  return scaled;
}

TEST(minima_share_what_there_is) {
  Doubles minima{20.0, 10.0};
  scale_minima(minima, 10.0);
  CHECK_EQUAL(minima[0], 7.0);
  CHECK_EQUAL(minima[1], 3.0);
  Doubles alike{1.0, 1.0, 1.0};
  scale_minima(alike, 2.0);
  CHECK_EQUAL(alike[0] + alike[1], 2.0);  // ties to the lower index
  CHECK_EQUAL(alike[2], 0.0);
}

TEST(scaling_is_exact) {
  trials(1, 500, [](Random& random) {
    Doubles minima(static_cast<std::size_t>(integer(random, 1, 12)));
    const std::int64_t most = chance(random, 0.5) ? 6 : 1'000'000;
    std::int64_t sum = 0;
    for (double& m : minima) {
      m = static_cast<double>(integer(random, 0, most));
      sum += static_cast<std::int64_t>(m);
    }
    if (sum < 2) return;
    const std::int64_t slots = integer(random, 1, sum - 1);
    const Doubles expected = scale_slowly(minima, slots);
    Doubles scaled = minima;
    scale_minima(scaled, static_cast<double>(slots));
    double used = 0.0;
    for (std::size_t j = 0; j < minima.size(); ++j) {
      CHECK_EQUAL(scaled[j], expected[j]);
      CHECK_AT_MOST(scaled[j], minima[j], 0.0);
      used += scaled[j];
    }
    CHECK_EQUAL(used, static_cast<double>(slots));
  });
}

TEST(scaling_of_huge_minima) {
  Doubles minima(1000, static_cast<double>(kAllSlots));
  const auto slots = static_cast<double>(kMostSlots);
  scale_minima(minima, slots);
  double used = 0.0;
  for (const double m : minima) used += m;
  CHECK_EQUAL(used, slots);
  CHECK_AT_MOST(minima.front() - minima.back(), 1.0, 0.0);
}

TEST(limits_fit_the_slots) {
  Table table;
  table.add(5.0, 2, kAllSlots);
  table.add(0.0, 3, 4, 1.0, kInfinity, 7.0);
  table.add(1.0, 0, 3);
  const Problem problem = table.problem(10, 100.0);
  CHECK_EQUAL(problem.size(), 3u);
  CHECK_EQUAL(problem.now, 100.0);
  CHECK_EQUAL(problem.slots, 10.0);
  CHECK(!problem.gang && !problem.minima_scaled && !problem.beyond_reach);
  CHECK_EQUAL(problem.low[0], 2.0);
  CHECK_EQUAL(problem.high[0], 10.0);
  CHECK_EQUAL(problem.low[1], 0.0);  // no work, no minimum
  CHECK_EQUAL(problem.idle_end[1], 7.0);
  CHECK_EQUAL(problem.high[2], 3.0);
}

TEST(guarantees_are_scaled_and_gangs_are_not) {
  Table table;
  table.add(1.0, 20, 20);
  table.add(1.0, 10, 30);
  const Problem guarantee = table.problem(10);
  CHECK(guarantee.minima_scaled && !guarantee.gang && !guarantee.beyond_reach);
  CHECK_EQUAL(guarantee.low[0], 7.0);
  CHECK_EQUAL(guarantee.low[1], 3.0);
  const Problem gang = table.problem(10, 0.0, MinMode::kGang);
  CHECK(gang.gang && gang.beyond_reach && !gang.minima_scaled);
  CHECK_EQUAL(gang.low[0], 20.0);
  CHECK_EQUAL(gang.low[1], 10.0);
  CHECK(!table.problem(20, 0.0, MinMode::kGang).beyond_reach);
  Problem free = gang;
  free.drop_minima();
  CHECK(!free.gang && !free.beyond_reach && !free.minima_scaled);
  CHECK_EQUAL(free.low[0] + free.low[1], 0.0);
}

TEST(built_again_it_forgets) {
  Table large, small;
  for (int j = 0; j < 9; ++j) large.add(1.0, 3, 3);
  small.add(2.0);
  Problem problem = large.problem(4);
  problem.build(small.work, small.arrival, small.min_slots, small.max_slots, 8, 1.0,
                MinMode::kGuarantee);
  CHECK_EQUAL(problem.size(), 1u);
  CHECK_EQUAL(problem.low.size(), 1u);
  CHECK(!problem.minima_scaled);
  problem.build({}, {}, {}, {}, 8, 1.0, MinMode::kGang);
  CHECK_EQUAL(problem.size(), 0u);
}

TEST(limits_hold_on_random_tables) {
  trials(2, 300, [](Random& random) {
    Shape shape;
    shape.slots = integer(random, 1, 8);
    shape.overcommit = true;
    const auto jobs = static_cast<std::size_t>(integer(random, 0, 9));
    const Table table = random_table(random, jobs, shape);
    const Problem problem = table.problem(shape.slots);
    double sum = 0.0, wanted = 0.0;
    for (std::size_t j = 0; j < jobs; ++j) {
      const bool has_work = table.work[j] > 0.0;
      wanted += has_work ? static_cast<double>(table.min_slots[j]) : 0.0;
      sum += problem.low[j];
      CHECK(problem.low[j] >= 0.0 && problem.low[j] <= problem.high[j]);
      CHECK(problem.high[j] >= 1.0 && problem.high[j] <= problem.slots);
    }
    CHECK_EQUAL(sum, std::min(wanted, problem.slots));
    CHECK_EQUAL(problem.minima_scaled, wanted > problem.slots);
  });
}

}  // namespace test_problem
}  // namespace malleable::check
