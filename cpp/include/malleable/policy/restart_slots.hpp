// How many slots a job should have on a cluster where slots need a restart before they work for
// another job.
//
// On k slots that all restart for R seconds first, a job with W slot-seconds left ends after
// R + W / k^p seconds, if k slots do k^p. At a price of l for a slot-second it costs
// (1 + l k) (R + W / k^p), which is about least for k = (p W / (l R))^(1 / (1 + p)). The price is
// what other jobs pay that wait: three times their number over that of the slots.
//
// Slots that the job holds need no restart, so it keeps up to three times k of them, and two in any
// case: a job that took the second one would gain no more time than this one loses. A slot that
// changes hands costs two restarts: its new job's, and another one when the job that gives it takes
// a slot again. So the work of a job counts with its restart and the mean restart of all jobs, for
// each slot that it does not hold yet. O(present jobs) a decision, nothing without restarts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class RestartSlots {
 public:
  // Notes whether a slot that changes hands costs some job time; true if that is new.
  bool note(const ClusterState& state, std::span<const Index> jobs) {
    const auto costs = [&](Index job) { return state.jobs.restart_of(job) > 0.0; };
    return !any_ && (any_ = std::ranges::any_of(jobs, costs));
  }
  bool any() const { return any_; }
  // Before a decision.
  void begin(const ClusterState& state, int pool) {
    double jobs = 0.0, restarts = 0.0;
    for (const Index job : state.present) {
      if (state.demand(job, pool).most == 0) continue;
      jobs += 1.0;
      restarts += state.jobs.restart_of(job);
    }
    slots_ = std::max(1.0, static_cast<double>(state.slots[pool]));
    price_ = kSteep * jobs / slots_;
    other_ = restarts / std::max(1.0, jobs);
  }

  struct Worth {
    std::int64_t most = 0;  // slots that are worth a restart, or held
    double restarts = 0.0;  // slot-seconds of restarts, also of jobs that give them
    std::int64_t held = 0;

    void state(State& s) { s(most, restarts, held); }
  };
  // What a job should have of what it could use. `p`: k slots do k^p; `target`: its slots at the
  // last decision.
  Worth of(const ClusterState& state, Index job, int pool, double p, double target) const {
    const ClusterState::Demand demand = state.demand(job, pool);
    const double restart = state.jobs.restart_of(job);
    const auto most = static_cast<double>(demand.most),
               running = static_cast<double>(demand.running);
    // Slots of tasks that end now are free, and still the job's.
    const double held = std::min(
        most, std::clamp(target, running, running + static_cast<double>(state.free[pool])));
    double slots = most;
    if (restart > 0.0 && price_ > 0.0) {
      const double best = best_slots(demand.work, restart, p);
      const double kept = std::min(held, std::max(kFewest, kKept * best));
      slots = std::clamp(std::round(std::max(best, kept)), std::min(1.0, most), most);
    }
    const double taken = std::max(0.0, std::min(slots, slots_) - held);
    return {whole(slots), (restart + other_) * taken, whole(held)};
  }

 private:
  // From 2 to 4, and from 2 to 6, responses differ by 3 %.
  static constexpr double kSteep = 3.0, kKept = 3.0, kFewest = 2.0;
  // The root of l R k^(1 + p) + l (1 - p) W k = p W. It is convex in k, and each term alone gives a
  // root that is not below, so that Newton's steps fall to it.
  double best_slots(double work, double restart, double p) const {
    double k = std::pow(p * work / (price_ * restart), 1.0 / (1.0 + p));
    if (p == 1.0 || !(work > 0.0)) return k;
    const double slope = price_ * (1.0 - p) * work;
    k = std::min(k, p * work / slope);
    for (int step = 0; step < 4; ++step) {
      const double steep = price_ * restart * std::pow(k, p);
      k -= (steep * k + slope * k - p * work) / (steep * (1.0 + p) + slope);
    }
    return k;
  }
  static std::int64_t whole(double slots) { return static_cast<std::int64_t>(slots); }

  bool any_ = false;
  double slots_ = 0.0;  // of the pool
  double price_ = 0.0;  // of a slot-second
  double other_ = 0.0;  // the mean restart
};

}  // namespace malleable
