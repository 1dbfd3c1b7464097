// FIFO (jobs of the first flow first, in a list) and fair sharing of flows.
#include "malleable/policy/flow_baseline.hpp"

#include "malleable/kernel/fair_list.hpp"

namespace malleable {

void plan_baseline(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   FlowBaseline which, std::span<const double> arrival, FlowPlan& plan) {
  const std::size_t f = problem.flows(), n = problem.jobs();
  if (StrictDeadlines strict; study_deadlines(problem, penalties, strict)) {
    plan_baseline(problem, strict.finite(), aggregate, which, arrival, plan);
    settle_deadlines(problem, penalties, aggregate, strict, plan);
    return;
  }
  plan = FlowPlan{};
  if (f == 0) {
    plan.lower_bound = 0.0;
    plan.speed = 1.0;
    return;
  }
  plan.order.resize(f);
  KeySort().sort(arrival, plan.order);
  plan.completion.assign(n, 0.0);
  if (which == FlowBaseline::kFair) {
    std::vector<double> end(f, 0.0);
    FairList().run(problem, plan.completion, end, plan.pieces);
  } else {
    std::vector<Index> rank(n);
    Index next = 0;
    for (const Index j : plan.order) {
      // The topological order of a flow stands where the flow stands in the table.
      for (std::size_t k = problem.job_offset[j]; k < problem.job_offset[j + 1]; ++k) {
        rank[problem.topological[k]] = next++;
      }
    }
    ReadyList().run(
        problem, rank, plan.completion, [](Index, double) { return true; }, &plan.pieces);
  }
  complete_jobs(problem, plan);
  complete_flows(problem, penalties, aggregate, plan);
  const double lower = quick_bound(problem, penalties, aggregate, plan);
  finish_plan(problem, penalties, aggregate, lower, plan);
}

}  // namespace malleable
