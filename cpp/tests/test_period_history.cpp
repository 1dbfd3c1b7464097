// What a loop with a period learns: arrivals, and how far sizes are from their estimates.
#include <cmath>
#include <random>

#include "instances.hpp"
#include "malleable/policy/period_history.hpp"

namespace malleable::check {
namespace test_period_history {

TEST(load_of_what_arrives) {
  PeriodHistory history;
  CHECK(!history.overloaded(10.0));
  CHECK_EQUAL(history.coming(10.0, 3, 2.0), 6.0);  // as many as are here
  for (int k = 0; k < 2000; ++k) {
    // By work, a second of them is worth (1 + 15 * 0.2) / (1 + 15).
    history.arrive(8.0, k % 2 == 0 ? 1.0 : 15.0, k % 2 == 0 ? 1.0 : 0.2);
    history.pass(1.0);
  }
  CHECK_NEAR(history.coming(5.0, 3, 1.0), 5.0 * 0.25, 0.03);
  CHECK(!history.overloaded(8.05));
  CHECK(history.overloaded(7.95));
  for (int k = 0; k < 100; ++k) history.pass(1000.0);  // nothing comes any more
  CHECK_NEAR(history.coming(5.0, 3, 1.0), 0.0, 0.03);
}

TEST(few_arrivals_are_no_overload) {
  PeriodHistory history;
  for (int k = 0; k < 20; ++k) {
    history.arrive(100.0);
    history.pass(1.0);
  }
  CHECK(!history.overloaded(1.0));
}

double spread_found(double spread, double period, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  PeriodHistory history;
  for (int k = 0; k < 400; ++k) {
    const double estimate = std::exp(3.0 + normal(random));
    const double work = estimate * std::exp(spread * normal(random));
    const double least = std::floor(work / period) * period;  // on one slot
    history.finish(estimate, least, least + period);
  }
  return history.spread();
}

TEST(spread_of_sizes) {
  CHECK_AT_MOST(PeriodHistory().spread(), 0.3, 0.0);
  for (const double period : {1.0, 5.0, 20.0}) {
    CHECK_AT_MOST(spread_found(0.0, period, 1), 0.06, 0.0);
    CHECK_NEAR(spread_found(0.5, period, 2), 0.5, 0.1);
    CHECK_NEAR(spread_found(1.0, period, 3), 1.0, 0.15);
  }
}

}  // namespace test_period_history
}  // namespace malleable::check
