// The plan of a loop in which an epoch (policy/epoch.hpp: the object that decides the slots of
// present jobs) decides every P seconds, and jobs keep their slots in between: the schedule if no
// more jobs come and all sizes are right, its value, and a lower bound of every schedule.
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

// The plan of these jobs by an epoch without jobs; for sums of penalties the better one of two,
// that of an epoch that expects jobs to come and that of one that expects none. All must have
// arrived; FieldError otherwise. `penalties` and `kinds` (one for all, or one each) are those of
// `jobs`. `poll` is called every few thousand calls, and may throw.
Plan plan_periodic(Epoch epoch, const JobsView& jobs, const Penalties& penalties,
                   std::span<const Kind> kinds, double now,
                   const std::function<void()>& poll = nullptr);

// The plan of the jobs of an epoch from its last decision on: that of its loop, or the epoch's own
// if it does not depend on its loop. Rows are those of epoch.planned_jobs(). The epoch does not
// change. Without `detail`: its value and the quick bound, with fewer calls (milliseconds for
// 10,000 jobs); of a loop of more jobs than kMostAssessed nothing.
constexpr std::size_t kMostAssessed = 1'000'000;
std::optional<Plan> plan_decided(Epoch& epoch, bool detail,
                                 const std::function<void()>& poll = nullptr);

}  // namespace malleable
