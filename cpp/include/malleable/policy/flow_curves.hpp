// Plans of flows whose jobs have speed-ups: what a loop does that is asked whenever a job ends or a
// flow arrives.
//
// FlowFlex plans the linear flows that are nowhere slower (model/flow_problem), which gives the
// order of flows and the bound; then slots go by gains (kernel/flow_gains). FIFO and FAIR hand out
// slots as they always do. O(ready jobs log + slots log) an event, of which there are as many as
// jobs and flows.
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
  double coming = 0.0;  // flows that come later, as many as are there on the average
};

// Takes order and bound from `plan` and puts the rest there; a baseline has an order of its own.
void plan_curves(const CurvedFlows& task, FlowPlan& plan);

}  // namespace malleable
