#include <string>

#include "arrays.hpp"
#include "flow_plan_dict.hpp"
#include "malleable/kernel/fair_list.hpp"
#include "malleable/kernel/flow_columns.hpp"
#include "malleable/kernel/wrap_around.hpp"
#include "malleable/model/flows.hpp"
#include "malleable/policy/planner.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

FlowProblem problem_of(const Flows& flows, std::int64_t slots, double now) {
  validate_slots(slots);
  FlowProblem problem;
  problem.build(flows, slots, now);
  return problem;
}

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

template <typename T>
py::array_t<std::int64_t> integers(const std::vector<T>& values) {
  return to_numpy(std::vector<std::int64_t>(values.begin(), values.end()));
}

py::dict flow_chains(const Flows& flows, std::int64_t slots) {
  const FlowProblem problem = problem_of(flows, slots, 0.0);
  FlowChains chains;
  {
    py::gil_scoped_release release;
    chains.build(problem);
  }
  py::dict result;
  result["offset"] = integers(chains.offset);
  result["length"] = to_numpy(std::move(chains.length));
  result["height"] = integers(chains.height);
  result["first"] = integers(chains.first);
  result["end"] = integers(chains.end);
  return result;
}

py::dict deadline_greedy(const Flows& flows, std::int64_t slots, double now,
                         const Integers& order) {
  const FlowProblem problem = problem_of(flows, slots, now);
  const std::vector<Index> given(view(order).begin(), view(order).end());
  std::vector<double> completion(problem.flows());
  ChainPieces pieces;
  {
    py::gil_scoped_release release;
    FlowChains chains;
    chains.build(problem);
    const auto done = [&](Index j, double end) {
      completion[j] = problem.volume[j] > 0.0 ? now + end : problem.idle_end[j];
      return true;
    };
    DeadlineGreedy().run(problem, chains, given, done, &pieces);
    for (double& t : pieces.start) t += now;
    for (double& t : pieces.end) t += now;
  }
  py::dict result;
  result["flow"] = integers(pieces.flow);
  result["offset"] = integers(pieces.offset);
  result["pseudo_job"] = integers(pieces.segment);
  result["start"] = to_numpy(std::move(pieces.start));
  result["end"] = to_numpy(std::move(pieces.end));
  result["slots"] = integers(pieces.height);
  result["completion"] = to_numpy(std::move(completion));
  return result;
}

py::dict wrap_around(const Flows& flows, std::int64_t slots, double now, const Integers& flow,
                     const Integers& offset, const Integers& pseudo_job, const Doubles& start,
                     const Doubles& end, const Integers& held) {
  const FlowProblem problem = problem_of(flows, slots, now);
  FlowChains chains;
  chains.build(problem);
  validate(
      ChainColumns{view(flow), view(offset), view(pseudo_job), view(start), view(end), view(held)},
      chains);
  ChainPieces pieces;
  pieces.flow.assign(view(flow).begin(), view(flow).end());
  pieces.offset.assign(view(offset).begin(), view(offset).end());
  pieces.segment.assign(view(pseudo_job).begin(), view(pseudo_job).end());
  pieces.start.assign(view(start).begin(), view(start).end());
  pieces.end.assign(view(end).begin(), view(end).end());
  pieces.height.assign(view(held).begin(), view(held).end());
  Pieces out;
  {
    py::gil_scoped_release release;
    for (double& t : pieces.start) t -= now;
    for (double& t : pieces.end) t -= now;
    WrapAround().run(problem, chains, pieces, out);
  }
  return pieces_dict(std::move(out));
}

// `rank` empty: FAIR.
py::dict ready_list(const Flows& flows, std::int64_t slots, double now, const Integers& rank) {
  const FlowProblem problem = problem_of(flows, slots, now);
  const std::vector<Index> given(view(rank).begin(), view(rank).end());
  std::vector<double> flow_end(problem.flows(), 0.0);
  FlowPlan plan;
  {
    py::gil_scoped_release release;
    plan.completion.assign(problem.jobs(), 0.0);
    if (given.empty()) {
      FairList().run(problem, plan.completion, flow_end, plan.pieces);
    } else {
      const auto done = [&](Index j, double end) {
        flow_end[j] = end;
        return true;
      };
      ReadyList().run(problem, given, plan.completion, done, &plan.pieces);
    }
    complete_jobs(problem, plan);
    for (std::size_t j = 0; j < flow_end.size(); ++j) {
      flow_end[j] = problem.volume[j] > 0.0 ? now + flow_end[j] : problem.idle_end[j];
    }
  }
  py::dict result;
  result["start"] = to_numpy(std::move(plan.start));
  result["completion"] = to_numpy(std::move(plan.completion));
  result["flow_completion"] = to_numpy(std::move(flow_end));
  result["pieces"] = pieces_dict(std::move(plan.pieces));
  return result;
}

py::dict min_cost_flow(const Doubles& volume, const Doubles& time, const Doubles& room,
                       const Integers& offset, const Integers& from, const Doubles& value,
                       const Doubles& slope) {
  validate(TransportColumns{view(volume), view(time), view(room), view(offset), view(from),
                            view(value), view(slope)});
  CellCosts costs;
  for (const std::int64_t k : view(offset)) costs.offset.push_back(static_cast<std::size_t>(k));
  for (const std::int64_t t : view(from)) costs.from.push_back(static_cast<Index>(t));
  costs.value.assign(view(value).begin(), view(value).end());
  costs.slope.assign(view(slope).begin(), view(slope).end());
  MinCostFlow solver;
  {
    py::gil_scoped_release release;
    solver.solve(view(volume), view(time), view(room), costs);
  }
  const auto& found = solver.assignment();
  std::vector<double> price(view(room).size(), 0.0);
  std::copy(solver.price().begin(), solver.price().end(), price.begin());
  py::dict result;
  result["value"] = solver.value();
  result["bound"] = solver.bound();
  result["flow"] = to_numpy(found.flow);
  result["cell"] = to_numpy(found.cell);
  result["amount"] = copy(std::span<const double>(found.amount));
  result["price"] = to_numpy(std::move(price));
  result["potential"] = copy(solver.potential());
  result["pivots"] = solver.pivots();
  return result;
}

}  // namespace

void bind_flows(py::module_& module) {
  module.attr("FLOW_EFFORT") = kFlowEffort;
  module.def("default_flow_effort", &default_flow_effort, py::arg("jobs"));
  module.def("plan_flows", &planned_flows, py::arg("flows"), py::arg("slots"), py::arg("now"),
             py::arg("penalties"), py::arg("is_max"), py::arg("policy"), py::arg("effort"),
             py::arg("budget"), py::arg("warm").noconvert(), py::arg("hysteresis") = 0.0);
  module.def("flow_chains", &flow_chains, py::arg("flows"), py::arg("slots"));
  module.def("deadline_greedy", &deadline_greedy, py::arg("flows"), py::arg("slots"),
             py::arg("now"), py::arg("order").noconvert());
  module.def("wrap_around", &wrap_around, py::arg("flows"), py::arg("slots"), py::arg("now"),
             py::arg("flow").noconvert(), py::arg("offset").noconvert(),
             py::arg("pseudo_job").noconvert(), py::arg("start").noconvert(),
             py::arg("end").noconvert(), py::arg("held").noconvert());
  module.def("ready_list", &ready_list, py::arg("flows"), py::arg("slots"), py::arg("now"),
             py::arg("rank").noconvert());
  module.def("min_cost_flow", &min_cost_flow, py::arg("volume").noconvert(),
             py::arg("time").noconvert(), py::arg("room").noconvert(),
             py::arg("offset").noconvert(), py::arg("from_cell").noconvert(),
             py::arg("value").noconvert(), py::arg("slope").noconvert());
}

}  // namespace malleable::bindings
