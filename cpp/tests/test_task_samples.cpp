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
    CHECK_EQUAL(ran.mean(now, now), log);
    RunningOverTime again;
    load_state("RunningOverTime", save_state("RunningOverTime", ran), again);
    for (int k = 0; k < 5; ++k) {
      const double since = k == 0 ? steps.front().first - 1.0 : now - 1e-3 - now * uniform(random);
      double sum = steps.front().second * std::max(0.0, steps.front().first - since);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const double end = i + 1 < steps.size() ? steps[i + 1].first : now;
        sum += steps[i].second * std::max(0.0, end - std::max(since, steps[i].first));
      }
      CHECK_NEAR(ran.mean(since, now), sum / (now - since), 1e-9);
      CHECK_EQUAL(again.mean(since, now), ran.mean(since, now));
    }
    if (round == 200) ran = std::move(again);
  }
  ran.forget();
  CHECK_EQUAL(ran.mean(0.0, 1.0), 0.0);
}

// Two tasks side by side, and one that seems to have begun before its job arrived.
TEST(tasks_count_from_when_they_began) {
  TaskSamples seen;
  seen.running(0.0, 2.0);
  seen.finished(1.0, 4.0, 4.0, 0.0);
  CHECK_NEAR(seen.beside(0.0, 4.0), std::log(2.0), 1e-12);
  seen.running(4.0, 1.0);
  seen.finished(1.0, 8.0, 8.0, 0.0);
  CHECK_NEAR(seen.x, std::log(2.0) + 0.5 * std::log(2.0), 1e-12);
  CHECK_EQUAL(seen.began, 0.0);
  CHECK_EQUAL(seen.latest.size(), std::size_t{1});  // they began together
  seen.finished(1.0, 20.0, 12.0, 3.0);
  CHECK_EQUAL(seen.began, 3.0);
  CHECK_EQUAL(seen.until, 12.0);
  CHECK_EQUAL(seen.count, 3.0);
  // What is told of all of them goes before that.
  seen.replace(5.0, 6.0, 13.0);
  CHECK(seen.together);
  CHECK_EQUAL(seen.count, 5.0);
  CHECK_EQUAL(seen.latest.size(), std::size_t{0});
}

}  // namespace test_task_samples
}  // namespace malleable::check
