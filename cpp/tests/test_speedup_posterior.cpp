// Chances of the exponent p (s tasks do s^p) by program.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/speedup_posterior.hpp"

namespace malleable::check {
namespace test_speedup_posterior {

// What tasks say that make p likely, give or take 0.05.
SpeedupCurve says(double p) {
  SpeedupCurve found;
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double off = (speedup_at(g) - p) / 0.05;
    found[g] = -0.5 * off * off;
  }
  return found;
}

TEST(priors_sum_to_one) {
  for (const auto prior : {SpeedupPrior::kOwn, SpeedupPrior::kUnknown, SpeedupPrior::kBeyond}) {
    double sum = 0.0;
    for (const double chance : speedup_prior(prior)) sum += chance;
    CHECK_NEAR(sum, 1.0, 1e-12);
  }
}

TEST(what_says_nothing_changes_nothing) {
  SpeedupPosterior belief;
  const SpeedupCurve before = belief.chances();
  SpeedupCurve same;
  same.fill(3.0);
  belief.add(2, same, 20.0);
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    CHECK_EQUAL(belief.chances()[g], before[g]);
    CHECK_EQUAL(belief.chances(2)[g], before[g]);
  }
}

// Programs whose phases say so, each of 21 tasks.
void run(SpeedupPosterior& belief, std::int64_t program, double p, int phases = 3) {
  for (int k = 0; k < phases; ++k) belief.add(program, says(p), 21.0);
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

// Another prior counts for earlier reports, too.
TEST(what_processors_tasks_have_is_known_later) {
  SpeedupPosterior early(SpeedupPrior::kOwn), late;
  for (SpeedupPosterior* belief : {&early, &late}) run(*belief, 1, 0.9, 1);
  late.begin_with(SpeedupPrior::kOwn);
  for (const std::int64_t program : {0, 1}) {
    CHECK_NEAR(late.mean(program), early.mean(program), 1e-12);
  }
}

TEST(what_programs_said_is_recalled) {
  SpeedupPosterior before, after;
  for (const std::int64_t program : {-1, 0, 1}) run(before, program, program == 0 ? 1.0 : 0.5);
  std::vector<SpeedupPosterior::Likelihood> said;
  for (std::size_t row = 0; row < before.programs(); ++row) said.push_back(before.of(row));
  after.recall(said);
  for (const std::int64_t program : {-1, 0, 1, 2}) {
    CHECK_NEAR(after.mean(program), before.mean(program), 0.01);
  }
  CHECK_EQUAL(after.of(0).tasks, 63.0);
}

}  // namespace test_speedup_posterior
}  // namespace malleable::check
