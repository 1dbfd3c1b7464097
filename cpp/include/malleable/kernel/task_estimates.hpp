// How long does a phase's task take on average, and how sure is that?
//
// Logarithms of seconds are normal. Before a task of the phase has run, two things speak of their
// mean. One is what its user said, with the error that this user's statements had so far: a factor
// that is the same each time, and a scatter. The other is what earlier runs of the same group
// (program and user) took since it changed last, drawn towards the mean of all phases by how much
// groups differ. Each counts by its precision. Phases that go on speak as those that finished;
// before any task has ended there is a stated default. Then the phase's own tasks correct it: those
// that finished by their seconds, those that run by being at least as old as they are (censored),
// so that short tasks, which finish first, do not speak for all. The scatter of tasks within a
// phase is what finished phases showed. Seconds are means: the less sure a logarithm is, the more.
//
// p, where s tasks of a phase that run together do s^p of what one does alone, is what two things
// say: each phase's own tasks (kernel/speedup_posterior), which may differ by group, and phases
// that had been told their seconds and ran on few or on many slots.
//
// A phase that finished costs O(1), an estimate O(1) with at most 30 Newton steps. Memory:
// O(groups). Sources: overlap, section 4.3 (estimates); the censored likelihood of a log-normal
// (Cohen, Technometrics 1959, for the normal).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/change_point.hpp"
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
  // The first one with this chance, else the second one.
  static LogMean either(double chance, const LogMean& a, const LogMean& b) {
    const double rest = 1.0 - chance, apart = a.mean - b.mean;
    return {chance * a.mean + rest * b.mean,
            chance * a.variance + rest * b.variance + chance * rest * apart * apart};
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
  // Sums of squares around phases' means.
  struct Within {
    double xx = 0.0, xy = 0.0, yy = 0.0, freedom = 0.0;

    void add(const Within& more, double sign = 1.0);
    void state(State& s) { s(xx, xy, yy, freedom); }
  };
  // A run of a program: the logarithm of the mean of its tasks' seconds, the mean of the
  // logarithms, how many tasks they are, when they began on average and when the last one ended,
  // and what it counts as in looks for changes.
  struct Run {
    double log = 0.0, level = 0.0, tasks = 0.0, began = 0.0, ended = 0.0, near = 0.0;
    // Sums of squares of tasks around their level, or around both if times changed.
    Within within;

    TaskSums sums() const { return TaskSums::of(1.0, began, 0.0, 0.0, log, near); }
    void state(State& s) { s(log, level, tasks, began, ended, near, within); }
  };
  // A phase that goes on, of which tasks have ended, and what is believed of it.
  struct Shown {
    LogMean now;
    Stated told;
    Run* run = nullptr;  // if it is more than one task that is like that
  };
  // In place of what was shown. These phases speak for others beside those that finished.
  void show(Phase p, std::span<const Shown> phases);
  // Of one of these, what it shows of its program, in place of what it showed. Whether the program
  // seems to have changed only now.
  bool show_run(Phase p, std::int64_t group, Run& shown, const Run& now);
  // Of one more phase of a program, or of one fewer (`sign`), the first tasks began then and none
  // has ended.
  void count_begun(Phase p, std::int64_t group, double began, double sign);
  // What a phase's tasks say of its program, if `now` is believed of it and so many go on.
  Run run_of(Phase p, double speedup, const LogMean& now, const TaskSamples& seen,
             const RunningTasks& running) const;
  // Whether its tasks have come to take other times as it went on.
  ChangePoint change(Phase p, double speedup, const TaskSamples& seen,
                     const RunningTasks& running) const {
    return find_change(seen, seen.latest, 1.0 - speedup, scatter(p), running);
  }
  // With what its tasks have shown, if p is `speedup`. If times have changed, the tasks since then
  // speak for those to come.
  LogMean posterior(Phase p, double speedup, const LogMean& prior, const TaskSamples& seen,
                    const RunningTasks& running) const;
  // Seconds of an average task.
  double seconds(Phase p, const LogMean& of) const;

  // What processors tasks have is known better than before.
  void begin_with(SpeedupPrior prior) {
    belief_.begin_with(prior);
    fit_speedup();
  }
  // What tasks of a phase that goes on have shown of their group's p; false: there is too little
  // new.
  bool look_at_speedup(TaskSamples& seen, std::int64_t group);
  // The phase goes, however it ended.
  void close(TaskSamples& seen, std::int64_t group);
  // All `tasks` of a phase have finished, of which some were seen. Whether its program seems to
  // have changed only now.
  bool learn(Phase p, const Stated& told, TaskSamples& seen, double tasks);

  // What is believed of p: its mean, and the chances on the grid of kernel/speedup_likelihood; of
  // any group, and of one.
  double speedup() const { return speedup_; }
  const SpeedupCurve& speedups() const { return belief_.chances(); }
  double speedup(std::int64_t group) const { return belief_.mean(group); }
  SpeedupCurve speedups(std::int64_t group) const { return belief_.chances(group); }
  // The standard deviation of what is believed of p.
  double speedup_deviation() const { return std::sqrt(speedup_variance(speedups())); }
  // How likely it is that a phase's times change as it goes on.
  double changing() const;
  // How many phases took how much work.
  const WorkCounts& work(Phase p) const { return counts_[p]; }
  // The standard deviation of logarithms of seconds within a phase.
  double scatter(Phase p) const { return scatter_[p]; }

  // All that was learnt, as plain numbers that outlive this object: sums over all
  // phases and counts of their work, and by phase three numbers a group and a user: how many runs
  // or statements, the mean of their logarithms, the sum of squares around that. Also by group, how
  // many tasks have shown p, and the logarithm of how well each p explains them; and by phase, what
  // shows whether a group has changed: sums over its runs of c and cc (kernel/change_point), and of
  // the latest ones how many they are and sums of y, yy, c and cc.
  static constexpr std::size_t kOfChange = 7;
  struct History {
    std::vector<double> common, runs[2], errors[2], speedups, changes[2];
  };
  History history() const;
  // In place of what was learnt; std::invalid_argument for numbers that are none of a history.
  void recall(const History& history);

  void state(State& s) {
    s(default_, now_, plane_, group_, open_, errors_, open_errors_, within_, belief_, counts_);
    if (s.reading()) look_at_speedups();
  }

 private:
  // What is supposed before anything has finished counts as so many phases.
  static constexpr double kPhases = 4.0;
  static constexpr double kLeastVariance = 1e-4;
  // A change that is as likely as that is beyond doubt.
  static constexpr double kSure = 0.99;
  // p as far as the slope over how many ran goes, before anything is known.
  static constexpr double kSpeedup = 0.9;

  struct Runs {
    double n = 0.0, mean = 0.0, square = 0.0;  // square: sum of squared deviations

    // `most`: the last ones count as so many, those before them less and less. What `square` grew
    // by.
    double add(double value, double most = kInfinity);
    void add(const Runs& more);
    void remove(const Runs& part);
    void append_to(std::vector<double>& numbers) const {
      numbers.insert(numbers.end(), {n, mean, square});
    }
    void state(State& s) { s(n, mean, square); }
  };
  // Sums of a plane's least squares: seconds over what was said (u) and how many ran beside (x).
  struct Plane {
    double n = 0.0, u = 0.0, x = 0.0, y = 0.0;
    double uu = 0.0, ux = 0.0, xx = 0.0, uy = 0.0, xy = 0.0, yy = 0.0;
    // By it: mean at the means, slopes over u and x, what is left of the variance, and the variance
    // of both slopes.
    struct Fit {
      double u, x, y, said, beside, left, said_variance, beside_variance;
    };

    void add(double said, double beside, double seconds);
    Fit fit() const;
    void state(State& s) { s(n, u, x, y, uu, ux, xx, uy, xy, yy); }
  };
  // Of a program, since it changed last beyond doubt.
  struct Group {
    Runs runs;
    double c = 0.0, cc = 0.0;  // as in kernel/change_point
    LatestTasks latest;

    TaskSums sums() const;
    void keep(const TaskSums& late);
    void state(State& s) { s(runs, c, cc, latest); }
  };
  struct Groups {
    std::vector<Group> of;
    Runs all;
    double within = 0.0, freedom = 0.0;  // squared deviations from groups' levels

    void state(State& s) { s(of, all, within, freedom); }
  };
  // Phases that go on.
  struct Open {
    // Phases of a group of which no task has ended: how many, and the sum of their begins.
    struct StartedTask {
      double count = 0.0, began = 0.0;
      void state(State& s) { s(count, began); }
    };
    std::vector<TaskSums> of;  // by group
    std::vector<StartedTask> begun;
    Runs all;
    Within within;

    void state(State& s) { s(of, begun, all, within); }
  };
  // Logarithms of seconds over what was said.
  struct Errors {
    std::vector<Runs> of;  // by user
    Runs all;

    void add(std::size_t user, double value);
    void clear();
    void state(State& s) { s(of, all); }
  };
  // Calls see(number, whether it may be below 0) for all numbers but those of groups.
  template <typename Self, typename See>
  static void each(Self& self, const See& see);
  // Numbers of a history; std::invalid_argument where one is below 0 and may not be (`any`).
  static double checked(double number, bool any);
  static void read_changes(const std::vector<double>& numbers, std::vector<Group>& groups);
  static std::vector<Runs> read_runs(const std::vector<double>& numbers, const char* whose);
  static std::vector<SpeedupPosterior::Said> read_speedups(const std::vector<double>& numbers);
  SpeedupCurve between_phases() const;
  void fit_speedup();
  void look_at_speedups();
  double scatter_now(Phase p) const;
  void look_at_scatter();
  // Between the mean of a phase's logarithms and the logarithm of its mean.
  double above(Phase p) const { return 0.5 * scatter_[p] * scatter_[p]; }
  static double within(const Groups& groups);
  LogMean everybody(Phase p) const;
  LogMean from_runs(Phase p, std::int64_t group) const;
  LogMean from_own(Phase p, double speedup, const LogMean& prior, const TaskSums& own,
                   const RunningTasks& running) const;
  Group& group(Phase p, std::int64_t group);
  TaskSums open_runs(Phase p, std::int64_t group) const;
  ChangePoint group_change(Phase p, std::int64_t group) const;
  RunningTasks begun(Phase p, std::int64_t group) const;
  void put_run(Phase p, std::int64_t group, Run& shown, const Run& now);
  double near_group(Phase p, std::int64_t group, const Run& run) const;
  void add_run(Phase p, std::int64_t group, Run& run);
  Within around_levels(double of_group, const TaskSamples& seen, const ChangePoint& change) const;
  LogMean from_user(Phase p, double said, std::size_t user) const;

  double default_;    // logarithm
  double now_ = 0.0;  // as far as phases have told
  Plane plane_[2];
  Groups group_[2];
  Open open_[2];
  Errors errors_[2], open_errors_[2];
  Within within_[2];
  SpeedupPosterior belief_;
  // Of these sums.
  double speedup_ = 1.0;
  double alike_speedup_ = 1.0, alike_variance_ = 0.0;  // of p if all groups are alike
  double scatter_[2];                                  // of tasks and speedup_
  WorkCounts counts_[2] = {};
};

}  // namespace malleable
