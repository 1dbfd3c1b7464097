// Gains of backup tasks, and the least one that is worth a slot.
#include <cmath>

#include "check.hpp"
#include "malleable/kernel/backup_gain.hpp"

namespace malleable::check {
namespace test_backup_gain {

// Gain of tasks that take a second on average with this scatter.
LogTimes scattered(double scatter) { return {-0.5 * scatter * scatter, scatter}; }
double gain(double age, double scatter, double copying = 0.0) {
  return backup_gain(age, scattered(scatter), copying).gain;
}
double chance(double age, double scatter) {
  return backup_gain(age, scattered(scatter), 0.0).chance;
}

TEST(a_gain_is_what_is_saved_over_what_a_backup_takes) {
  // Each of two attempts that begin together saves E[max] - E[T], which is 2 Phi(s / sqrt 2) - 1
  // without stragglers, and each ends first equally often.
  for (const double scatter : {0.1, 0.2, 0.5, 1.0}) {
    const double saved = 1.0 - 2.0 * normal_above(scatter / std::sqrt(2.0));
    CHECK_NEAR(gain(0.0, scatter), saved / (1.0 - saved), 0.02);
    CHECK_NEAR(chance(0.0, scatter), 0.5, 0.02);
  }
  // Sizes do not matter, only how they compare.
  const LogTimes hours{std::log(3600.0) - 0.125, 0.5};
  CHECK_NEAR(backup_gain(7200.0, hours, 1800.0).gain, gain(2.0, 0.5, 0.5), 1e-12);
  CHECK(gain(2.0, 0.5, 1.0) < gain(2.0, 0.5));
}

TEST(tasks_that_are_alike_are_let_alone_while_they_are_young) {
  for (const double scatter : {0.0, 0.01, 0.05, 0.1, 0.2, 0.3}) {
    for (const double age : {0.0, 0.3, 0.6, 0.9, 1.0})
      CHECK(gain(age, scatter) < LeastGain::kLeast);
    // Few tasks that are no stragglers reach the age of the least gain.
    double age = 1.0;
    while (gain(age, scatter) < LeastGain::kLeast) age *= 1.01;
    const LogTimes times = scattered(scatter);
    CHECK(normal_above((std::log(age) - times.mean) / times.scatter()) < 0.01);
  }
}

TEST(one_that_hangs_is_worth_a_backup_however_little_the_others_scatter) {
  for (const double scatter : {0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8}) {
    CHECK(gain(5.0, scatter) > 0.5);
    CHECK(chance(5.0, scatter) > 0.3);
    double before = gain(5.0, scatter);
    for (double age = 6.0; age < 1e6; age *= 1.5) {
      CHECK(gain(age, scatter) > before);
      before = gain(age, scatter);
    }
    CHECK(chance(1e6, scatter) > 0.99);
  }
}

TEST(times_that_scatter_much_are_worth_a_backup_at_once) {
  for (const double scatter : {0.8, 1.0, 2.0, 4.0, 20.0}) {
    for (double age = 0.0; age < 1e6; age = 2.0 * age + 0.1) {
      CHECK(gain(age, scatter) > LeastGain::kLeast);
    }
  }
}

TEST(nothing_is_too_large_to_be_told) {
  for (const double scatter : {0.0, 1.0, 50.0}) {
    for (const double age : {0.0, 1e-300, 1.0, 1e18}) {
      const BackupGain found = backup_gain(age, LogTimes{3.0, scatter}, 1e12);
      CHECK(std::isfinite(found.gain) && found.gain >= 0.0);
      CHECK(found.chance >= 0.0 && found.chance <= 1.0 + 1e-9);
    }
  }
}

TEST(the_least_gain_rises_as_backups_lose) {
  LeastGain least;
  CHECK_EQUAL(least.shown(), LeastGain::kLeast);
  for (int k = 0; k < 10; ++k) least.begun(0.5);
  CHECK_NEAR(least.shown(), LeastGain::kLeast * 10.0 / 5.0, 1e-12);
  for (int k = 0; k < 3; ++k) least.won();
  CHECK_NEAR(least.shown(), LeastGain::kLeast * 10.0 / 8.0, 1e-12);
  for (int k = 0; k < 9; ++k) least.won();
  CHECK_EQUAL(least.shown(), LeastGain::kLeast);  // never below
}

}  // namespace test_backup_gain
}  // namespace malleable::check
