// What is left of log-normal tasks, against an integral of the chances that they run on.
#include <cmath>
#include <numbers>

#include "check.hpp"
#include "malleable/kernel/log_times.hpp"

namespace malleable::check {
namespace test_log_times {

// The integral of P(T > t) from the age on, over P(T > age), by steps in the logarithm.
double left_by_steps(double age, const LogTimes& times) {
  const auto runs_on = [&](double log) {
    return 0.5 * std::erfc((log - times.mean) / times.deviation / std::numbers::sqrt2);
  };
  const double first = std::log(age), step = 1e-4 * times.deviation;
  double sum = 0.0;
  for (double log = first; log < times.mean + 12.0 * times.deviation; log += step) {
    sum += runs_on(log + 0.5 * step) * std::exp(log) * std::expm1(step);
  }
  return sum / runs_on(first);
}

TEST(the_mean_of_what_is_left) {
  for (const double s : {0.1, 0.5, 1.0, 2.0}) {
    const LogTimes times{2.0, s};
    CHECK_NEAR(times.seconds(), std::exp(2.0 + 0.5 * s * s), 1e-12 * times.seconds());
    CHECK_EQUAL(times.left_after(0.0), times.seconds());
    for (const double z : {-2.0, 0.0, 1.0, 3.0}) {
      const double age = std::exp(2.0 + s * z), left = left_by_steps(age, times);
      CHECK_NEAR(times.left_after(age), left, 1e-4 * left);
    }
  }
}

TEST(where_tails_have_no_digits_it_goes_on) {
  for (const double s : {0.05, 0.5, 2.0}) {
    const LogTimes times{0.0, s};
    const double near = std::exp(s * 29.99), far = std::exp(s * 30.01);
    const double before = times.left_after(near) / near, after = times.left_after(far) / far;
    CHECK_NEAR(after, before, 1e-3 * before);
    CHECK(after < before);
    CHECK(times.left_after(std::exp(s * 200.0)) > 0.0);
  }
}

TEST(tasks_that_are_alike_have_the_rest_left) {
  const LogTimes times{std::log(10.0), 0.0};
  CHECK_NEAR(times.left_after(6.0), 4.0, 1e-4);
  CHECK(times.left_after(11.0) < 0.01);
}

}  // namespace test_log_times
}  // namespace malleable::check
