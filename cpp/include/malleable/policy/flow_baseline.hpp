// The schedulers that FlowFlex is measured against (Nagarajan et al. 2013, section 5.1): FIFO
// serves flows by arrival, FAIR shares slots equally over all ready jobs. Both see only ready jobs.
#pragma once

#include "malleable/policy/flow_plan.hpp"

namespace malleable {

enum class FlowBaseline : std::uint8_t { kFifo, kFair };
void plan_baseline(const FlowProblem& problem, const Penalties& penalties, Aggregate aggregate,
                   FlowBaseline which, std::span<const double> arrival, FlowPlan& plan);

}  // namespace malleable
