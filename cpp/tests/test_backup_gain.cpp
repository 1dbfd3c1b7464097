// Gains of backup tasks, and the least one that is worth a slot.
#include <cmath>

#include "check.hpp"
#include "malleable/kernel/backup_gain.hpp"

namespace malleable::check {
namespace {

TEST(a_gain_is_what_is_left_over_what_a_backup_takes) {
  const LogTimes times{2.0, 1.0};
  CHECK_EQUAL(backup_gain(0.0, times, 0.0), 1.0);
  CHECK_NEAR(backup_gain(0.0, times, times.seconds()), 0.5, 1e-12);
  const double age = 5.0 * times.seconds();
  CHECK_NEAR(backup_gain(age, times, 3.0), times.left_after(age) / (times.seconds() + 3.0), 1e-12);
  // A task that scatters much and has run for long has more left than a new one takes.
  CHECK(backup_gain(age, times, 0.0) > 1.0);
  CHECK(backup_gain(0.9 * std::exp(2.0), LogTimes{2.0, 0.01}, 0.0) < 0.15);
}

TEST(the_least_gain_rises_as_backups_lose) {
  LeastGain least;
  CHECK_EQUAL(least.shown(), 0.5);
  for (int k = 0; k < 10; ++k) least.begun(1.0);  // half of them should win
  CHECK_NEAR(least.shown(), 0.5 * 10.0 / 5.0, 1e-12);
  for (int k = 0; k < 3; ++k) least.won();
  CHECK_NEAR(least.shown(), 0.5 * 10.0 / 8.0, 1e-12);
  for (int k = 0; k < 9; ++k) least.won();
  CHECK_EQUAL(least.shown(), 0.5);  // never below
}

}  // namespace
}  // namespace malleable::check
