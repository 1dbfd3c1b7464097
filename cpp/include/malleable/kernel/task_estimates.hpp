// How long does a phase's task take on average, and how sure is that?
//
// Logarithms of seconds are normal. Before a task of the phase has run, two things speak of their
// mean. One is what its user said, with the error that this user's statements had so far. The other
// is what runs of the same group (program and user) took, drawn towards the mean of all phases by
// how much groups differ. A group may change: its last runs count more than the others, by how far
// runs of groups followed the last ones until now (a regression). Each counts by its precision.
// Phases that go on speak as those that finished; before any task has ended there is a stated
// default. Then the phase's own tasks correct it: those that finished by their seconds, those that
// run by being at least as old as they are (censored), so that short tasks, which finish first, do
// not speak for all. Seconds are means: the less sure a logarithm is, the more.
//
// p, where s tasks of a phase that run together do s^p of what one does alone, is what each phase's
// own tasks say (kernel/speedup_posterior); it may differ by group.
//
// Over a plain rule (the mean of ended tasks, else of the program's runs, else of all) this gives 2
// % of the mean response on families that it was not chosen on, and 1 % on real traces
// (benchmarks/results/mechanisms.md).
//
// A phase costs O(1), an estimate O(1) with at most 30 Newton steps. Memory: O(groups + users).
// Sources: overlap, section 4.3 (estimates); the censored likelihood of a log-normal (Cohen,
// Technometrics 1959, for the normal).
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

// The mean of logarithms of seconds, and the variance of what is believed of it.
struct LogMean {
  double mean = 0.0;
  double variance = 0.0;

  // What both say, each by its precision.
  static LogMean combine(const LogMean& a, const LogMean& b) {
    const double total = 1.0 / a.variance + 1.0 / b.variance;
    return {(a.mean / a.variance + b.mean / b.variance) / total, 1.0 / total};
  }

  void state(State& s) { s(mean, variance); }
};

class TaskEstimates {
 public:
  static constexpr std::int64_t kNoGroup = -1;

  // `seconds`: of a task before anything is known.
  explicit TaskEstimates(double seconds = 1.0, SpeedupPrior prior = SpeedupPrior::kUnknown);

  // What is known of a phase before a task of it has run: what its user said (0: nothing), and
  // whether the program is one that ran before.
  struct Stated {
    double said = 0.0;
    std::int64_t group = kNoGroup;
    std::size_t user = 0;
  };
  LogMean prior(Phase p, const Stated& told) const;
  // With what its tasks have shown, if p is `speedup` and logarithms of their seconds differ by
  // `scatter`; and, up to a constant, the logarithm of how likely that makes what they have shown.
  struct Posterior {
    LogMean mean;
    double log = 0.0;
  };
  Posterior posterior(double scatter, double speedup, const LogMean& prior, const TaskSamples& seen,
                      const RunningTasks& running) const;
  // Seconds of an average task.
  double seconds(Phase p, const LogMean& of) const;

  // What processors tasks have is known better than before.
  void begin_with(SpeedupPrior prior) {
    belief_.begin_with(prior);
    look_at_speedups();
  }
  // What tasks of a phase that goes on have shown of their group's p; false: there is too little
  // new.
  bool look_at_speedup(Phase p, TaskSamples& seen, std::int64_t group);
  // The phase goes, however it ended.
  void close(Phase p, TaskSamples& seen, std::int64_t group);

  // What a phase that goes on has shown, and of whom it speaks.
  struct Shown {
    bool is = false;
    Stated told;
    double log = 0.0;
    void state(State& s) { s(is, told.said, told.group, told.user, log); }
  };
  // `now` is believed of it, in place of what it showed; or it shows nothing any more.
  void show(Phase p, Shown& shown, const Stated& told, const LogMean& now);
  void hide(Phase p, Shown& shown);
  // All `tasks` of a phase have finished, of which some were seen.
  void learn(Phase p, const Stated& told, TaskSamples& seen, double tasks);

  // What is believed of p: its mean, and the chances on the grid of model/speedup_curve; of any
  // group, and of one.
  double speedup() const { return speedup_; }
  const SpeedupCurve& speedups() const { return belief_.chances(); }
  double speedup(std::int64_t group) const { return belief_.mean(group); }
  const SpeedupCurve& speedups(std::int64_t group) const { return belief_.chances(group); }
  // The standard deviation of what is believed of p.
  double speedup_deviation() const { return std::sqrt(speedup_variance(speedups())); }
  // How many phases took how much work.
  const WorkCounts& work(Phase p) const { return counts_[p]; }
  // The standard deviation of logarithms of seconds within a phase.
  double scatter(Phase p) const { return scatter_[p]; }

  // All that was learnt, as plain numbers that outlive this object: sums over all phases and counts
  // of their work, and by phase three numbers a group and a user: how many runs or statements, the
  // mean of their logarithms, and of users the sum of squares around that, of groups the mean of
  // the last ones. Also by group, how many tasks have
  // shown p, and the logarithm of how well each p explains them.
  struct History {
    std::vector<double> common, runs[2], errors[2], speedups;
  };
  History history() const;
  // In place of what was learnt; std::invalid_argument for numbers that are none of a history.
  void recall(const History& history);

  void state(State& s) {
    s(default_, group_, errors_, within_, belief_, counts_);
    if (s.reading()) look_at_speedups();
  }

 private:
  // What is supposed before anything has finished counts as so many phases.
  static constexpr double kPhases = 4.0;
  static constexpr double kLeastVariance = 1e-4;

  // How many logarithms, their mean, the sum of squares around it.
  struct Logs {
    double n = 0.0, mean = 0.0, square = 0.0;

    // `most`: the last ones count as so many, those before them less and less.
    void add(double value, double most = kInfinity);
    // With as many more, or without them (`sign` -1).
    Logs with(const Logs& more, double sign = 1.0) const;
    void state(State& s) { s(n, mean, square); }
  };
  // Of phases that ended, and of those that go on.
  struct Two {
    Logs done, open;

    Logs both() const { return done.with(open); }
    void state(State& s) { s(done, open); }
  };
  // By group or by user; and of all.
  struct Table {
    std::vector<Two> of;
    Two all;

    Logs both(std::int64_t row) const {
      const auto place = static_cast<std::size_t>(row);
      return row >= 0 && place < of.size() ? of[place].both() : Logs{};
    }
    Two& row(std::int64_t row);
    void open(std::int64_t row, double value, bool more);
    void state(State& s) { s(of, all); }
  };
  struct Groups : Table {
    std::vector<Logs> latest;            // by group, its last runs
    double steps = 0.0, moves = 0.0;     // squared steps from all runs to these; what followed them
    double within = 0.0, freedom = 0.0;  // squared deviations of runs from what was expected

    // The variance of runs of a group.
    double between_runs() const;
    // The mean of a group's runs, and as much of the way from there to the last ones as runs
    // followed so far; `own` are its runs.
    double expected(std::int64_t row, const Logs& own) const;
    // A step to its last runs.
    double step(std::int64_t row, const Logs& own) const;
    void learn(std::int64_t row, double value);
    void state(State& s) { s(of, all, latest, steps, moves, within, freedom); }
  };
  // Calls see(number, whether it may be below 0) for all numbers but those of groups and users.
  template <typename Self, typename See>
  static void each(Self& self, const See& see);
  void tell_speedup(Phase p, TaskSamples& seen, std::int64_t group, double tasks);
  void look_at_speedups();
  // Between the mean of a phase's logarithms and the logarithm of its mean.
  double above(Phase p) const { return 0.5 * scatter_[p] * scatter_[p]; }
  LogMean everybody(Phase p) const;
  LogMean from_runs(Phase p, std::int64_t group) const;
  LogMean from_user(Phase p, double said, std::size_t user) const;

  double default_;  // logarithm
  Groups group_[2];
  Table errors_[2];  // logarithms of seconds over what was said
  TaskSamples::Around within_[2];
  SpeedupPosterior belief_;
  WorkCounts counts_[2] = {};
  // Of these.
  double speedup_ = 1.0;
  double scatter_[2];
};

}  // namespace malleable
