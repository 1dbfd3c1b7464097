#include "malleable/policy/flow_plan.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/flow_bound.hpp"
#include "malleable/kernel/wrap_around.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

// How much faster the slots would have to be so that this schedule's value is at most the bound.
double speed_needed(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    std::span<const double> flow_completion, double bound) {
  std::vector<double> sooner(flow_completion.begin(), flow_completion.end());
  const double goal = bound + kDeadlineShare * std::fabs(bound);
  const auto meets = [&](double speed) {
    for (std::size_t j = 0; j < problem.flows(); ++j) {
      if (problem.volume[j] == 0.0) continue;
      sooner[j] = problem.now + (flow_completion[j] - problem.now) / speed;
    }
    return evaluate(penalties, aggregate, sooner) <= goal;
  };
  if (meets(1.0)) return 1.0;
  double low = 1.0, high = 2.0;
  while (!meets(high)) {
    low = high;
    if ((high *= 2.0) > 1e18) return kInfinity;
  }
  for (int step = 0; step < 100 && high - low > kRounding * high; ++step) {
    const double middle = low + (high - low) / 2.0;
    (meets(middle) ? high : low) = middle;
  }
  return high;
}

// Sets starts, slots and ends of jobs by the plan's pieces (spans in which a job holds slots).
void complete_jobs(const FlowProblem& problem, FlowPlan& plan) {
  const std::size_t n = problem.jobs();
  plan.start.assign(n, kInfinity);
  plan.allocation.assign(n, 0);
  const Pieces& pieces = plan.pieces;
  std::vector<double> left(problem.work), end(n, -kInfinity);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto i = static_cast<std::size_t>(pieces.job[k]);
    plan.start[i] = std::min(plan.start[i], pieces.start[k]);
    end[i] = std::max(end[i], pieces.end[k]);
    // The work that the piece shows, and the work that rounding of times may hide.
    const double digits = std::max(std::fabs(pieces.start[k]), std::fabs(pieces.end[k]));
    const double shown =
        pieces.end[k] - pieces.start[k] + 2.0 * std::numeric_limits<double>::epsilon() * digits;
    left[i] -= static_cast<double>(pieces.slots[k]) * shown;
    if (pieces.start[k] <= problem.now) plan.allocation[i] += pieces.slots[k];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (end[i] == -kInfinity) continue;
    const bool all = left[i] <= kUnseen * problem.work[i];
    plan.completion[i] = all ? end[i] : std::max(end[i], problem.now + plan.completion[i]);
  }
  // A job without a piece starts and ends at once: without work, with the last of its parents.
  std::vector<double> ready(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Index j = problem.flow[i];
    ready[i] = problem.volume[j] > 0.0 ? problem.now + problem.release[j] : problem.idle_end[j];
  }
  for (const Index i : problem.topological) {
    if (plan.start[i] == kInfinity) {
      const double known = problem.work[i] > 0.0 ? problem.now + plan.completion[i] : ready[i];
      plan.start[i] = plan.completion[i] = std::max(ready[i], known);
    }
    for (std::size_t e = problem.child_offset[i]; e < problem.child_offset[i + 1]; ++e) {
      ready[problem.child[e]] = std::max(ready[problem.child[e]], plan.completion[i]);
    }
  }
}

// Sets the ends of flows, and the value.
void complete_flows(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                    FlowPlan& plan) {
  plan.flow_completion.assign(problem.idle_end.begin(), problem.idle_end.end());
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    if (problem.volume[j] > 0.0) plan.flow_completion[j] = problem.now;
  }
  for (std::size_t i = 0; i < problem.jobs(); ++i) {
    double& end = plan.flow_completion[problem.flow[i]];
    if (problem.volume[problem.flow[i]] > 0.0) end = std::max(end, plan.completion[i]);
  }
  plan.value = evaluate(penalties, aggregate, plan.flow_completion);
}

// Makes the schedule of a recipe: an order of flows, due times, or keys of jobs, for one of the
// schedulers. Chains: each flow is a chain of pseudo-jobs, amounts of work in which the same jobs
// run.
void schedule_flows(const FlowProblem& problem, const FlowChains& chains,
                    const Penalties& penalties, Aggregate aggregate, const FlowRecipe& recipe,
                    FlowSearch& search, FlowPlan& plan) {
  const std::size_t n = problem.jobs();
  plan.pieces.clear();
  plan.completion.assign(n, 0.0);
  const auto keep_going = [](Index, double) { return true; };
  if (recipe.scheduler == FlowScheduler::kChains) {
    ChainPieces pieces;
    DeadlineGreedy().run(problem, chains, recipe.order, keep_going, &pieces);
    // Jobs that no piece will show.
    for (std::size_t i = 0; i < n; ++i) {
      const Index j = problem.flow[i];
      if (problem.work[i] == 0.0) continue;
      // The pseudo-job that it ends with; a job too short for the chain ends with the pseudo-job
      // before it.
      const std::size_t last = std::max(chains.end[i], chains.first[i]);
      plan.completion[i] = last > chains.offset[j] ? pieces.done[last - 1] : problem.release[j];
    }
    WrapAround().run(problem, chains, pieces, plan.pieces);
  } else {
    std::vector<Index> rank(n);
    if (recipe.scheduler == FlowScheduler::kList) {
      search.rank_by_order(recipe.order, rank);
    } else if (recipe.scheduler == FlowScheduler::kSlack) {
      search.rank_by_due(recipe.due, rank);
    } else {
      search.rank_by_key(recipe.key, rank);
    }
    ReadyList().run(problem, rank, plan.completion, keep_going, &plan.pieces);
  }
  complete_jobs(problem, plan);
  complete_flows(problem, penalties, aggregate, plan);
}

// A lower bound that takes about as long as a few schedules.
double quick_bound(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlowPlan& plan) {
  FlowBound bound;
  bound.build(problem);
  const double lower = bound.alone(penalties, aggregate);
  if (aggregate == Aggregate::kMax) return bound.max_level(penalties, lower, plan.value);
  if (all_steps(problem, penalties)) {
    return std::max(lower, bound.step_bound(penalties, plan.value, 0, {}));
  }
  std::vector<double> end(problem.flows());
  for (std::size_t j = 0; j < end.size(); ++j) end[j] = plan.flow_completion[j] - problem.now;
  return std::max(lower, bound.busy_bound(penalties, end));
}

bool all_steps(const FlowProblem& problem, const Penalties& penalties) {
  if (penalties.linear()) return false;
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    if (problem.volume[j] > 0.0 && !penalties.steps(j)) return false;
  }
  return true;
}

bool study_deadlines(const FlowProblem& problem, const Penalties& penalties,
                     StrictDeadlines& strict) {
  if (!penalties.may_be_infinite()) return false;
  double horizon = 0.0;
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    horizon = std::max(horizon, problem.release[j]) + problem.alone[j];
  }
  return strict.study(penalties, problem.now, horizon, problem.volume, problem.idle_end);
}

// Value, bound and status of a plan that was made with finite penalties, for the true ones.
void settle_deadlines(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                      const StrictDeadlines& strict, FlowPlan& plan) {
  bool impossible = false;
  if (evaluate(penalties, aggregate, plan.flow_completion) == kInfinity) {
    FlowBound bound;
    bound.build(problem);
    std::vector<double> due(problem.flows());
    strict.due(1.0, due);
    impossible = bound.impossible(due);
  }
  strict.settle(penalties, aggregate, plan.flow_completion, impossible, plan.value,
                plan.lower_bound, plan.status);
  // The value of FlowFlex's schedule as printed. That schedule was made for finite penalties.
  if (strict.pure()) {
    plan.literal_value *= plan.literal_value > 0.0 ? kInfinity : 1.0;  // only misses count
  } else {
    plan.literal_value = std::numeric_limits<double>::quiet_NaN();
  }
  plan.speed = std::numeric_limits<double>::quiet_NaN();
  if (!problem.released) return;
  // All flows have arrived. If no schedule meets all deadlines: the speed at which this one would.
  const double goal = plan.lower_bound < kInfinity ? plan.lower_bound
                      : strict.pure()              ? 0.0
                                                   : std::numeric_limits<double>::max();
  plan.speed = speed_needed(problem, penalties, aggregate, plan.flow_completion, goal);
}

void finish_plan(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                 double lower, FlowPlan& plan) {
  plan.lower_bound = std::min(lower, plan.value);
  if (problem.released) {
    plan.speed =
        speed_needed(problem, penalties, aggregate, plan.flow_completion, plan.lower_bound);
  }
}

}  // namespace malleable
