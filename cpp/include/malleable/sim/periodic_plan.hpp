// The plan of a loop that decides every P seconds and holds its slots: what an epoch does if nobody
// else comes and all sizes are right, its value, and a floor under every schedule. For sums it is
// the better one of two epochs: one that expects jobs to come as always, and one that knows that
// nobody will.
//
// The epoch itself is asked at every multiple of the period (sim/periodic_loop). The bound is that
// of all schedules (kernel/lower_bound). Calls, and what the bound costs. A loop of very many calls
// is looked at less closely in the end (PeriodicLoopOptions::exact): kExactPlan jobs at every call,
// kExactValue where only value and bound are asked for.
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
  EpochOptions epoch;  // with the period
  std::int64_t slots = 1;
  double now = 0.0;
  std::span<const Kind> kinds;  // of the jobs: one for all, or each its own
  CustomPenalty custom = nullptr;
  std::function<void()> poll = nullptr;  // called every few thousand calls; may throw
};

// All jobs have arrived: FieldError otherwise, and for slots that cannot be. `penalties` are
// theirs.
Plan plan_periodic(const JobsView& jobs, const Penalties& penalties,
                   const PeriodicPlanRequest& request);

// The same for the jobs of an epoch from its last decision on, which is held for epoch.period().
// Rows are those of epoch.planned_jobs(). The epoch itself stays as it is.
Plan plan_decided(Epoch& epoch, const std::function<void()>& poll = nullptr);

// Value and bound of the same, in milliseconds for 10,000 jobs: of fewer calls, and by the quick
// bound. Nothing for more jobs than kMostAssessed.
constexpr std::size_t kMostAssessed = 1'000'000;
std::optional<Epoch::Assessment> assess_decided(Epoch& epoch,
                                                const std::function<void()>& poll = nullptr);

}  // namespace malleable
