// What tasks of a phase have shown, against sums over them one by one.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/task_samples.hpp"

namespace malleable::check {
namespace test_task_samples {

const SpeedupCurve kEven = [] {
  SpeedupCurve variances;
  variances.fill(0.01);
  return variances;
}();

// Against the sum over all pieces, while so few steps are known that none is forgotten, and after;
// what was saved goes on in the same way.
TEST(how_many_ran_over_time) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform;
  RunningOverTime ran;
  std::vector<std::pair<double, double>> steps;
  double now = 5.0;
  for (int round = 0; round < 400; ++round) {
    if (uniform(random) < 0.8) now += uniform(random);
    const double log = std::floor(4.0 * uniform(random));
    ran.add(now, log);
    if (!steps.empty() && steps.back().first == now) {
      steps.back().second = log;
    } else if (steps.empty() || steps.back().second != log) {
      if (steps.size() == 128) steps.erase(steps.begin(), steps.begin() + 64);
      steps.emplace_back(now, log);
    }
    CHECK_EQUAL(ran.first(), steps.front().first);
    CHECK_NEAR(ran.rate(now, now)[1], -0.25 * log, 1e-12);
    CHECK_EQUAL(ran.rate(now, now)[0], 0.0);
    RunningOverTime again;
    load_state("RunningOverTime", save_state("RunningOverTime", ran), again);
    for (int k = 0; k < 5; ++k) {
      const double since = k == 0 ? steps.front().first - 1.0 : now - 1e-3 - now * uniform(random);
      const auto slowed = [](double steps_log) { return std::exp(-0.25 * steps_log); };
      double sum = slowed(steps.front().second) * std::max(0.0, steps.front().first - since);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const double end = i + 1 < steps.size() ? steps[i + 1].first : now;
        sum += slowed(steps[i].second) * std::max(0.0, end - std::max(since, steps[i].first));
      }
      CHECK_NEAR(ran.rate(since, now)[1], std::log(sum / (now - since)), 1e-9);
      CHECK(again.rate(since, now) == ran.rate(since, now));
    }
    if (round == 200) ran = std::move(again);
  }
  ran.forget();
  CHECK_EQUAL(ran.rate(0.0, 1.0)[1], 0.0);
}

// Two tasks side by side, and one of them goes on alone.
TEST(tasks_count_as_if_they_had_run_alone) {
  TaskSamples seen;
  seen.running(0.0, 2.0);
  seen.running(4.0, 1.0);
  seen.finished(1.0, 4.0, 4.0);
  CHECK_NEAR(seen.slowed(0.0, 4.0)[2], -0.5 * std::log(2.0), 1e-12);
  seen.running(8.0, 0.0);
  seen.finished(1.0, 8.0, 8.0);
  CHECK_EQUAL(seen.count, 2.0);
  for (const double p : {1.0, 0.75, 0.5, 0.25}) {
    const double slow = std::pow(2.0, p - 1.0);
    CHECK_NEAR(seen.mean_alone(p), 0.5 * (std::log(4.0 * slow) + std::log(4.0 * slow + 4.0)),
               1e-12);
  }
  // A report about all of them replaces that.
  seen.replace(5.0, 6.0, 13.0);
  CHECK(seen.together);
  CHECK_EQUAL(seen.count, 5.0);
  CHECK_EQUAL(seen.around().freedom, 0.0);
}

// Waves of 1, 2 .. 6 tasks of 10 seconds alone.
TEST(tasks_say_how_much_they_slow_each_other_down) {
  for (const double p : {1.0, 0.8, 0.5}) {
    TaskSamples seen;
    double now = 0.0;
    for (int wave = 1; wave <= 6; ++wave) {
      const double seconds = 10.0 * std::pow(wave, 1.0 - p);
      seen.running(now, wave);
      seen.running(now += seconds, 0.0);
      seen.finished(wave, seconds, now);
    }
    const SpeedupCurve says = seen.likelihood(kEven);
    const auto best = std::max_element(says.begin(), says.end()) - says.begin();
    CHECK_NEAR(speedup_at(static_cast<std::size_t>(best)), p, 1e-12);
    CHECK_EQUAL(says.back(), 0.0);
  }
  // Tasks that always ran beside as many say nothing.
  TaskSamples seen;
  seen.running(0.0, 5.0);
  for (int k = 1; k < 20; ++k) seen.finished(1.0, 1.0 + k % 7, 10.0 * k);
  for (const double log : seen.likelihood(kEven)) CHECK_NEAR(log, 0.0, 1e-9);
}

// Tasks that took twice as long at first; as long as now; and by chance only.
TEST(later_tasks_are_told_from_those_before_if_they_clearly_differ) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto drift = [&](double first) {
    TaskSamples seen;
    for (int task = 0; task < 400; ++task) {
      const double mean = task < 40 ? first : 1.0;
      seen.finished(1.0, mean * std::exp(0.3 * normal(random)), 1e3 * task);
    }
    return seen.drift();
  };
  // The mean of all has a tenth of log(8) too much, and the scatter is too large.
  CHECK_NEAR(drift(8.0), -0.3, 0.15);
  CHECK(drift(1.0 / 8.0) > 0.1);
  int clear = 0;
  for (int round = 0; round < 100; ++round) clear += drift(1.0) != 0.0;
  CHECK(clear < 12);
}

}  // namespace test_task_samples
}  // namespace malleable::check
