// The scheduler's estimates of the seconds of tasks: stated, or learnt (scheduler/job_estimates).
// Phase p of a job is row 2 * job + p. LogMean: the mean of the logarithm of a task's seconds, and
// its variance (how uncertain it is). A phase's prior is what is believed before its tasks end; its
// posterior includes them. With p an exponent of speed-up, k running tasks work as k^p.
#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

// Sets the prior of a phase's tasks before any ran.
void ClusterScheduler::expect(Index job, Phase p) {
  const Index row = 2 * job + p;
  if (!estimates_.used()) {
    state_.phases[row].estimate = state_.believed[row];
    return;
  }
  believe(row, estimates_.expect(row, stated(job, p)));
}

// Takes over an estimate, with its variance as doubt.
void ClusterScheduler::believe(Index row, const LogMean& mean) {
  state_.phases[row].estimate = estimates_.seconds(row, mean);
  state_.doubt[row] = mean.variance;
}

// The number of tasks that work: reduce tasks that wait for maps hold slots, and do no work.
std::int64_t ClusterScheduler::working(Index job, Phase p) const {
  const bool waits = p == kReduce && state_.phases[2 * job].unfinished() > 0;
  return waits ? 0 : state_.phases[2 * job + p].running;
}

// The posterior of a phase's tasks now.
LogMean ClusterScheduler::mean_now(Index job, Phase p) const {
  return estimates_.now(2 * job + p, working(job, p), state_.now);
}

// The time of one task while as many run as now, because running tasks slow each other down.
LogTimes ClusterScheduler::times_now(Index job, Phase p) const {
  const LogMean known = mean_now(job, p);
  const auto running = static_cast<double>(std::max<std::int64_t>(state_.phase(job, p).running, 1));
  return {known.mean + (1.0 - speedup(job)) * std::log(running),
          std::hypot(state_.learned.scatter[p], std::sqrt(known.variance))};
}

// The times of a phase's tasks, if it may get backup tasks: all have started and one has ended.
std::optional<LogTimes> ClusterScheduler::times_for_backups(Index job, Phase p) const {
  const PhaseState& s = state_.phases[2 * job + p];
  const bool early = p == kReduce && state_.phases[2 * job].unfinished() > 0;
  if (!estimates_.used() || early || s.waiting > 0 || s.running == 0 || s.finished == 0) {
    return std::nullopt;
  }
  return times_now(job, p);
}

// Updates the estimate of a phase's tasks.
void ClusterScheduler::estimate(Index job, Phase p) {
  const Index row = 2 * job + p;
  // Jobs that have left may still be among the changed ones; they have no estimate.
  if (state_.phases[row].total > 0 && estimates_.expects(row)) believe(row, mean_now(job, p));
}

ClusterScheduler::Estimate ClusterScheduler::estimate_of(Index job, Phase p) const {
  const PhaseState& s = state_.phases[2 * job + p];
  if (!estimates_.used() || s.total == 0) {
    return {s.estimate, std::sqrt(state_.variance(job, p).mean)};
  }
  return estimate_of(2 * job + p, mean_now(job, p));
}

ClusterScheduler::Estimate ClusterScheduler::estimate_of(Index row, const LogMean& mean) const {
  const double seconds = estimates_.seconds(row, mean);
  return {seconds, seconds * std::sqrt(std::expm1(std::min(mean.variance, 100.0)))};
}

// The same for a job that has not come yet.
ClusterScheduler::Estimate ClusterScheduler::estimate_before(Index job, Phase p) const {
  if (state_.jobs.tasks[p][job] == 0) return {0.0, 0.0};
  return estimate_of(2 * job + p, estimates_.before(2 * job + p, stated(job, p)));
}

// Updates phases without an ended task by what the other phases have shown since.
void ClusterScheduler::expect_again() {
  for (const Phase p : {kMap, kReduce}) {
    for (const Index job : state_.present) {
      const Index row = 2 * job + p;
      if (state_.phases[row].total == 0 || !estimates_.expects(row) || !estimates_.silent(row)) {
        continue;
      }
      expect(job, p);
      if (state_.phases[row].ready) mark(job, p);
      if (in_order_) policy_->counts_changed(state_, job, pool_of(p));
    }
  }
}

// Updates the exponents of all present jobs, program by program.
void ClusterScheduler::update_exponents() {
  if (!estimates_.used() || state_.jobs.group.empty() || !policy_->reads_exponents()) return;
  state_.exponent.resize(state_.jobs.size(), 1.0);
  programs_here_.clear();
  for (const Index job : state_.present) {
    const std::int64_t program = group(job);
    const auto place = static_cast<std::size_t>(program + 1);
    if (programs_.size() <= place) programs_.resize(place + 1);
    Program& own = programs_[place];
    if (own.jobs++ == 0.0) {
      own.exponent = estimates_.speedup_of(program);
      programs_here_.push_back(program);
    }
    state_.exponent[job] = own.exponent;
  }
  SpeedupCurve& all = state_.exponents = {};
  for (const std::int64_t program : programs_here_) {
    const SpeedupCurve& own = estimates_.speedups_of(program);
    const double jobs = std::exchange(programs_[static_cast<std::size_t>(program + 1)].jobs, 0.0);
    const double part = jobs / static_cast<double>(state_.present.size());
    for (std::size_t g = 0; g < kSpeedups; ++g) all[g] += part * own[g];
  }
  if (state_.present.empty()) all = state_.learned.speedups;
}

// Updates the estimates of all jobs that the next decision looks at, and the places that depend on
// them.
void ClusterScheduler::estimate_changed() {
  if (estimates_.news()) expect_again();
  update_exponents();
  for (int pool = 0; pool < 2; ++pool) {
    for (const Index job : state_.changed[pool]) {
      for (const Phase p : {kMap, kReduce}) {
        if (pool_of(p) != pool || !policy_->reads_estimate(state_.phase(job, p))) continue;
        estimate(job, p);
      }
      if (in_order_) refresh(job, pool);
    }
  }
}

// The seconds of a task are stated again.
void ClusterScheduler::set_estimate(Index job, Phase p, double seconds) {
  const double before = state_.phase(job, p).estimate;
  state_.believed[2 * job + p] = seconds;
  expect(job, p);
  if (estimates_.used()) estimate(job, p);
  policy_->stated_time_changed(state_, job, p, before);
  mark(job, p);
}

// Learns from `count` tasks that ended with this mean time, as an engine reports them.
void ClusterScheduler::set_ended(Index job, Phase p, std::int64_t count, double seconds) {
  estimates_.set_ended(2 * job + p, stated(job, p), count, seconds, working(job, p), state_.now);
  learn(job, p);
  mark(job, p);
}

// Learns from a phase that is done.
void ClusterScheduler::learn(Index job, Phase p) {
  const PhaseState& s = state_.phases[2 * job + p];
  if (s.total == 0 || s.finished < s.total) return;
  close(job, p);
  const Index reduces = 2 * job + 1;
  if (p == kMap) estimates_.unblocked(reduces, state_.phases[reduces].running, state_.now);
}

// A phase has no more tasks: its estimates go into the history of its program.
void ClusterScheduler::close(Index job, Phase p) {
  const Index row = 2 * job + p;
  if (estimates_.done(row, stated(job, p), state_.phases[row].total)) {
    state_.learned = estimates_.learned();
  }
}

void ClusterScheduler::completed(Index job) {
  for (const Phase p : {kMap, kReduce}) {
    if (estimates_.used()) close(job, p);
  }
}

}  // namespace malleable
