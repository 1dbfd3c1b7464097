// How long does a phase's task take on average, and how sure is that?
//
// Logarithms of seconds are normal. Before a task of the phase has run, two sources give a prior of
// their mean, combined by precision. One is what its user stated, with the error of this user's
// statements so far. The other is the times of earlier runs of the same group (program and user),
// shrunk towards the mean of all phases by how much groups differ. Because a group may change, its
// last runs count more than the others, by how well the last runs predicted the next ones so far (a
// regression). Running phases count like finished ones; before any task has ended there is a
// default. Then the phase's own tasks correct the prior: finished tasks by their seconds, running
// tasks by their ages (censored), so that short tasks, which finish first, do not stand for all.
// Seconds are means of log-normals, so they grow with the variance of the logarithm.
//
// The exponent p (s tasks of a phase that run together do s^p of what one does alone) is learnt
// from the phases' own tasks (kernel/speedup_posterior); it may differ by group.
//
// Compared with a plain rule (the mean of ended tasks, else of the program's runs, else of all
// tasks) this saves 2 % of the mean response on families that it was not chosen on, and 1 % on real
// traces (benchmarks/results/mechanisms.md).
//
// A phase costs O(1), an estimate O(1) with at most 30 Newton steps. Memory: O(groups + users).
// Sources: Lin et al. 2013, section 4.3 (estimates); the censored likelihood of a log-normal
// (Cohen, Technometrics 1959, for the normal).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "malleable/kernel/gittins.hpp"
#include "malleable/kernel/speedup_posterior.hpp"
#include "malleable/kernel/task_samples.hpp"
#include "malleable/model/cluster.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// A posterior: the mean of logarithms of seconds, and the variance of that mean.
struct LogMean {
  double mean = 0.0;
  double variance = 0.0;

  // Both together, weighted by precision.
  static LogMean combine(const LogMean& a, const LogMean& b) {
    const double total = 1.0 / a.variance + 1.0 / b.variance;
    return {(a.mean / a.variance + b.mean / b.variance) / total, 1.0 / total};
  }

  void state(State& s) { s(mean, variance); }
};

class TaskEstimates {
 public:
  static constexpr std::int64_t kNoGroup = -1;  // the program did not run before

  // `seconds`: the default of a task before anything is known.
  explicit TaskEstimates(double seconds = 1.0, SpeedupPrior prior = SpeedupPrior::kUnknown);

  // What is known of a phase before a task of it has run: the seconds that its user stated (0:
  // none), and whether the program ran before.
  struct Stated {
    double seconds = 0.0;
    std::int64_t group = kNoGroup;
    std::size_t user = 0;
  };
  LogMean prior(Phase p, const Stated& stated) const;
  // The posterior with the samples of its tasks, if p is `speedup` and logarithms of seconds have
  // the deviation `scatter`; and the log-likelihood of the samples, up to a constant.
  struct Posterior {
    LogMean mean;
    double log = 0.0;
  };
  Posterior posterior(double scatter, double speedup, const LogMean& prior, const TaskSamples& seen,
                      const RunningTasks& running) const;
  // Seconds of an average task.
  double seconds(Phase p, const LogMean& of) const;

  // More is known of how tasks share processors: sets the initial prior of p.
  void begin_with(SpeedupPrior prior) {
    exponents_.begin_with(prior);
    update_speedup();
  }
  // Adds what the tasks of a running phase show of their group's p. False: there is too little new.
  bool report_speedup(Phase p, TaskSamples& seen, std::int64_t group);
  // Forgets a phase, after it has ended in any way.
  void close(Phase p, TaskSamples& seen, std::int64_t group);

  // What a running phase has shown, and what was known of it before.
  struct Shown {
    bool is = false;  // false: nothing
    Stated stated;
    double log = 0.0;
    void state(State& s) { s(is, stated.seconds, stated.group, stated.user, log); }
  };
  // Replaces what a running phase has shown by `now`; or withdraws it.
  void show(Phase p, Shown& shown, const Stated& stated, const LogMean& now);
  void hide(Phase p, Shown& shown);
  // Learns from a phase whose `tasks` have all finished; some of them were seen.
  void learn(Phase p, const Stated& stated, TaskSamples& seen, double tasks);

  // The posterior of p: its mean, and the chances on the grid of model/speedup_curve, for any group
  // and for one.
  double speedup() const { return speedup_; }
  const SpeedupCurve& speedups() const { return exponents_.chances(); }
  double speedup(std::int64_t group) const { return exponents_.mean(group); }
  const SpeedupCurve& speedups(std::int64_t group) const { return exponents_.chances(group); }
  // The standard deviation of the posterior of p.
  double speedup_deviation() const { return std::sqrt(speedup_variance(speedups())); }
  // Counts of phases by their work.
  const WorkCounts& work(Phase p) const { return counts_[p]; }
  // The standard deviation of logarithms of seconds within a phase.
  double scatter(Phase p) const { return scatter_[p]; }
  // The variance of the logarithm of their mean between runs of a group.
  double between_runs(Phase p) const { return group_[p].between_runs(); }

  // All that was learnt, as plain numbers that outlive this object: sums over all phases and counts
  // of their work, and by phase three numbers for each group and each user: how many runs or
  // statements, the mean of their logarithms, and for users the sum of squares around that mean,
  // for groups the mean of the last runs. Also by group, how many tasks have shown p, and the
  // log-likelihood of each p.
  struct History {
    std::vector<double> common, runs[2], errors[2], speedups;
  };
  History history() const;
  // Replaces what was learnt; std::invalid_argument if the numbers are no history.
  void recall(const History& history);

  void state(State& s) {
    s(default_, group_, errors_, within_, exponents_, counts_);
    if (s.reading()) update_speedup();
  }

 private:
  // The defaults count as this many phases.
  static constexpr double kPhases = 4.0;
  static constexpr double kLeastVariance = 1e-4;  // smaller variances of logarithms count as this

  // Logarithms: their number, their mean, the sum of squares around it.
  struct Logs {
    double n = 0.0, mean = 0.0, square = 0.0;

    // `most`: older values fade so that the number stays at most this.
    void add(double value, double most = kInfinity);
    // Both together, or this without `more` (`sign` -1).
    Logs with(const Logs& more, double sign = 1.0) const;
    void state(State& s) { s(n, mean, square); }
  };
  // Sums over ended phases, and over running ones.
  struct Two {  // of one row
    Logs done, open;

    Logs both() const { return done.with(open); }
    void state(State& s) { s(done, open); }
  };
  // Rows by group or by user, and their total.
  struct Table {
    std::vector<Two> of;
    Two all;

    Logs both(std::int64_t row) const {
      const auto place = static_cast<std::size_t>(row);
      return row >= 0 && place < of.size() ? of[place].both() : Logs{};
    }
    Two& row(std::int64_t row);
    // Adds a phase that still runs, or takes it out (`more` false).
    void open(std::int64_t row, double value, bool more);
    void state(State& s) { s(of, all); }
  };
  struct Groups : Table {
    std::vector<Logs> latest;  // the last runs of each group
    // regression of the next run on the last runs: squared steps from the mean of all runs to the
    // last ones, and the products with the next run
    double steps = 0.0, moves = 0.0;
    // squared deviations of runs from their expectation, and how many
    double within = 0.0, freedom = 0.0;

    // The variance of runs of a group.
    double between_runs() const;
    // The mean of a group's runs `own`, moved towards its last runs by as much as the regression
    // says.
    double expected(std::int64_t row, const Logs& own) const;
    // The step from the mean of its runs to its last runs.
    double step(std::int64_t row, const Logs& own) const;
    void learn(std::int64_t row, double value);
    void state(State& s) { s(of, all, latest, steps, moves, within, freedom); }
  };
  // Calls see(number, whether it may be below 0) for all numbers except those of groups and users.
  template <typename Self, typename See>
  static void each(Self& self, const See& see);
  // Passes what the samples show of p on to exponents_.
  void add_speedup(Phase p, TaskSamples& seen, std::int64_t group, double tasks);
  void update_speedup();
  // The difference of the logarithm of the mean and the mean of the logarithms.
  double above(Phase p) const { return 0.5 * scatter_[p] * scatter_[p]; }
  // Priors of a phase: like all phases, from runs of its group, from its user's statement.
  LogMean all_phases(Phase p) const;
  LogMean from_runs(Phase p, std::int64_t group) const;
  LogMean from_user(Phase p, double seconds, std::size_t user) const;

  double default_;  // logarithm of a task's seconds if nothing is known
  Groups group_[2];
  Table errors_[2];                // logarithms of real over stated seconds
  TaskSamples::Around within_[2];  // squares of logarithms around their means, over all phases
  SpeedupPosterior exponents_;
  WorkCounts counts_[2] = {};
  // Posterior of p: mean.
  double speedup_ = 1.0;
  double scatter_[2];  // by phase: deviation of logarithms of task times around their mean
};

}  // namespace malleable
