#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/speedup_posterior.hpp"

namespace malleable::check {
namespace test_speedup_posterior {

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

double mean_after(SpeedupPosterior& belief) {
  belief.believe({});
  return mean_speedup(belief.chances());
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
    SpeedupPosterior belief;
    belief.say(speedup_likelihood(tasks), said);
    CHECK_NEAR(mean_after(belief), p, 0.01);
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
  SpeedupPosterior belief;
  std::vector<double> said;
  const double before = mean_after(belief);
  belief.say(speedup_likelihood(tasks), said);
  CHECK_NEAR(mean_after(belief), before, 1e-9);
}

// A phase may say what it has to say many times over, and counts once.
TEST(a_phase_counts_once) {
  std::vector<EndedTask> tasks = waves(0.7);
  const ModelCurves all = speedup_likelihood(tasks);
  std::vector<double> said, again;
  SpeedupPosterior once, often;
  once.close(all, 21.0, said);
  for (const std::size_t part : {5U, 9U, 21U})
    often.say(speedup_likelihood({tasks.data(), part}), again);
  often.close(all, 21.0, again);
  CHECK(said.empty() && again.empty());
  once.believe({});
  often.believe({});
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    CHECK_NEAR(once.chances()[g], often.chances()[g], 1e-9);
  }
}

// Programs whose phases say so, each of 21 tasks.
void run(SpeedupPosterior& belief, std::int64_t program, double p, int phases = 3) {
  for (int k = 0; k < phases; ++k) {
    std::vector<EndedTask> tasks = waves(p);
    std::vector<double> said;
    belief.close(speedup_likelihood(tasks), 21.0, said, program);
    belief.ended(program);
    belief.believe({});
  }
}

TEST(programs_may_differ) {
  SpeedupPosterior belief;
  for (std::int64_t program = 0; program < 6; ++program)
    run(belief, program, program % 2 ? 0.5 : 1);
  for (std::int64_t program = 0; program < 6; ++program) {
    CHECK_NEAR(belief.mean(program), program % 2 ? 0.5 : 1.0, 0.02);
    CHECK_NEAR(mean_speedup(belief.chances(program)), belief.mean(program), 1e-12);
  }
  // A new program may be like any of these.
  const SpeedupCurve unknown = belief.chances(99);
  CHECK(unknown[5] > 0.3 && unknown.back() > 0.3);
  CHECK_NEAR(mean_speedup(unknown), belief.mean(99), 1e-12);
  CHECK_NEAR(mean_speedup(belief.chances()), 0.75, 0.05);
}

TEST(programs_that_are_alike_speak_for_others) {
  SpeedupPosterior belief;
  for (std::int64_t program = 0; program < 6; ++program) run(belief, program, 0.7, 1);
  CHECK_NEAR(belief.mean(99), 0.7, 0.05);
  CHECK(speedup_variance(belief.chances(99)) < 0.01);
}

// Jobs without a program are one: chances are those of all phases together.
TEST(without_programs_all_count_together) {
  SpeedupPosterior named, none;
  for (const double p : {0.6, 0.8, 0.7}) {
    run(none, SpeedupPosterior::kNoProgram, p, 1);
    run(named, 3, p, 1);
  }
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    CHECK_EQUAL(none.chances(SpeedupPosterior::kNoProgram)[g], none.chances_if_alike()[g]);
    CHECK_EQUAL(named.chances(3)[g], none.chances()[g]);
  }
  // A program that has shown nothing is less sure.
  CHECK(speedup_variance(none.chances(0)) >
        1.5 * speedup_variance(none.chances(SpeedupPosterior::kNoProgram)));
}

TEST(what_programs_said_is_recalled) {
  SpeedupPosterior before, after;
  for (const std::int64_t program : {0, 1, -1}) run(before, program, program == 0 ? 1.0 : 0.5);
  std::vector<SpeedupPosterior::Said> said;
  for (const std::int64_t program : {0, 1}) said.push_back(before.of(program));
  after.told() = before.told();
  after.said() = before.said();
  after.recall(said);
  after.believe({});
  for (const std::int64_t program : {-1, 0, 1, 2}) {
    CHECK_NEAR(after.mean(program), before.mean(program), 1e-12);
  }
  CHECK_NEAR(after.of(-1).told, before.of(-1).told, 1e-9);
}

}  // namespace test_speedup_posterior
}  // namespace malleable::check
