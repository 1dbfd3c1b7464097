// Tables and plans of flows (jobs that wait for each other) for Python.
#include <string>

#include "arrays.hpp"
#include "flow_plan_dict.hpp"
#include "malleable/model/flows.hpp"
#include "malleable/policy/planner.hpp"

namespace malleable::bindings {
namespace {

using Integers = Array<std::int64_t>;

py::dict planned_flows(const Flows& flows, std::int64_t slots, double now,
                       const Penalties& penalties, bool is_max, const std::string& policy,
                       std::uint64_t effort, double budget, const Integers& warm,
                       double hysteresis) {
  const std::vector<Index> start(view(warm).begin(), view(warm).end());
  FlowPlan result;
  {
    py::gil_scoped_release release;
    plan_flows(flows.view(), penalties,
               {policy,
                aggregate_of(is_max),
                slots,
                now,
                {.effort = effort, .budget = budget, .warm = start, .hysteresis = hysteresis}},
               result);
  }
  return flow_plan_dict(std::move(result));
}

}  // namespace

void bind_flows(py::module_& module) {
  module.attr("FLOW_EFFORT") = kFlowEffort;
  module.def("default_flow_effort", &default_flow_effort, py::arg("jobs"));
  module.def("plan_flows", &planned_flows, py::arg("flows"), py::arg("slots"), py::arg("now"),
             py::arg("penalties"), py::arg("is_max"), py::arg("policy"), py::arg("effort"),
             py::arg("budget"), py::arg("warm").noconvert(), py::arg("hysteresis") = 0.0);
}

}  // namespace malleable::bindings
