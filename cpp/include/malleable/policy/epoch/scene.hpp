// The input of an Epoch's rules: options, jobs, the slots that they hold, and the time. An epoch is
// the object that decides, again and again, which slots the present jobs have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "malleable/model/penalties.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/coming_jobs.hpp"
#include "malleable/policy/epoch/grants.hpp"
#include "malleable/policy/epoch/job_table.hpp"

namespace malleable {

struct EpochOptions {
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;  // kind of jobs that are added without one
  EpochPolicy policy = EpochPolicy::kFlex;
  MinMode min_mode = MinMode::kGuarantee;
  // A job that holds more than its minimum counts as (1 + hysteresis) times as urgent.
  double hysteresis = 0.0;
  // FLEX: candidates after all fixed orders; nothing: the objective's own order alone.
  std::optional<std::uint64_t> effort;
  // [s] How long a decision is held unless it has its own period; 0: until something ends.
  double period = 0.0;
  // FLEX, sums of steady kinds: ends are promised at arrival. The number is the accepted mean
  // error, over the promised time (epoch/promised). Nothing: no end is promised.
  std::optional<double> predictable = std::nullopt;
  // Work is unknown, and is guessed from the work done (epoch/unknown_sizes).
  bool unknown = false;
  // Rows stay in the order in which jobs were added, so that ties go to the oldest; a removal then
  // costs O(jobs).
  bool stable = false;
  // FLEX, sums: with at most this many jobs several orders are tried, which takes a millisecond.
  std::size_t few = 256;

  void state(State& s) {
    s(aggregate, kind, policy, min_mode, hysteresis, effort, period, predictable, unknown, stable,
      few);
  }
};

struct Scene {
  EpochOptions options;
  std::int64_t slots = 0;
  double now = -kInfinity;  // of the last decision
  double period = 0.0;      // of the last decision
  CustomPenalty custom = nullptr;
  JobTable jobs;
  Grants grants;
  ComingJobs coming;    // how many jobs come later
  double doubt = 0.0;   // the spread of log(work / estimate) that ended jobs show
  bool starts = false;  // some jobs have a start condition
  bool alone = false;   // no jobs come later
  // Properties of the policy.
  bool ignores_minima = false;
  Shares shares = Shares::kByOrder;

  double capacity() const { return static_cast<double>(slots); }
  bool flex() const { return options.policy == EpochPolicy::kFlex; }
  bool sums() const { return options.aggregate == Aggregate::kSum; }
  // A job runs on at least its minimum, or not at all.
  bool gang() const { return options.min_mode == MinMode::kGang; }
  // Whether the job waits to start (policy/epoch/start), and so may have no slots.
  bool waits(std::size_t row) const { return starts && jobs.low[row] + jobs.room[row] == 0.0; }
  // Whether hysteresis favours the job: it holds more than its minimum.
  bool favoured(std::size_t row) const {
    return options.hysteresis > 0.0 && grants[row] > static_cast<std::int64_t>(jobs.low[row]);
  }
  // Whether several orders are tried (policy/order_choice). Not on a cluster (stable rows) if
  // Smith's ratio is the order, because it fills targets by that order.
  bool tries_orders() const {
    if (!flex() || !sums() || options.effort || options.predictable) return false;
    if (options.hysteresis > 0.0 || jobs.concave() || jobs.rows() > few()) return false;
    return jobs.endless() == 0 && !(options.stable && jobs.all_steady());
  }
  bool jobs_come() const { return coming.expected() > 0.0; }
  // Whether there is time to search for a plan of the present jobs, which are few. Not where jobs
  // that wait to start would never end.
  bool searches() const {
    if (!flex() || options.effort || options.predictable || options.hysteresis > 0.0) return false;
    if (starts && (jobs.concave() || jobs.endless() > 0)) return false;
    return !options.stable && jobs.rows() <= options.few;
  }
  // Counts the work that a job did until now.
  void serve(std::size_t row) { jobs.serve(row, now, grants[row]); }
  double done(std::size_t row) const { return jobs.done_by(row, now, grants[row]); }
  // If delays cost more and more, orders are tried only for fewer jobs while others come: with many
  // waiting jobs, the jobs to come decide which jobs are late (tests/jobs/test_epoch_deadlines).
  std::size_t few() const {
    constexpr std::size_t kFewLate = 32;  // jobs
    const bool late = jobs.count(Kind::kTardiness) > 0 && jobs_come();
    return late ? std::min(options.few, kFewLate) : options.few;
  }
  // The weights of water-filling; empty: equal ones.
  std::span<const double> weights() const {
    return shares == Shares::kWeighted ? std::span<const double>(jobs.weight)
                                       : std::span<const double>();
  }

  void state(State& s) { s(options, slots, now, period, jobs, grants, coming, doubt); }
};

}  // namespace malleable
