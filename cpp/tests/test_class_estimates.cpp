// Estimates by class of jobs: how often its jobs come, how long its tasks take on each type of
// node.
#include "check.hpp"
#include "malleable/kernel/class_estimates.hpp"

namespace malleable::check {
namespace test_class_estimates {

constexpr std::int64_t kTasks[2] = {4, 2};

TEST(rates_are_counts_over_time) {
  ClassEstimates estimates(1, kInfinity);
  const std::vector<double> seconds = {3.0, 5.0};
  CHECK_EQUAL(estimates.add_class(), std::size_t{0});
  CHECK_EQUAL(estimates.add_class(), std::size_t{1});
  for (int k = 1; k <= 6; ++k) estimates.arrived(0, 2.0 * k, k % 3 == 0, kTasks, seconds);
  CHECK_NEAR(estimates.rate(0, 12.0, false), 0.5, 1e-12);
  CHECK_NEAR(estimates.rate(0, 24.0, false), 0.25, 1e-12);
  CHECK_NEAR(estimates.rate(0, 12.0, true), 2.0 / 12.0, 1e-12);
  CHECK_EQUAL(estimates.rate(1, 12.0, false), 0.0);
  CHECK_EQUAL(estimates.tasks(0, kMap), 4.0);
  CHECK_EQUAL(estimates.tasks(0, kReduce), 2.0);
  CHECK_EQUAL(estimates.tasks(1, kMap), 0.0);
}

TEST(what_is_long_ago_fades) {
  ClassEstimates estimates(1, 50.0);
  const std::vector<double> seconds = {1.0, 1.0};
  estimates.add_class();
  // A job a second, then one every ten: the rate follows.
  double now = 0.0;
  for (; now < 500.0; now += 1.0) estimates.arrived(0, now, false, kTasks, seconds);
  CHECK_NEAR(estimates.rate(0, now, false), 1.0, 0.02);
  for (; now < 1500.0; now += 10.0) estimates.arrived(0, now, false, kTasks, seconds);
  CHECK_NEAR(estimates.rate(0, now, false), 0.1, 0.01);
  // The definition, term by term.
  ClassEstimates few(1, 10.0);
  few.add_class();
  for (const double at : {1.0, 4.0, 9.0}) few.arrived(0, at, false, kTasks, seconds);
  const double weight = std::exp(-1.1) + std::exp(-0.8) + std::exp(-0.3);
  CHECK_NEAR(few.rate(0, 12.0, false), weight / (10.0 * (1.0 - std::exp(-1.2))), 1e-12);
}

TEST(seconds_by_type) {
  ClassEstimates estimates(2, kInfinity);
  estimates.add_class();
  CHECK_EQUAL(estimates.seconds(0, kMap, 0), 0.0);  // no time was stated
  estimates.arrived(0, 0.0, false, kTasks, std::vector<double>{8.0, 4.0, 6.0, 3.0});
  estimates.arrived(0, 1.0, false, kTasks, std::vector<double>{12.0, 6.0, 6.0, 3.0});
  CHECK_NEAR(estimates.seconds(0, kMap, 0), 10.0, 1e-12);
  CHECK_NEAR(estimates.seconds(0, kMap, 1), 5.0, 1e-12);
  // Type 1 takes twice the stated time; the guess for type 0 follows with the weight of one task.
  for (int k = 0; k < 3; ++k) estimates.finished(0, kMap, 1, 10.0);
  const double slow = (10.0 + 30.0) / (10.0 + 15.0), fast = (5.0 + 30.0) / (5.0 + 15.0);
  CHECK_NEAR(estimates.seconds(0, kMap, 0), 10.0 * slow, 1e-12);
  CHECK_NEAR(estimates.seconds(0, kMap, 1), (5.0 * fast + 30.0) / 4.0, 1e-12);
  CHECK_NEAR(estimates.seconds(0, kReduce, 0), 6.0, 1e-12);
}

TEST(old_tasks_fade) {
  ClassEstimates estimates(1, kInfinity);
  estimates.add_class();
  estimates.arrived(0, 0.0, false, kTasks, std::vector<double>{1.0, 1.0});
  for (int k = 0; k < 1000; ++k) estimates.finished(0, kMap, 0, 1.0);
  for (int k = 0; k < 1000; ++k) estimates.finished(0, kMap, 0, 7.0);
  CHECK_NEAR(estimates.seconds(0, kMap, 0), 7.0, 0.01);
}

TEST(phases_without_tasks_say_nothing) {
  ClassEstimates estimates(1, kInfinity);
  estimates.add_class();
  const std::int64_t none[2] = {3, 0};
  estimates.arrived(0, 0.0, false, none, std::vector<double>{2.0, 99.0});
  estimates.arrived(0, 0.0, false, kTasks, std::vector<double>{4.0, 5.0});
  CHECK_NEAR(estimates.seconds(0, kReduce, 0), 5.0, 1e-12);
  CHECK_NEAR(estimates.tasks(0, kReduce), 1.0, 1e-12);
}

}  // namespace test_class_estimates
}  // namespace malleable::check
