// Estimates of the seconds of every phase's tasks, updated by events. When a job comes, they start
// from kernel/task_estimates (what earlier jobs of the same program and user took, and the stated
// time); then the job's tasks correct them; phases that are done teach kernel/task_estimates. A
// *group* is the runs of one program; p: s running tasks of a phase together do s^p.
//
// Rows are 2 * job + phase. Without learning the object is empty and must not be called. An event
// costs O(log knots), knots being the points at which a phase's curves are kept; an estimate costs
// O(1), with at most 30 Newton steps. Memory: O(jobs + groups), and at most 3 KB more for each
// phase whose tasks run.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "malleable/kernel/expected_ends.hpp"
#include "malleable/kernel/task_estimates.hpp"
#include "malleable/model/own_lines.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class JobEstimates {
 public:
  // `seconds`: the default of a task before anything is known.
  JobEstimates(bool used, double seconds, SpeedupPrior prior)
      : used_(used), tasks_(seconds, prior) {}

  bool used() const { return used_; }
  void resize(std::size_t jobs) {
    if (used_) phases_.resize(2 * jobs);
  }
  // The job has left; another job may get its rows.
  void forget(Index job) {
    for (const Index row : {2 * job, 2 * job + 1}) {
      clear(row);
    }
  }

  // The estimate of tasks of which none has run: mean and variance of the logarithm of seconds.
  LogMean expect(Index row, const TaskEstimates::Stated& stated);
  bool expects(Index row) const { return phases_[row].prior.variance > 0.0; }
  // Whether estimates of other phases must be computed again: after each of the first ten phases
  // that show something, then after a tenth more. So a row is computed again O(log phases) times.
  bool news() {
    if (showed_ == looked_ || showed_ < 1.1 * looked_) return false;
    looked_ = showed_;
    return true;
  }
  // Whether no task of the phase has ended yet.
  bool silent(Index row) const { return phases_[row].seen.count == 0.0; }
  // Prefetches the data that coming events of a phase will read: first the row, then the memory
  // that it points to.
  MALLEABLE_INLINE void fetch(Index row) const {
    malleable::fetch(&phases_[row]);
    malleable::fetch(&phases_[row].began);
  }
  MALLEABLE_INLINE void fetch_rest(Index row) const { phases_[row].seen.fetch(); }
  // `more` tasks run from now on in addition to `running`, and work after `restart` seconds; `more`
  // may be below 0.
  void moved(Index row, std::int64_t running, std::int64_t more, double now, double restart);
  // The running tasks held their slots without working until now; called once a phase.
  void unblocked(Index row, std::int64_t running, double now) {
    Known& own = phases_[row];
    if (std::exchange(own.unblocked, true)) return;
    own.began = static_cast<double>(running) * now;
    own.apart = 0.0;
  }
  // `tasks` ended, each after `seconds`, and `running` go on. Returns whether more is now known of
  // p.
  bool ended(Index row, const TaskEstimates::Stated& stated, std::int64_t tasks, double seconds,
             std::int64_t running, double now);
  // Replaces all reports: `tasks` have ended, after `seconds` on average.
  void set_ended(Index row, const TaskEstimates::Stated& stated, std::int64_t tasks, double seconds,
                 std::int64_t running, double now) {
    if (silent(row) && tasks > 0) showed_ += 1.0;
    phases_[row].seen.replace(static_cast<double>(tasks), seconds, now);
    show(row, stated, running, now);
  }
  // A phase that was done has more tasks after all; of these only what the phase taught is known.
  // False: it was not done.
  bool begin_again(Index row) {
    if (!phases_[row].done) return false;
    clear(row);
    return true;
  }
  // The posterior of the phase's tasks now, of which `running` work.
  LogMean now(Index row, std::int64_t running, double now) const {
    return believed(row, phases_[row].prior, tasks_.scatter(phase_of(row)), running, now).mean;
  }
  // What is left of a phase, of which `running` tasks work; the prior before any ran.
  LeftPhase left(Index row, const TaskEstimates::Stated& stated, const PhaseState& phase,
                 double now, std::int64_t working) const;
  LogMean before(Index row, const TaskEstimates::Stated& stated) const {
    return expects(row) ? phases_[row].prior : tasks_.prior(phase_of(row), stated);
  }
  double seconds(Index row, const LogMean& of) const { return tasks_.seconds(phase_of(row), of); }
  // Sets the sum of the start times of running tasks.
  void set_began(Index row, double began) { phases_[row].began = began; }
  // How much slower the ended tasks were than a task that runs alone.
  double slowed(Index row) const {
    const TaskSamples& seen = phases_[row].seen;
    return seen.count > 0.0 ? std::exp(seen.mean_alone(1.0) - seen.mean_alone(speedup(row))) : 1.0;
  }
  // The mean of p for a program's tasks.
  double speedup_of(std::int64_t group) const { return tasks_.speedup(group); }
  const SpeedupCurve& speedups_of(std::int64_t group) const { return tasks_.speedups(group); }
  // All tasks have ended: the estimates learn from the phase, once; false: there is nothing new.
  bool done(Index row, const TaskEstimates::Stated& stated, std::int64_t tasks);
  // What policies read: mean and cautious value of p, chances of p, and by phase the scatter of
  // tasks, that between runs, seconds of a task of which nothing is stated, and work.
  Learned learned() const {
    const auto unstated = [&](Phase p) { return tasks_.seconds(p, tasks_.prior(p, {})); };
    return {tasks_.speedup(),
            tasks_.speedup() - tasks_.speedup_deviation(),
            tasks_.speedups(),
            {tasks_.scatter(kMap), tasks_.scatter(kReduce)},
            {tasks_.between_runs(kMap), tasks_.between_runs(kReduce)},
            {unstated(kMap), unstated(kReduce)},
            {tasks_.work(kMap), tasks_.work(kReduce)}};
  }

  void begin_with(SpeedupPrior prior) { tasks_.begin_with(prior); }
  TaskEstimates::History history() const { return tasks_.history(); }
  void recall(const TaskEstimates::History& history) { tasks_.recall(history); }

  void state(State& s) { s(tasks_, phases_, showed_, looked_); }

 private:
  struct alignas(kLine) Known {  // a phase
    LogMean prior;
    TaskSamples seen;
    double began = 0.0;  // sum of the start times of running tasks,
    double apart = 0.0;  // and of their squared distances from the mean start time
    std::int64_t group = TaskEstimates::kNoGroup;
    TaskEstimates::Shown shown;  // what other runs of the program know from it
    double showed = 0.0;         // ended tasks when `shown` was last updated
    bool done = false, unblocked = false;

    void state(State& s) { s(prior, seen, began, apart, group, shown, showed, done, unblocked); }
  };
  TaskEstimates::Posterior believed(Index row, const LogMean& prior, double scatter,
                                    std::int64_t count, double now) const {
    return tasks_.posterior(scatter, speedup(row), prior, phases_[row].seen,
                            running(row, count, now));
  }
  // The running tasks of a row.
  RunningTasks running(Index row, std::int64_t count, double now) const;
  double speedup(Index row) const { return tasks_.speedup(phases_[row].group); }
  // Passes its samples on to kernel/task_estimates, if they are enough since the last time.
  void show(Index row, const TaskEstimates::Stated& stated, std::int64_t running, double now);
  // Forgets the phase; only what it taught stays.
  void clear(Index row);
  static Phase phase_of(Index row) { return static_cast<Phase>(row % 2); }

  bool used_;
  TaskEstimates tasks_;
  std::vector<Known> phases_;
  // Count of news, one when the first task of a phase ends and one when all have ended; and that
  // count when news() was last true.
  double showed_ = 0.0, looked_ = 0.0;
};

}  // namespace malleable
