// The jobs of an Epoch as an instance (Problem) for plans and orders, and the slots that jobs
// without work keep. It is built for one decision and kept for questions about it. O(J) for J jobs.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class Instance {
 public:
  Problem problem;
  Penalties penalties;
  // The instance without jobs that have no work, if there are some; the slots that these keep are
  // set aside. With a period, no maximum is above the slots that the job can use fully.
  Problem with_work;
  bool built = false;               // problem and penalties belong to the last decision
  std::vector<double> share, kept;  // slots of jobs with work, and of the others

  void grow(std::size_t rows) { seen_.resize(rows); }
  void close(const RowsGone& gone) { gone(seen_); }

  // Builds the instance of jobs with work left `left`.
  void build(const Scene& at, std::span<const double> left) {
    const JobTable& jobs = at.jobs;
    const std::size_t n = jobs.rows();
    sla_.clear();
    for (std::size_t r = 0; r < jobs.sla.size(); ++r) sla_.add(jobs.steps_of(r));
    if (jobs.sla.empty()) sla_.offset.assign(n + 1, 0);
    speedup_.clear();
    for (std::size_t r = 0; r < jobs.exponent.size(); ++r) {
      speedup_.add(jobs.exponent[r], jobs.rates[r]);
    }
    restart_.clear();
    for (const Restart& own : jobs.restart) restart_.add(own);
    ended_.assign(n, at.now);  // jobs without work left
    const std::span<const std::int64_t> names = jobs.count(Kind::kCustom) > 0
                                                    ? std::span<const std::int64_t>(jobs.id)
                                                    : std::span<const std::int64_t>();
    penalties.build(this->jobs(at, left), kinds(at), at.custom, names);
    // Searches in a caller's function begin where those of earlier decisions ended.
    if (!names.empty()) penalties.remember(seen_);
    pose(at, left, jobs.max_slots, problem);
    built = true;
  }

  // The present jobs as a problem with penalties.
  JobsView jobs(const Scene& at, std::span<const double> left) const {
    const JobTable& jobs = at.jobs;
    return {{jobs.arrival, jobs.weight, jobs.deadline, jobs.size, sla_.view()},
            left,
            jobs.min_slots,
            jobs.max_slots,
            speedup_.view(),
            jobs.min_mode,
            jobs.preferred,
            restart_.view()};
  }

  SpeedupView speedup() const { return speedup_.view(); }
  // Kinds of the penalties of jobs; one entry if all are equal.
  std::span<const Kind> kinds(const Scene& at) const {
    return at.jobs.all(at.options.kind) ? std::span<const Kind>(&at.options.kind, 1)
                                        : std::span<const Kind>(at.jobs.kind);
  }

  // Whether some penalty is infinite from some time on.
  bool has_strict(const Scene& at) const {
    if (at.jobs.count(Kind::kStrict) > 0) return true;
    if (at.jobs.count(Kind::kCustom) == 0) return false;
    for (std::size_t r = 0; r < at.jobs.rows(); ++r) {
      if (info(at.jobs.kind[r]).custom && penalties.last_finite(r) < kInfinity) return true;
    }
    return false;
  }

  // Sets the slots of jobs without work aside in `kept`, and returns the instance of all others.
  // Plans ignore jobs without work, because these count as ending now.
  const Problem& set_kept_aside(const Scene& at) {
    const JobTable& jobs = at.jobs;
    const std::size_t n = jobs.rows();
    kept.assign(n, 0.0);
    if (std::find(jobs.work.begin(), jobs.work.end(), 0.0) == jobs.work.end()) return problem;
    rest_.resize(n);
    most_.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
      // 1.0 stands for no work, so that build() gives the job limits
      rest_[r] = jobs.work[r] > 0.0 ? jobs.work[r] : 1.0;
      most_[r] = jobs.work[r] > 0.0 ? jobs.max_slots[r] : jobs.kept_by(r);
    }
    pose(at, rest_, most_, with_work);
    double free = with_work.slots;
    if (!with_work.gang) {
      for (const double low : with_work.low) free -= low;
    }
    for (std::size_t r = 0; r < n; ++r) {
      if (jobs.work[r] > 0.0) continue;
      const double least = with_work.gang ? std::max(1.0, with_work.low[r]) : 0.0;
      const double base = with_work.gang ? 0.0 : with_work.low[r];
      const double more = least > free ? 0.0 : std::min(with_work.high[r] - base, free);
      kept[r] = base + more;
      free -= more;
      with_work.slots -= kept[r];
      with_work.work[r] = with_work.low[r] = 0.0;
    }
    for (double& high : with_work.high) high = std::min(high, with_work.slots);
    return with_work;
  }

 private:
  // The problem of these works and maxima. A job that waits to start gets no slots; a started one
  // keeps its minimum under any policy.
  void pose(const Scene& at, std::span<const double> work, std::span<const std::int64_t> most,
            Problem& of) const {
    of.build(work, ended_, at.jobs.min_slots, most, at.slots, at.now,
             at.starts ? MinMode::kGuarantee : at.options.min_mode);
    if (at.ignores_minima) of.drop_minima();
    for (std::size_t r = 0; at.starts && r < at.jobs.rows(); ++r) {
      if (at.waits(r)) of.work[r] = of.high[r] = 0.0;
      of.low[r] = of.work[r] > 0.0 ? at.jobs.low[r] : 0.0;
    }
  }

  std::vector<Penalties::Seen> seen_;  // by row: memory of the penalties
  SlaColumns sla_;
  SpeedupColumns speedup_;
  RestartColumns restart_;  // what a change of slots costs
  // By row: completion if no work is left; work, with 1 in place of none.
  std::vector<double> ended_, rest_;
  std::vector<std::int64_t> most_;  // by row: the maximum; without work left, the slots kept
};

}  // namespace malleable
