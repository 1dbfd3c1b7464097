// The plan of a loop in which an epoch (policy/epoch.hpp: the object that decides the slots of
// present jobs) decides every P seconds, and jobs keep their slots in between: the schedule if no
// more jobs come and all sizes are right, its value, and a lower bound of every schedule. For sums
// of penalties it is the better of two epochs: one that expects jobs to come as before, and one
// that expects none.
//
// The epoch itself is asked at every multiple of the period (sim/periodic_loop). The bound holds
// for all schedules (kernel/lower_bound). The cost is that of the calls and the bound. A loop of
// very many calls makes fewer calls in the end (PeriodicLoopOptions::exact): after kExactPlan jobs,
// or after kExactValue if only value and bound are requested.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "malleable/model/jobs.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {

struct PeriodicPlanRequest {
  EpochOptions epoch;  // options, with the period
  std::int64_t slots = 1;
  double now = 0.0;
  std::span<const Kind> kinds;  // kinds of the jobs: one for all, or one each
  CustomPenalty custom = nullptr;
  std::function<void()> poll = nullptr;  // called every few thousand calls; may throw
};

// All jobs must have arrived. FieldError otherwise, and for invalid slots. `penalties` are those of
// `jobs`.
Plan plan_periodic(const JobsView& jobs, const Penalties& penalties,
                   const PeriodicPlanRequest& request);

// The plan of the jobs of an epoch from its last decision on: that of its loop, or the epoch's own
// if it does not depend on its loop. Rows are those of epoch.planned_jobs(). The epoch does not
// change.
Plan plan_decided(Epoch& epoch, const std::function<void()>& poll = nullptr);

// Value and bound of the same, with fewer calls and the quick bound: milliseconds for 10,000 jobs.
// Nothing for more jobs than kMostAssessed.
constexpr std::size_t kMostAssessed = 1'000'000;
std::optional<Epoch::Assessment> assess_decided(Epoch& epoch,
                                                const std::function<void()>& poll = nullptr);

}  // namespace malleable
