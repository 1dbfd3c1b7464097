// The least level (value of a max objective, which sets deadlines) for many jobs whose penalties
// are lines.
#include <algorithm>
#include <cmath>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/linear_level.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_linear_level {

struct Drawn {
  Table table;
  Doubles low, room, at, slope;
  double slots = 0.0, now = 0.0;

  LinearLevel::Jobs jobs() const { return {table.work, low, room, at, slope}; }
  Problem problem() const { return table.problem(static_cast<std::int64_t>(slots), now); }
};

// Deadlines and weights, minima in some draws, and few or very many slots.
Drawn draw(Random& random, std::size_t count) {
  Drawn drawn;
  const bool minima = chance(random, 0.5);
  drawn.slots = std::floor(static_cast<double>(count) * std::exp(real(random, -2.0, 3.0))) +
                (minima ? static_cast<double>(count) : 1.0);
  drawn.now = chance(random, 0.5) ? 0.0 : real(random, -500.0, 5000.0);
  const double span = std::exp(real(random, -1.0, 4.0));
  for (std::size_t j = 0; j < count; ++j) {
    const double work = std::exp(real(random, -1.0, 5.0));
    const auto most = std::min(integer(random, 1, 64), static_cast<std::int64_t>(drawn.slots));
    drawn.table.add(work, minima ? 1 : 0, most);
    drawn.low.push_back(minima ? 1.0 : 0.0);
    drawn.room.push_back(static_cast<double>(most) - drawn.low.back());
    drawn.at.push_back(drawn.now + real(random, -span, span));
    drawn.slope.push_back(real(random, 0.1, 3.0));
  }
  return drawn;
}

Doubles dues(const Drawn& drawn, double level) {
  Doubles due;
  for (std::size_t j = 0; j < drawn.at.size(); ++j) {
    const double latest = drawn.at[j] + level / drawn.slope[j];
    due.push_back(latest + tolerance(latest) - drawn.now);
  }
  return due;
}

// Hardly below the least level that passes, and not above it.
void check_level(const Drawn& drawn, double level) {
  const Problem problem = drawn.problem();
  DemandBound forced;
  double alone = -kInfinity, scale = 0.0;  // the most that a job pays that ends as early as it can
  for (std::size_t j = 0; j < drawn.at.size(); ++j) {
    const double end = drawn.now + drawn.table.work[j] / (drawn.low[j] + drawn.room[j]);
    alone = std::max(alone, drawn.slope[j] * (end - drawn.at[j]));
    scale += drawn.table.work[j] / drawn.slots * drawn.slope[j];
  }
  const double size = std::max(1.0, std::fabs(level));
  CHECK(forced.peak(problem, dues(drawn, level + 1e-3 * (size + scale))).excess <= 0.0);
  CHECK_AT_MOST(alone, level, 1e-12 * size);
  if (level > alone) CHECK(forced.peak(problem, dues(drawn, level - 1e-8 * size)).excess > 0.0);
}

// From nothing, from the level itself, and from levels that are too low or too high.
TEST(the_level_is_about_the_least_that_passes) {
  trials(1, 60, [](Random& random) {
    const Drawn drawn = draw(random, static_cast<std::size_t>(integer(random, 3'000, 6'000)));
    LinearLevel search;
    const auto cold = search.find(drawn.jobs(), drawn.slots, drawn.now, -kInfinity);
    CHECK(cold.has_value());
    if (!cold) return;
    check_level(drawn, *cold);
    const auto above = search.find(drawn.jobs(), drawn.slots, drawn.now, *cold, *cold + 1.0);
    CHECK(above && *above == *cold + 1.0);
    for (const double near : {1.0, 0.999, 1.001, 0.5, 2.0, -3.0}) {
      const auto warm = search.find(drawn.jobs(), drawn.slots, drawn.now, near * *cold);
      CHECK(warm.has_value());
      if (warm) check_level(drawn, *warm);
    }
  });
}

// One job that ends as early as it can decides alone.
TEST(a_job_alone_may_decide) {
  trials(2, 20, [](Random& random) {
    Drawn drawn = draw(random, 3'000);
    drawn.slope[7] = 1e4;
    const auto level = LinearLevel().find(drawn.jobs(), drawn.slots, drawn.now, -kInfinity);
    CHECK(level.has_value());
    if (level) check_level(drawn, *level);
  });
}

TEST(what_it_does_not_know) {
  Random random(3);
  Drawn drawn = draw(random, 3'000);
  LinearLevel search;
  CHECK(search.find(drawn.jobs(), drawn.slots, drawn.now, 0.0).has_value());
  drawn.slope[5] = 0.0;
  CHECK(!search.find(drawn.jobs(), drawn.slots, drawn.now, 0.0).has_value());
  drawn.slope[5] = 1.0;
  drawn.table.work[6] = 0.0;
  CHECK(!search.find(drawn.jobs(), drawn.slots, drawn.now, 0.0).has_value());
  CHECK(!search.find({}, 5.0, 0.0, 0.0).has_value());
}

}  // namespace test_linear_level
}  // namespace malleable::check
