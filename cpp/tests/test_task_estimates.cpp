// Estimates of the seconds of tasks, from statements, earlier runs and running tasks.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/task_estimates.hpp"

namespace malleable::check {
namespace test_task_estimates {

// Phases of `tasks` tasks each, whose true mean is e^mean, stated with an error and a shift, with
// scatter within and p: tasks finish in order, so that the slowest run beside the fewest.
struct World {
  double scatter = 0.3, error = 0.5, shift = 0.0, p = 1.0;
  int tasks = 8;
};

void live(TaskEstimates& estimates, const World& world, int phases, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  for (int k = 0; k < phases; ++k) {
    const double mean = 3.0 + normal(random);
    const double said = std::exp(mean + world.shift + world.error * normal(random));
    const int tasks = 1 + static_cast<int>(random() % static_cast<unsigned>(world.tasks));
    std::vector<double> work;
    for (int t = 0; t < tasks; ++t) {
      work.push_back(std::exp(mean + world.scatter * normal(random)));
    }
    std::sort(work.begin(), work.end());
    TaskSamples seen;
    seen.running(0.0, tasks);
    double now = 0.0, done = 0.0;
    for (int t = 0; t < tasks; ++t) {
      const double left = tasks - t;
      now += (work[static_cast<std::size_t>(t)] - done) * std::pow(left, 1.0 - world.p);
      done = work[static_cast<std::size_t>(t)];
      seen.finished(1.0, now, now);
      seen.running(now, left - 1.0);
    }
    estimates.learn(kMap, {said}, seen, tasks);
  }
}

TEST(before_anything_is_known) {
  const TaskEstimates estimates(5.0);
  const LogMean nothing = estimates.prior(kMap, {});
  CHECK_NEAR(estimates.seconds(kMap, nothing), 5.0, 1e-9);
  const LogMean said = estimates.prior(kMap, {60.0});
  CHECK_NEAR(estimates.seconds(kMap, said), 60.0, 1e-9);
  CHECK(said.variance < nothing.variance);
}

TEST(phases_that_go_on_speak_for_others) {
  TaskEstimates estimates(1.0);
  const TaskEstimates::Stated sort{0.0, 3};
  const LogMean nothing = estimates.prior(kMap, {});
  std::vector<TaskEstimates::Shown> shown(4);
  for (std::size_t k = 0; k < 3; ++k) {
    estimates.show(kMap, shown[k], {}, {7.0, 0.01});  // another time takes the place of this one
    estimates.show(kMap, shown[k], {}, {2.8 + 0.2 * static_cast<double>(k), 0.01});
  }
  estimates.show(kMap, shown[3], sort, {5.0, 0.01});
  const LogMean some = estimates.prior(kMap, {});
  CHECK_NEAR(some.mean, 3.5, 0.1);  // the default counts little beside them
  CHECK(some.variance < 0.2 * nothing.variance);
  // A run of the same program.
  CHECK(estimates.prior(kMap, sort).mean > some.mean + 0.3);
  CHECK_EQUAL(estimates.prior(kReduce, {}).mean, nothing.mean);
  for (TaskEstimates::Shown& one : shown) estimates.hide(kMap, one);
  CHECK_EQUAL(estimates.prior(kMap, {}).mean, nothing.mean);
  CHECK_EQUAL(estimates.prior(kMap, sort).mean, nothing.mean);
}

// Statements that phases which go on have shown to be wrong, before any has finished; other users
// are believed more than the one who was wrong.
TEST(users_are_believed_as_far_as_they_were_right) {
  TaskEstimates estimates;
  std::vector<TaskEstimates::Shown> shown(8);
  for (std::size_t k = 0; k < 4; ++k) {
    const double error = k % 2 == 0 ? 2.3 : -2.3;
    const TaskEstimates::Stated wrong{std::exp(1.0 + error), TaskEstimates::kNoGroup, 1};
    estimates.show(kMap, shown[2 * k], wrong, {1.0, 0.01});
    const TaskEstimates::Stated right{std::exp(1.0), TaskEstimates::kNoGroup, 2};
    estimates.show(kMap, shown[2 * k + 1], right, {1.0, 0.01});
  }
  const double said = std::exp(4.0);
  const auto of = [&](std::size_t user) {
    return estimates.prior(kMap, {said, TaskEstimates::kNoGroup, user});
  };
  CHECK(of(1).mean < of(3).mean && of(3).mean < of(2).mean);
  CHECK(of(2).mean - 1.0 > 3.0 * (of(1).mean - 1.0));
}

// One run of program 0 after the other, of so many tasks of so many seconds each, side by side.
void run_program(TaskEstimates& estimates, double seconds, double tasks = 1.0) {
  TaskSamples seen;
  seen.finished(tasks, seconds, seconds);
  estimates.learn(kMap, {0.0, 0}, seen, tasks);
}

double expected_of_program(const TaskEstimates& estimates) {
  return estimates.seconds(kMap, estimates.prior(kMap, {0.0, 0}));
}

// A program that becomes five times slower or faster: its estimate follows the last runs, however
// many there were before.
TEST(a_program_that_changes) {
  for (const double after : {50.0, 2.0}) {
    for (const int before : {100, 500}) {
      TaskEstimates estimates;
      for (int k = 0; k < before; ++k) run_program(estimates, k % 2 ? 9.0 : 11.0);
      for (int k = 0; k < 24; ++k) run_program(estimates, after);
      CHECK_NEAR(expected_of_program(estimates), after, 0.2 * after);
    }
  }
}

// Users that err by a constant factor are corrected; statements of users that err at random count
// as far as they were right.
TEST(what_users_say_is_corrected) {
  std::mt19937_64 random(1);
  TaskEstimates shifted;
  live(shifted, {.error = 0.05, .shift = 2.0}, 300, random);
  const LogMean right = shifted.prior(kMap, {std::exp(3.0 + 2.0)});
  CHECK_NEAR(right.mean, 3.0, 0.1);
  TaskEstimates wrong;
  live(wrong, {.error = 2.0}, 3000, random);
  // True logarithms have mean 3 and variance 1, errors variance 4: a fifth of the way.
  const LogMean pulled = wrong.prior(kMap, {std::exp(3.0 + 2.0)});
  CHECK_NEAR(pulled.mean, 3.0 + 2.0 / 5.0, 0.1);
  CHECK_NEAR(pulled.variance, 0.8, 0.15);
}

TEST(earlier_runs_of_a_program) {
  TaskEstimates estimates;
  const auto ran = [&](std::int64_t group, double seconds) {
    TaskSamples seen;
    seen.finished(10.0, seconds, seconds);
    estimates.learn(kMap, {0.0, group}, seen, 10.0);
  };
  for (int k = 0; k < 50; ++k) {
    ran(0, k % 2 ? 9.0 : 11.0);
    ran(1, k % 2 ? 900.0 : 1100.0);
  }
  CHECK_NEAR(std::exp(estimates.prior(kMap, {0.0, 0}).mean), 10.0, 0.3);
  CHECK_NEAR(std::exp(estimates.prior(kMap, {0.0, 1}).mean), 1000.0, 30.0);
  // An unknown program is somewhere between, with its uncertainty.
  const LogMean unknown = estimates.prior(kMap, {0.0, 2});
  CHECK_NEAR(unknown.mean, std::log(100.0), 0.2);
  CHECK(unknown.variance > 10.0 * estimates.prior(kMap, {0.0, 0}).variance);
  // Nothing was seen of reduces.
  CHECK_NEAR(estimates.seconds(kReduce, estimates.prior(kReduce, {0.0, 0})), 1.0, 1e-9);
}

// Against the mode of the posterior density on a fine grid.
TEST(running_tasks_are_censored) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform;
  for (int round = 0; round < 500; ++round) {
    const TaskEstimates estimates;
    const LogMean prior{4.0 * uniform(random) - 2.0, 0.05 + 4.0 * uniform(random)};
    TaskSamples seen;
    const double finished = std::floor(4.0 * uniform(random));
    if (finished > 0.0) seen.finished(finished, std::exp(2.0 * uniform(random) - 1.0), 10.0);
    const double running = std::floor(20.0 * uniform(random));
    const double age = std::exp(6.0 * uniform(random) - 3.0);
    const double s = estimates.scatter(kMap);
    const LogMean found = estimates.posterior(s, 1.0, prior, seen, {running, age}).mean;
    const auto density = [&](double m) {
      double log = -0.5 * (m - prior.mean) * (m - prior.mean) / prior.variance;
      const double off = m - (finished > 0.0 ? seen.mean_alone(1.0) : m);
      log -= 0.5 * finished * off * off / (s * s);
      const double z = (std::log(age) - m) / s;
      return log + running * std::log(std::max(1e-300, 0.5 * std::erfc(z / std::sqrt(2.0))));
    };
    const double best = density(found.mean);
    for (double m = found.mean - 1.0; m < found.mean + 1.0; m += 0.01) {
      CHECK(density(m) <= best + 1e-6 * (1.0 + std::fabs(best)));
    }
    CHECK(found.variance > 0.0 && found.variance <= prior.variance * (1.0 + 1e-12));
    // There the slope is 0, up to rounding; beyond 8 the hazard is known within 1e-3.
    const double z = (std::log(age) - found.mean) / s;
    if (z < -5.0 || z > 7.9 || running == 0.0) continue;
    const double alone =
        finished > 0.0 ? finished * (seen.mean_alone(1.0) - found.mean) / (s * s) : 0;
    const double hazard = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi) /
                          (0.5 * std::erfc(z / std::sqrt(2.0)));
    const double slope = (prior.mean - found.mean) / prior.variance + alone + running * hazard / s;
    CHECK_NEAR(slope * found.variance, 0.0, 1e-8);
  }
}

// Short tasks finish first: their mean alone is too low.
TEST(short_tasks_do_not_speak_for_all) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  TaskEstimates estimates;
  live(estimates, {.scatter = 1.0, .error = 1.0, .tasks = 30}, 200, random);
  double early = 0.0, ours = 0.0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> tasks;
    for (int t = 0; t < 40; ++t) tasks.push_back(std::exp(3.0 + normal(random)));
    std::sort(tasks.begin(), tasks.end());
    TaskSamples seen;
    for (int t = 0; t < 10; ++t) {
      const double took = tasks[static_cast<std::size_t>(t)];
      seen.finished(1.0, took, took);
    }
    early += seen.mean_alone(1.0) / kRounds;
    const LogMean prior{3.0, 4.0};
    const double s = estimates.scatter(kMap);
    ours += estimates.posterior(s, estimates.speedup(), prior, seen, {30.0, tasks[9]}).mean.mean /
            kRounds;
  }
  CHECK(early < 2.0);
  CHECK_NEAR(ours, 3.0, 0.2);
}

TEST(the_speedup_is_fitted) {
  for (const double p : {1.0, 0.8, 0.5}) {
    for (const double scatter : {0.01, 0.4}) {
      std::mt19937_64 random(5);
      TaskEstimates estimates;
      live(estimates, {.scatter = scatter, .error = 0.1, .p = p, .tasks = 40}, 2000, random);
      CHECK_NEAR(estimates.speedup(), p, 0.06);
      // Seconds are those of a task that runs alone.
      const LogMean right = estimates.prior(kMap, {std::exp(3.0)});
      CHECK_NEAR(right.mean, 3.0, 0.25);
    }
  }
}

// Tasks of 10 s alone in waves of 1, 2 .. 6, of a program that slows down and of one that does not:
// they are all alike.
TEST(programs_differ_in_speedup) {
  TaskEstimates estimates;
  for (int k = 0; k < 60; ++k) {
    const std::int64_t group = k % 2;
    const double p = group == 0 ? 1.0 : 0.5;
    TaskSamples seen;
    double now = 0.0;
    for (int wave = 1; wave <= 6; ++wave) {
      const double seconds = 10.0 * std::pow(wave, 1.0 - p);
      seen.running(now, wave);
      now += seconds;
      seen.finished(wave, seconds, now);
      seen.running(now, 0.0);
    }
    estimates.learn(kMap, {0.0, group}, seen, 21.0);
  }
  CHECK_NEAR(estimates.speedup(0), 1.0, 0.01);
  CHECK_NEAR(estimates.speedup(1), 0.5, 0.01);
  CHECK_AT_MOST(estimates.scatter(kMap), 0.15, 0.0);  // around one p for both
}

// Tasks themselves show it where stated times explain little.
TEST(the_speedup_does_not_hide_behind_wrong_sizes) {
  std::mt19937_64 random(8);
  TaskEstimates estimates;
  live(estimates, {.scatter = 0.01, .error = 1.0, .p = 0.5, .tasks = 40}, 2000, random);
  CHECK_NEAR(estimates.speedup(), 0.5, 0.03);
}

TEST(estimates_are_saved) {
  std::mt19937_64 random(6);
  TaskEstimates estimates, again;
  live(estimates, {}, 20, random);
  State out;
  estimates.state(out);
  const std::string bytes = out.take();
  State in(bytes);
  again.state(in);
  CHECK_EQUAL(again.prior(kMap, {7.0, 0}).mean, estimates.prior(kMap, {7.0, 0}).mean);
  CHECK_EQUAL(again.speedup(), estimates.speedup());
}

TEST(what_was_learnt_is_kept_as_numbers) {
  std::mt19937_64 random(7);
  TaskEstimates estimates(5.0), again(5.0);
  live(estimates, {.p = 0.7}, 50, random);
  for (int k = 0; k < 5; ++k) {
    TaskSamples seen;
    seen.finished(3.0, 80.0 + k, 90.0);
    estimates.learn(kReduce, {0.0, 2}, seen, 3.0);
  }
  const TaskEstimates::History history = estimates.history();
  again.recall(history);
  for (const Phase p : {kMap, kReduce}) {
    for (const std::int64_t group : {-1, 0, 2}) {
      CHECK_EQUAL(again.prior(p, {0.0, group}).mean, estimates.prior(p, {0.0, group}).mean);
      // Users that both know, and one that neither knows.
      for (const std::size_t user : {0, 7}) {
        const TaskEstimates::Stated told{9.0, group, user};
        CHECK_EQUAL(again.prior(p, told).mean, estimates.prior(p, told).mean);
        CHECK_EQUAL(again.prior(p, told).variance, estimates.prior(p, told).variance);
      }
    }
    CHECK_EQUAL(again.scatter(p), estimates.scatter(p));
  }
  CHECK_EQUAL(again.speedup(), estimates.speedup());
  // What is none changes nothing.
  for (std::size_t k = 0; k <= history.common.size(); ++k) {
    TaskEstimates::History wrong = history;
    if (k == history.common.size()) {
      wrong.common.pop_back();
    } else {
      wrong.common[k] = kInfinity;
    }
    CHECK_THROWS(again.recall(wrong), "history");
  }
  CHECK_EQUAL(again.prior(kReduce, {0.0, 2}).mean, estimates.prior(kReduce, {0.0, 2}).mean);
}

// Times of nothing, and of everything: finite, and above 0.
TEST(corners) {
  TaskEstimates estimates;
  for (const double seconds : {0.0, 1e-12, 1e15}) {
    TaskSamples seen;
    seen.running(0.0, 1e9);
    seen.finished(1e9, seconds, seconds);
    const LogMean prior = estimates.prior(kMap, {seconds, 3});
    for (const double age : {0.0, 1e-12, 1e12}) {
      const double found = estimates.seconds(
          kMap, estimates.posterior(0.2, estimates.speedup(), prior, seen, {1e9, age}).mean);
      CHECK(found > 0.0 && found < 1e22);
    }
    estimates.learn(kMap, {seconds, 3}, seen, 1e9);
    CHECK(estimates.speedup() > 0.0 && estimates.speedup() <= 1.0);
    CHECK(estimates.scatter(kMap) > 0.0);
  }
}

}  // namespace test_task_estimates
}  // namespace malleable::check
