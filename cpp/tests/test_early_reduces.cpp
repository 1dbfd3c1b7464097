// Chances that maps end, against counts of draws; what a job copies, against a sorted list.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/early_reduces.hpp"

namespace malleable::check {
namespace test_early_reduces {

double normal(Random& random) {
  const auto part = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2.0 * std::log(part()));
  return radius * std::cos(2.0 * std::numbers::pi * part());
}

TEST(chances_are_those_of_draws) {
  Random random(5);
  for (const double s : {0.1, 0.6, 1.5}) {
    const LogTimes times{2.0, s};
    const double mean = std::exp(2.0 + 0.5 * s * s);
    for (int trial = 0; trial < 8; ++trial) {
      std::vector<double> ages(1 + random() % 3);
      for (double& age : ages) age = mean * static_cast<double>(random() % 10) / 9.0;
      const double seconds = mean * (0.1 + 0.3 * static_cast<double>(random() % 8));
      int all = 0, alive = 0;
      for (int draw = 0; draw < 40'000; ++draw) {
        bool lives = true, ends = true;
        for (const double age : ages) {
          const double time = std::exp(2.0 + s * normal(random));
          lives &= time > age;
          ends &= time <= age + seconds;
        }
        alive += lives;
        all += lives && ends;
      }
      if (alive < 500) continue;
      const double part = static_cast<double>(all) / static_cast<double>(alive);
      const double margin = 4.0 * std::sqrt((part * (1.0 - part) + 1e-3) / alive);
      CHECK_NEAR(chance_of_ends(ages, 0.0, times, seconds, 0.0), part, margin);
    }
  }
}

TEST(tasks_that_wait_start_when_others_have_ended) {
  const LogTimes times{1.0, 0.5};
  const double mean = std::exp(1.125);
  const std::vector<double> one{0.0};
  // One slot and one map that waits: the first has what the second leaves, both must be in time.
  const double left = 4.0 * mean - mean;
  const double each = 0.5 * std::erfc(-(std::log(left) - 1.0) / 0.5 / std::numbers::sqrt2);
  CHECK_NEAR(chance_of_ends(one, 1.0, times, 4.0 * mean, 0.0), each * each, 1e-12);
  CHECK_EQUAL(chance_of_ends(one, 4.0, times, 4.0 * mean, 0.0), 0.0);
  CHECK_EQUAL(chance_of_ends({}, 4.0, times, 1e9, 0.0), 0.0);
  CHECK_EQUAL(chance_of_ends(one, 0.0, times, 0.0, 0.0), 0.0);
}

TEST(tasks_that_are_alike_end_when_they_should) {
  const LogTimes times{std::log(10.0), 0.0};
  const std::vector<double> ages{2.0, 6.0};
  CHECK(chance_of_ends(ages, 0.0, times, 7.9, 0.0) < 1e-6);
  CHECK(chance_of_ends(ages, 0.0, times, 8.1, 0.0) > 1.0 - 1e-6);
  // One that should have ended long ago ends soon, by a number.
  const std::vector<double> late{1e6};
  const double chance = chance_of_ends(late, 0.0, times, 1e5, 0.0);
  CHECK(chance >= 0.0 && chance <= 1.0);
}

TEST(copying_is_a_low_quantile_of_the_last_jobs) {
  CopySeconds copying;
  copying.learn(8.0);
  copying.learn(9.0);
  CHECK_EQUAL(copying.low(), 0.0);
  copying.learn(7.0);
  CHECK_EQUAL(copying.low(), 7.0);
  Random random(3);
  std::vector<double> all{8.0, 9.0, 7.0};
  for (int k = 0; k < 200; ++k) {
    all.push_back(static_cast<double>(random() % 100));
    copying.learn(all.back());
    std::vector<double> last(all.end() - std::min<std::ptrdiff_t>(64, std::ssize(all)), all.end());
    std::sort(last.begin(), last.end());
    CHECK_EQUAL(copying.low(), last[(last.size() - 1) / 4]);
  }
}

}  // namespace test_early_reduces
}  // namespace malleable::check
