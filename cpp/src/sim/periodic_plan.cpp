// Plans that periodic decisions lead to if nothing else happens, and their values.
#include "malleable/sim/periodic_plan.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/policy/finish_plan.hpp"
#include "malleable/policy/planner.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/sim/periodic_loop.hpp"

namespace malleable {
namespace {

// Jobs looked at, over all calls, before calls become rarer: some seconds, some milliseconds.
constexpr double kExactPlan = 3e7, kExactValue = 2e5;
// With fewer jobs the better bound is as quick.
constexpr std::size_t kFewJobs = 1000;

Epoch copied(Epoch& epoch) {
  Epoch copy = Epoch::blank();
  load_state(Epoch::kName, save_state(Epoch::kName, epoch), copy);
  copy.set_penalty(epoch.penalty());
  return copy;
}

// The schedule of a loop as a plan. `ended`: ends of jobs without work.
Plan plan_of(const PeriodicLoop& loop, const JobsView& jobs, std::span<const double> ended,
             const Penalties& penalties, double now, bool quick) {
  const std::size_t n = jobs.size();
  const EpochOptions& epoch = loop.epoch().options();
  Problem problem;
  const MinMode mode = jobs.min_mode.empty() ? epoch.min_mode : MinMode::kStart;
  problem.build(jobs.work, ended, jobs.min_slots, jobs.max_slots, loop.epoch().slots(), now, mode);
  for (std::size_t j = 0; j < jobs.min_mode.size(); ++j) {  // a guarantee may be scaled
    if (jobs.min_mode[j] == std::int64_t{0}) problem.low[j] = 0.0;
  }
  if (find_policy(epoch.policy).promises.ignores_minima) problem.drop_minima();
  // The bounds count every job as linear, with each slot at the job's largest rate per slot. The
  // job, and its minimum, would then end earlier, so minima are dropped.
  if (jobs.speedup.curved()) {
    std::fill(problem.low.begin(), problem.low.end(), 0.0);
    for (std::size_t j = 0; j < n; ++j) problem.work[j] /= jobs.speedup.most_per_slot(j);
  }
  Plan plan = loop.plan();
  std::vector<std::uint8_t> listed(n, 0);
  for (const Index j : plan.order) listed[j] = 1;
  std::vector<double> completion(n);
  for (std::size_t j = 0; j < n; ++j) {
    if (!listed[j]) plan.order.push_back(static_cast<Index>(j));
    completion[j] = plan.completion[j] - now;
  }
  LowerBound lower_bound;
  finish_plan(problem, penalties, epoch.aggregate, completion, lower_bound, plan,
              quick && n > kFewJobs);
  return plan;
}

}  // namespace

Plan plan_periodic(Epoch epoch, const JobsView& jobs, const Penalties& penalties,
                   std::span<const Kind> kinds, double now, const std::function<void()>& poll) {
  const EpochOptions options = epoch.options();
  const double period = options.period;
  Planner::check(jobs, penalties, epoch.slots(), now);
  Epoch::check_clock(now, period);
  const auto looped = [&](Epoch asked) {
    PeriodicLoop loop(std::move(asked),
                      {.period = period, .start = now, .pieces = true, .exact = kExactPlan});
    loop.set_poll(poll);
    loop.feed(jobs, {}, {kinds.begin(), kinds.end()});
    loop.advance(kInfinity);
    return loop;
  };
  const auto value = [&](const PeriodicLoop& loop) {
    return evaluate(penalties, options.aggregate, loop.plan().completion);
  };
  PeriodicLoop best = looped(copied(epoch));
  // Only prices of slot-periods depend on jobs to come.
  if (period > 0.0 && options.policy == EpochPolicy::kFlex &&
      options.aggregate == Aggregate::kSum) {
    epoch.expect_none();
    PeriodicLoop alone = looped(std::move(epoch));
    if (value(alone) < value(best)) best = std::move(alone);
  }
  return plan_of(best, jobs, jobs.arrival, penalties, now, /*quick=*/false);
}

std::optional<Plan> plan_decided(Epoch& epoch, bool detail, const std::function<void()>& poll) {
  if (!epoch.looped()) return epoch.plan(detail);
  if (!detail && epoch.size() > kMostAssessed) return std::nullopt;
  Epoch copy = copied(epoch);
  copy.know_sizes();
  const double now = epoch.now();
  PeriodicLoop loop(std::move(copy), {.period = epoch.period(),
                                      .start = now,
                                      .pieces = detail,
                                      .exact = detail ? kExactPlan : kExactValue,
                                      .ahead = !detail && !epoch.starts()});
  loop.set_poll(poll);
  epoch.recall();
  const JobsView jobs = epoch.planned_jobs();
  loop.adopt(jobs);
  loop.advance(kInfinity);
  const std::vector<double> ended(jobs.size(), now);
  return plan_of(loop, jobs, ended, epoch.planned_penalties(), now, !detail);
}

}  // namespace malleable
