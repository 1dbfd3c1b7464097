// What the tasks of every phase take, kept by events: kernel/task_estimates asked for what is
// believed when a job comes, told what its tasks show, and taught by phases that are done.
//
// Rows are 2 * job + phase. Where nothing is learnt the object is empty and is not to be asked.
// An event costs O(log knots) of a phase, an estimate what kernel/task_estimates takes. Memory:
// O(jobs + groups), and at most 3 KB more for each phase whose tasks run.
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
  // `seconds`: of a task before anything is known.
  JobEstimates(bool used, double seconds, SpeedupPrior prior)
      : used_(used), tasks_(seconds, prior) {}

  bool used() const { return used_; }
  void resize(std::size_t jobs) {
    if (used_) phases_.resize(2 * jobs);
  }
  // The rows are another job's from now on, or nobody's.
  void forget(Index job) {
    for (const Index row : {2 * job, 2 * job + 1}) {
      clear(row);
    }
  }

  // The estimate of tasks of which none has run.
  LogMean expect(Index row, const TaskEstimates::Stated& told);
  bool expects(Index row) const { return phases_[row].prior.variance > 0.0; }
  // Whether enough phases have shown something since the last time for estimates of the others to
  // be made again: each of the first ten, then a tenth more. So a row is made again O(log phases)
  // times.
  bool news() {
    if (showed_ == looked_ || showed_ < 1.1 * looked_) return false;
    looked_ = showed_;
    return true;
  }
  // No task of the phase has ended yet.
  bool silent(Index row) const { return phases_[row].seen.count == 0.0; }
  // Events of a phase come soon: what they look at is fetched meanwhile, first the row and then,
  // once that is here, what it points to.
  MALLEABLE_INLINE void fetch(Index row) const {
    malleable::fetch(&phases_[row]);
    malleable::fetch(&phases_[row].began);
  }
  MALLEABLE_INLINE void fetch_rest(Index row) const { phases_[row].seen.fetch(); }
  // `more` than the `running` ones run from now on, or fewer.
  void moved(Index row, std::int64_t running, std::int64_t more, double now);
  // Those that run held their slots without working until now; once a phase.
  void unblocked(Index row, std::int64_t running, double now) {
    Known& own = phases_[row];
    if (std::exchange(own.unblocked, true)) return;
    own.began = static_cast<double>(running) * now;
    own.apart = 0.0;
  }
  // So many tasks ended, each after so many seconds, and `running` go on. Whether more is learnt
  // of p now.
  bool ended(Index row, const TaskEstimates::Stated& told, std::int64_t tasks, double seconds,
             std::int64_t running, double now);
  // In place of all that was told: so many have ended, after so many seconds on average.
  void saw(Index row, const TaskEstimates::Stated& told, std::int64_t tasks, double seconds,
           std::int64_t running, double now) {
    if (silent(row) && tasks > 0) showed_ += 1.0;
    phases_[row].seen.replace(static_cast<double>(tasks), seconds, now);
    show(row, told, running, now);
  }
  // A phase that was done has more tasks after all, of which nothing is known but what it taught
  // itself; false: it was not done.
  bool begin_again(Index row) {
    if (!phases_[row].done) return false;
    clear(row);
    return true;
  }
  // What is believed of tasks now, of which so many work.
  LogMean now(Index row, std::int64_t running, double now) const {
    return believed(row, phases_[row].prior, tasks_.scatter(phase_of(row)), running, now).mean;
  }
  // What is left of a phase, of which so many tasks work; what was believed before any ran.
  LeftPhase left(Index row, const TaskEstimates::Stated& told, const PhaseState& phase, double now,
                 std::int64_t working) const;
  LogMean before(Index row, const TaskEstimates::Stated& told) const {
    return expects(row) ? phases_[row].prior : tasks_.prior(phase_of(row), told);
  }
  double seconds(Index row, const LogMean& of) const { return tasks_.seconds(phase_of(row), of); }
  // The sum of the times at which those that run began; nothing is known of each.
  void aged(Index row, double began) {
    phases_[row].began = began;
    phases_[row].apart = 0.0;
  }
  // By how much the tasks that ended were slower than one that runs alone.
  double slowed(Index row) const {
    const TaskSamples& seen = phases_[row].seen;
    return seen.count > 0.0 ? std::exp(seen.mean_alone(1.0) - seen.mean_alone(speedup(row))) : 1.0;
  }
  // What is believed of p of a program's tasks.
  double speedup_of(std::int64_t group) const { return tasks_.speedup(group); }
  const SpeedupCurve& speedups_of(std::int64_t group) const { return tasks_.speedups(group); }
  // All tasks have ended: the estimates learn from the phase, once; false: there is nothing new.
  bool done(Index row, const TaskEstimates::Stated& told, std::int64_t tasks);
  Learned learned() const {
    const auto unsaid = [&](Phase p) { return tasks_.seconds(p, tasks_.prior(p, {})); };
    return {tasks_.speedup(),
            tasks_.speedup() - tasks_.speedup_deviation(),
            tasks_.speedups(),
            {tasks_.scatter(kMap), tasks_.scatter(kReduce)},
            {unsaid(kMap), unsaid(kReduce)},
            {tasks_.work(kMap), tasks_.work(kReduce)}};
  }

  void begin_with(SpeedupPrior prior) { tasks_.begin_with(prior); }
  TaskEstimates::History history() const { return tasks_.history(); }
  void recall(const TaskEstimates::History& history) { tasks_.recall(history); }

  void state(State& s) { s(tasks_, phases_, showed_, looked_); }

 private:
  struct alignas(kLine) Known {
    LogMean prior;
    TaskSamples seen;
    double began = 0.0;  // the sum of the times at which those that run began,
    double apart = 0.0;  // and of their squared distances from the mean
    std::int64_t group = TaskEstimates::kNoGroup;
    TaskEstimates::Shown shown;
    double showed = 0.0;  // by so many tasks
    bool done = false, unblocked = false;

    void state(State& s) { s(prior, seen, began, apart, group, shown, showed, done, unblocked); }
  };
  TaskEstimates::Posterior believed(Index row, const LogMean& prior, double scatter,
                                    std::int64_t count, double now) const {
    return tasks_.posterior(scatter, speedup(row), prior, phases_[row].seen,
                            running(row, count, now));
  }
  // Those that run now.
  RunningTasks running(Index row, std::int64_t count, double now) const;
  double speedup(Index row) const { return tasks_.speedup(phases_[row].group); }
  // It speaks for others, if it has shown enough since the last time.
  void show(Index row, const TaskEstimates::Stated& told, std::int64_t running, double now);
  // Nothing is known of the phase any more but what it taught.
  void clear(Index row);
  static Phase phase_of(Index row) { return static_cast<Phase>(row % 2); }

  bool used_;
  TaskEstimates tasks_;
  std::vector<Known> phases_;
  // Phases of which a task has ended, and once more when all have; at the last look.
  double showed_ = 0.0, looked_ = 0.0;
};

}  // namespace malleable
