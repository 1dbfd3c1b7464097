// The epoch of flows for Python: it decides the slots of jobs that wait for each other.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "epochs.hpp"
#include "flow_plan_dict.hpp"
#include "kinds.hpp"
#include "malleable/policy/flow_epoch.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::bindings {
namespace {

class PyFlowEpoch : public BoundEpoch<PyFlowEpoch, FlowEpoch> {
 public:
  using BoundEpoch::BoundEpoch;

  // (ids of flows, ids of jobs)
  py::tuple add(const Flows& flows, const Array<std::uint8_t>& kind, std::vector<std::string> name,
                bool dated, const std::optional<Integers>& program) {
    const std::vector<Kind> kinds = kinds_of(kind);
    FlowTable::Additions added{flows, kinds, std::move(name), dated};
    if (program) added.program = view(*program);
    const auto ids = exclusively([&] { return epoch_.add(std::move(added)); });
    return py::make_tuple(rising(ids.first_flow, flows.view().flows()),
                          rising(ids.first_job, flows.view().jobs()));
  }

  void update(const py::object& ids, const py::object& flows, const py::dict& columns) {
    const Wholes jobs(ids), of_flows(flows);
    const Given<FlowTable::Changes> changes(columns, jobs.needed().get().size(),
                                            of_flows.needed().get().size());
    exclusively([&] { epoch_.update(jobs.get(), of_flows.get(), changes.view()); });
  }

  void remove(const py::object& ids, const py::object& flows) {
    const Wholes jobs(ids), of_flows(flows);
    jobs.needed();
    of_flows.needed();
    exclusively([&] { epoch_.remove(jobs.get(), of_flows.get()); });
  }

  // (version, ids, slots, changed, ready, ended, order, overloaded)
  py::tuple decide(double now, std::optional<std::int64_t> slots, std::optional<double> period) {
    return exclusively(
        [&]() -> const auto& { return epoch_.decide(now, slots, period); },
        [&](const FlowEpoch::Decision& made) {
          const auto whole = [](std::span<const std::int64_t> column) { return copy(column); };
          return py::make_tuple(epoch_.version(), whole(made.ids), whole(made.slots),
                                bools(made.changed), bools(made.ready), whole(made.ended),
                                whole(made.order), made.overloaded);
        });
  }

  // For the decision with this version: (plan, its flows, their ids, names of their jobs, codes of
  // their kinds, penalties)
  py::tuple plan(std::uint64_t version) {
    FlowPlan plan;
    SeenFlows seen;
    std::vector<double> penalty;
    of_decision(version, "plan", [&] { epoch_.plan(seen, plan, penalty); });
    return py::make_tuple(flow_plan_dict(std::move(plan)),
                          std::make_shared<Flows>(Flows::of_valid(std::move(seen.flows))),
                          to_numpy(std::move(seen.id)), std::move(seen.name), codes_of(seen.kind),
                          to_numpy(std::move(penalty)));
  }
};

}  // namespace

void bind_flow_epoch(py::module_& module) {
  bind_loop<PyFlowEpoch>(module)
      .def(py::init([](std::int64_t slots, bool is_max, const std::string& policy,
                       std::optional<std::uint64_t> effort, double hysteresis, double period) {
             FlowEpochOptions options{.aggregate = aggregate_of(is_max),
                                      .effort = effort,
                                      .hysteresis = hysteresis,
                                      .period = period};
             options.take_policy(policy);
             return std::make_unique<PyFlowEpoch>(slots, options);
           }),
           py::arg("slots"), py::arg("is_max"), py::arg("policy"), py::arg("effort"),
           py::arg("hysteresis"), py::arg("period"))
      .def("set_penalty", &PyFlowEpoch::set_penalty, py::arg("address"))
      .def("add", &PyFlowEpoch::add, py::arg("flows"), py::arg("kind").noconvert(), py::arg("name"),
           py::arg("dated"), py::arg("program").noconvert())
      .def("rates", &PyFlowEpoch::rates, py::arg("program"), py::arg("most"))
      .def("update", &PyFlowEpoch::update, py::arg("ids"), py::arg("flows"), py::arg("columns"))
      .def("remove", &PyFlowEpoch::remove, py::arg("ids"), py::arg("flows"))
      .def("plan", &PyFlowEpoch::plan, py::arg("version"));
}

}  // namespace malleable::bindings
