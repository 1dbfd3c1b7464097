// Checks a table and plans it by the policy that is asked for; jobs with speed-up curves go to
// policy/concave (jobs) or policy/flow_curves (flows).
#include "malleable/policy/planner.hpp"

#include <stdexcept>
#include <string>

#include "malleable/model/error.hpp"
#include "malleable/policy/flow_curves.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {

void Planner::check(const JobsView& jobs, const Penalties& penalties, std::int64_t slots,
                    double now) {
  validate_slots(slots);
  if (penalties.size() != jobs.size()) {
    throw std::invalid_argument("penalties and jobs differ in length");
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.arrival[j] <= now) continue;
    throw FieldError("arrival", j, jobs.arrival[j], "after now = " + std::to_string(now));
  }
}

void Planner::plan(const JobsView& jobs, const Penalties& penalties, const Request& request,
                   Plan& plan) {
  check(jobs, penalties, request.slots, request.now);
  problem_.build(jobs.work, jobs.arrival, jobs.min_slots, jobs.max_slots, request.slots,
                 request.now, request.min_mode);
  if (jobs.speedup.curved()) {
    // FIFO knows no minima.
    if (request.policy == EpochPolicy::kFifo) problem_.drop_minima();
    concave_.plan({request.policy, problem_, jobs.speedup, penalties, request.aggregate,
                   jobs.arrival, jobs.weight},
                  request.options, plan);
    return;
  }
  switch (request.policy) {
    case EpochPolicy::kHeSrpt: {  // linear: all to the shortest
      std::vector<Index> order(jobs.size());
      sorter_.sort(problem_.work, order);
      plan = Plan{};
      flex_.plan_order(problem_, penalties, request.aggregate, order, /*detail=*/true, plan);
      break;
    }
    case EpochPolicy::kFlex:
      flex_.plan(problem_, penalties, request.aggregate, request.options, plan);
      break;
    case EpochPolicy::kFifo:
      baseline_.fifo(problem_, penalties, request.aggregate, jobs.arrival, plan);
      break;
    case EpochPolicy::kFair:
      baseline_.water_filling(problem_, penalties, request.aggregate, {}, plan);
      break;
    case EpochPolicy::kWdeq:
      baseline_.water_filling(problem_, penalties, request.aggregate, jobs.weight, plan);
      break;
  }
}

void plan_flows(const FlowsView& flows, const Penalties& penalties, const FlowRequest& request,
                FlowPlan& plan) {
  validate_slots(request.slots);
  if (penalties.size() != flows.flows()) {
    throw std::invalid_argument("penalties and flows differ in length");
  }
  FlowProblem problem;
  problem.build(flows, request.slots, request.now);
  const PolicyCode& code = find_policy(Model::kFlows, request.policy).code;
  const auto* baseline = std::get_if<FlowBaseline>(&code);
  const bool curved = flows.speedup.curved();
  if (baseline != nullptr && !curved) {
    plan_baseline(problem, penalties, request.aggregate, *baseline, flows.arrival, plan);
    return;
  }
  if (baseline == nullptr) {
    FlowOptions options = request.options;
    options.method = std::get<FlowMethod>(code);
    FlowFlex().plan(problem, penalties, request.aggregate, options, plan);
    if (!curved) return;
  }
  plan_curves({flows, problem, penalties, request.aggregate,
               baseline == nullptr ? std::nullopt : std::optional(*baseline)},
              plan);
}

}  // namespace malleable
