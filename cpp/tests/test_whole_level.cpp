// The largest whole level of equal shares that fits.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/kernel/whole_level.hpp"

namespace malleable::check {
namespace test_whole_level {

// The level and the rest give the same slots as the water-filling of all jobs, from any start of
// the search.
TEST(agrees_with_the_water_filling) {
  trials(1, 2000, [](Random& random) {
    const auto n = static_cast<std::size_t>(integer(random, 0, 40));
    const bool minima = chance(random, 0.5);
    std::vector<std::int64_t> low(n), high(n);
    std::vector<double> least(n), room(n), expected(n);
    for (std::size_t j = 0; j < n; ++j) {
      high[j] = integer(random, 1, chance(random, 0.2) ? 1000 : 8);
      low[j] = minima ? integer(random, 0, std::min<std::int64_t>(high[j], 2)) : 0;
      least[j] = static_cast<double>(low[j]);
      room[j] = static_cast<double>(high[j] - low[j]);
    }
    const std::int64_t slots = integer(random, 1, chance(random, 0.5) ? 40 : 400);
    const std::vector<double> ones(n, 1.0);
    Problem problem;
    problem.build(ones, ones, low, high, slots, 0.0, MinMode::kGuarantee);
    WaterFilling water_filling;
    water_filling.allocate(problem, {}, expected);
    const double from = chance(random, 0.2) ? kInfinity : real(random, 0.0, 50.0);
    const WholeLevel found = whole_level(least, room, static_cast<double>(slots), std::floor(from));
    double all = 0.0;
    for (const double each : least) all += each;
    CHECK_EQUAL(found.fits, all <= static_cast<double>(slots));
    double left = found.left;
    for (std::size_t j = 0; found.fits && j < n; ++j) {
      double own = std::min(std::max(least[j], found.level), least[j] + room[j]);
      if (left > 0.0 && found.level >= least[j] && own < least[j] + room[j]) {
        own += 1.0;
        left -= 1.0;
      }
      CHECK_EQUAL(own, expected[j]);
    }
  });
}

}  // namespace test_whole_level
}  // namespace malleable::check
