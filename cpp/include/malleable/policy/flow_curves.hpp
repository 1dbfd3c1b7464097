// Plans of flows whose jobs have speed-ups, as a loop makes them that decides whenever a job ends
// or a flow arrives.
//
// FlowFlex plans linear flows (jobs that are s times as fast on s slots) that are nowhere slower
// (model/flow_problem), which gives the order of flows and the bound; then slots go by gains
// (kernel/flow_gains: each next slot to the job that gains most by it). FIFO and FAIR hand out
// slots as for linear flows. O((ready jobs + slots) log(ready jobs)) an event, of which there are
// as many as jobs and flows.
#pragma once

#include <optional>
#include <span>

#include "malleable/policy/flow_baseline.hpp"

namespace malleable {

struct CurvedFlows {
  const FlowsView& flows;
  const FlowProblem& problem;  // of these flows
  const Penalties& penalties;
  Aggregate aggregate;
  std::optional<FlowBaseline> baseline;
  double coming = 0.0;  // mean number of flows that come later
};

// Reads order and bound from `plan` and writes the rest; a baseline has its own order.
void plan_curves(const CurvedFlows& task, FlowPlan& plan);

}  // namespace malleable
