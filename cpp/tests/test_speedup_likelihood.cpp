#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/speedup_likelihood.hpp"

namespace malleable::check {
namespace test_speedup_likelihood {

// As many beside each task all the time: nothing follows for p.
TEST(tasks_beside_as_many_say_nothing) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<EndedTask> tasks;
  for (int t = 0; t < 30; ++t) {
    EndedTask task{static_cast<double>(t), std::log(8.0), {}};
    const double log = 2.0 + 0.4 * normal(random);
    for (std::size_t k = 0; k < EndedTask::kKnown; ++k) {
      task.alone[k] = log - 0.25 * static_cast<double>(k) * task.beside;
    }
    tasks.push_back(task);
  }
  const ModelCurves curves = speedup_likelihood(tasks);
  for (const SpeedupCurve& curve : curves) {
    const auto [least, most] = std::minmax_element(curve.begin(), curve.end());
    CHECK(*most - *least < 1e-6);
  }
  const ModelCurves one = speedup_likelihood({tasks.data(), 1});
  for (const SpeedupCurve& curve : one) CHECK(curve == SpeedupCurve{});
}

// A task of which each model is told in another order is the same.
TEST(the_order_of_telling_is_none) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform;
  std::vector<EndedTask> tasks;
  for (int t = 0; t < 20; ++t) {
    EndedTask task{10.0 * uniform(random), std::log(1.0 + 5.0 * uniform(random)), {}};
    for (std::size_t k = 0; k < EndedTask::kKnown; ++k) {
      task.alone[k] = 2.0 + uniform(random) - 0.2 * static_cast<double>(k) * task.beside;
    }
    tasks.push_back(task);
  }
  std::vector<EndedTask> others(tasks.rbegin(), tasks.rend());
  CHECK(speedup_likelihood(tasks) == speedup_likelihood(others));
}

}  // namespace test_speedup_likelihood
}  // namespace malleable::check
