// A plan of flows as a dictionary of NumPy arrays.
#pragma once

#include <utility>

#include "malleable/policy/flow_plan.hpp"
#include "plan_dict.hpp"

namespace malleable::bindings {

inline py::dict flow_plan_dict(FlowPlan&& plan) {
  py::dict result;
  result["status"] = status_name(plan.status);
  result["value"] = plan.value;
  result["lower_bound"] = plan.lower_bound;
  result["speed"] = plan.speed;
  result["literal_value"] = plan.literal_value;
  result["order"] = to_numpy(plan.order);
  result["flow_completion"] = to_numpy(std::move(plan.flow_completion));
  result["start"] = to_numpy(std::move(plan.start));
  result["completion"] = to_numpy(std::move(plan.completion));
  result["allocation"] = to_numpy(std::move(plan.allocation));
  result["pieces"] = pieces_dict(std::move(plan.pieces));
  result["candidates"] = plan.candidates;
  return result;
}

}  // namespace malleable::bindings
