#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/speedup_likelihood.hpp"

namespace malleable::check {
namespace {

// Tasks of 10 seconds alone, in waves of 1, 2, .. 6 that begin together.
std::vector<EndedTask> waves(double p, double later = 1.0) {
  std::vector<EndedTask> tasks;
  double now = 0.0;
  for (int wave = 1; wave <= 6; ++wave) {
    const double together = wave, alone = wave > 3 ? 10.0 * later : 10.0;
    const double seconds = alone * std::pow(together, 1.0 - p);
    EndedTask task{now, std::log(together), {}};
    for (std::size_t k = 0; k < EndedTask::kKnown; ++k) {
      task.alone[k] = std::log(seconds) - 0.25 * static_cast<double>(k) * task.beside;
    }
    for (int t = 0; t < wave; ++t) tasks.push_back(task);
    now += seconds;
  }
  return tasks;
}

double mean(const SpeedupCurve& chances) {
  double sum = 0.0;
  for (std::size_t g = 0; g < kSpeedups; ++g) sum += chances[g] * speedup_at(g);
  return sum;
}

TEST(priors_sum_to_one) {
  for (const auto prior : {SpeedupPrior::kOwn, SpeedupPrior::kUnknown, SpeedupPrior::kBeyond}) {
    double sum = 0.0;
    for (const double chance : speedup_prior(prior)) sum += chance;
    CHECK_NEAR(sum, 1.0, 1e-12);
  }
}

TEST(tasks_alike_show_p) {
  for (const double p : {1.0, 0.8, 0.5}) {
    std::vector<EndedTask> tasks = waves(p);
    std::vector<double> said;
    SpeedupBelief belief;
    belief.say(speedup_likelihood(tasks), said);
    CHECK_NEAR(mean(belief.chances({})), p, 0.01);
  }
}

TEST(what_says_nothing_changes_nothing) {
  std::vector<EndedTask> tasks(20, EndedTask{0.0, std::log(20.0), {}});
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    for (std::size_t k = 0; k < EndedTask::kKnown; ++k) {
      tasks[t].alone[k] =
          1.0 + 0.1 * static_cast<double>(t % 7) - 0.25 * static_cast<double>(k) * tasks[t].beside;
    }
  }
  SpeedupBelief belief;
  std::vector<double> said;
  const double before = mean(belief.chances({}));
  belief.say(speedup_likelihood(tasks), said);
  CHECK_NEAR(mean(belief.chances({})), before, 1e-9);
  CHECK(speedup_likelihood({tasks.data(), 1})[0][0] == 0.0);
}

// A phase may say what it has to say many times over, and counts once.
TEST(a_phase_counts_once) {
  std::vector<EndedTask> tasks = waves(0.7);
  const ModelCurves all = speedup_likelihood(tasks);
  std::vector<double> said, again;
  SpeedupBelief once, often;
  once.close(all, 21.0, said);
  for (const std::size_t part : {5U, 9U, 21U})
    often.say(speedup_likelihood({tasks.data(), part}), again);
  often.close(all, 21.0, again);
  CHECK(said.empty() && again.empty());
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    CHECK_NEAR(once.chances({})[g], often.chances({})[g], 1e-9);
  }
}

}  // namespace
}  // namespace malleable::check
