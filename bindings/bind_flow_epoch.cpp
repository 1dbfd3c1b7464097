#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "flow_plan_dict.hpp"
#include "malleable/policy/flow_epoch.hpp"
#include "malleable/policy/registry.hpp"
#include "saved_state.hpp"
#include "turn.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

template <typename T>
std::span<const T> view_of(const std::optional<Array<T>>& array) {
  return array ? view(*array) : std::span<const T>();
}

std::vector<Kind> kinds_of(const Array<std::uint8_t>& codes) {
  std::vector<Kind> kinds;
  for (const std::uint8_t code : view(codes)) kinds.push_back(kind_of(code));
  return kinds;
}

Integers rising(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> ids(count);
  for (std::size_t k = 0; k < count; ++k) ids[k] = first + static_cast<std::int64_t>(k);
  return to_numpy(std::move(ids));
}

Array<bool> bools(const std::vector<std::uint8_t>& values) {
  Array<bool> made(static_cast<py::ssize_t>(values.size()));
  std::copy(values.begin(), values.end(), made.mutable_data());
  return made;
}

class PyFlowEpoch {
 public:
  PyFlowEpoch(std::int64_t slots, double task_work, const FlowEpochOptions& options)
      : epoch_(slots, task_work, options) {}

  void set_penalty(std::uintptr_t address) {
    const Turn turn(busy_);
    epoch_.set_custom(reinterpret_cast<CustomPenalty>(address));
  }

  // (ids of flows, ids of jobs)
  py::tuple add(const Doubles& arrival, const Doubles& weight, const Doubles& deadline,
                const Integers& sla_offset, const Doubles& sla_time, const Doubles& sla_penalty,
                const Doubles& size, const Array<std::uint8_t>& kind, const Integers& job_offset,
                const Doubles& work, const Integers& max_slots, const Integers& parent_offset,
                const Integers& parent, const std::optional<Integers>& tasks,
                const std::optional<Integers>& continues, std::vector<std::string> name) {
    const std::vector<Kind> kinds = kinds_of(kind);
    FlowTable::Additions added{{view(arrival), view(weight), view(deadline), view(sla_offset),
                                view(sla_time), view(sla_penalty), view(job_offset), view(work),
                                view(max_slots), view(parent_offset), view(parent)},
                               view(size),
                               kinds,
                               view_of(tasks),
                               view_of(continues),
                               std::move(name)};
    FlowEpoch::Ids ids{};
    {
      const Turn turn(busy_);
      py::gil_scoped_release release;
      ids = epoch_.add(std::move(added));
    }
    return py::make_tuple(rising(ids.first_flow, view(arrival).size()),
                          rising(ids.first_job, view(work).size()));
  }

  void update(const Integers& ids, const std::optional<Doubles>& work,
              const std::optional<Integers>& tasks, const std::optional<Integers>& max_slots,
              const Integers& flows, const std::optional<Doubles>& weight,
              const std::optional<Doubles>& deadline, const std::optional<Integers>& sla_offset,
              const std::optional<Doubles>& sla_time, const std::optional<Doubles>& sla_penalty) {
    const FlowTable::Changes changes{view_of(work),     view_of(tasks),      view_of(max_slots),
                                     view_of(weight),   view_of(deadline),   view_of(sla_offset),
                                     view_of(sla_time), view_of(sla_penalty)};
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.update(view(ids), view(flows), changes);
  }

  void finish(const Integers& ids) {
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.finish(view(ids));
  }

  void remove(const Integers& ids, const Integers& flows) {
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.remove(view(ids), view(flows));
  }

  void set_task_work(double task_work) {
    const Turn turn(busy_);
    py::gil_scoped_release release;
    epoch_.set_task_work(task_work);
  }

  // (version, ids, slots, changed, ready, ended)
  py::tuple decide(double now, std::optional<std::int64_t> slots) {
    const Turn turn(busy_);
    const FlowEpoch::Decision* made = nullptr;
    {
      py::gil_scoped_release release;
      made = &epoch_.decide(now, slots);
    }
    return py::make_tuple(epoch_.version(), copy(std::span<const std::int64_t>(made->ids)),
                          copy(std::span<const std::int64_t>(made->slots)), bools(made->changed),
                          bools(made->ready), copy(std::span<const std::int64_t>(made->ended)));
  }

  // Of the decision that has this version: (plan, columns of the flows that it is about)
  py::tuple plan(std::uint64_t version) {
    const Turn turn(busy_);
    if (version != epoch_.version()) {
      throw std::runtime_error(
          "the epoch has moved on since this decision; ask for the plan first");
    }
    FlowPlan plan;
    FlowEpoch::Table table;
    std::vector<double> penalty;
    {
      py::gil_scoped_release release;
      epoch_.plan(table, plan, penalty);
    }
    py::dict columns;
    std::vector<std::uint8_t> kinds;
    for (const Kind kind : table.kind) kinds.push_back(static_cast<std::uint8_t>(kind));
    columns["id"] = to_numpy(std::move(table.id));
    columns["arrival"] = to_numpy(std::move(table.arrival));
    columns["weight"] = to_numpy(std::move(table.weight));
    columns["deadline"] = to_numpy(std::move(table.deadline));
    columns["sla_offset"] = to_numpy(std::move(table.sla_offset));
    columns["sla_time"] = to_numpy(std::move(table.sla_time));
    columns["sla_penalty"] = to_numpy(std::move(table.sla_penalty));
    columns["size"] = to_numpy(std::move(table.size));
    columns["kind"] = to_numpy(std::move(kinds));
    columns["job_offset"] = to_numpy(std::move(table.job_offset));
    columns["work"] = to_numpy(std::move(table.work));
    columns["max_slots"] = to_numpy(std::move(table.max_slots));
    columns["parent_offset"] = to_numpy(std::move(table.parent_offset));
    columns["parent"] = to_numpy(std::move(table.parent));
    columns["job_name"] = std::move(table.name);
    return py::make_tuple(flow_plan_dict(std::move(plan)), columns, to_numpy(std::move(penalty)));
  }

  std::int64_t slots() const {
    const Turn turn(busy_);
    return epoch_.slots();
  }
  std::size_t size() const {
    const Turn turn(busy_);
    return epoch_.size();
  }

  std::string save() { return saved("FlowEpoch", epoch_, busy_); }
  static std::unique_ptr<PyFlowEpoch> load(const py::bytes& bytes) {
    auto made = std::make_unique<PyFlowEpoch>(1, 1.0, FlowEpochOptions{});
    restore("FlowEpoch", bytes, made->epoch_);
    return made;
  }

 private:
  FlowEpoch epoch_;
  Busy busy_;
};

}  // namespace

void bind_flow_epoch(py::module_& module) {
  py::class_<PyFlowEpoch> epoch(module, "FlowEpoch");
  bind_state(epoch);
  epoch
      .def(py::init([](std::int64_t slots, double task_work, bool is_max, const std::string& policy,
                       std::optional<std::uint64_t> effort, double hysteresis,
                       double ready_fraction) {
             FlowEpochOptions options{.aggregate = aggregate_of(is_max),
                                      .effort = effort,
                                      .hysteresis = hysteresis,
                                      .ready_fraction = ready_fraction};
             const PolicyCode& code = find_policy(Model::kFlows, policy).code;
             if (const auto* baseline = std::get_if<FlowBaseline>(&code)) {
               options.baseline = *baseline;
             } else {
               options.method = std::get<FlowMethod>(code);
             }
             return std::make_unique<PyFlowEpoch>(slots, task_work, options);
           }),
           py::arg("slots"), py::arg("task_work"), py::arg("is_max"), py::arg("policy"),
           py::arg("effort"), py::arg("hysteresis"), py::arg("ready_fraction"))
      .def("set_penalty", &PyFlowEpoch::set_penalty, py::arg("address"))
      .def("add", &PyFlowEpoch::add, py::arg("arrival").noconvert(), py::arg("weight").noconvert(),
           py::arg("deadline").noconvert(), py::arg("sla_offset").noconvert(),
           py::arg("sla_time").noconvert(), py::arg("sla_penalty").noconvert(),
           py::arg("size").noconvert(), py::arg("kind").noconvert(),
           py::arg("job_offset").noconvert(), py::arg("work").noconvert(),
           py::arg("max_slots").noconvert(), py::arg("parent_offset").noconvert(),
           py::arg("parent").noconvert(), py::arg("tasks").noconvert(),
           py::arg("continues").noconvert(), py::arg("name"))
      .def("update", &PyFlowEpoch::update, py::arg("ids").noconvert(), py::arg("work").noconvert(),
           py::arg("tasks").noconvert(), py::arg("max_slots").noconvert(),
           py::arg("flows").noconvert(), py::arg("weight").noconvert(),
           py::arg("deadline").noconvert(), py::arg("sla_offset").noconvert(),
           py::arg("sla_time").noconvert(), py::arg("sla_penalty").noconvert())
      .def("finish", &PyFlowEpoch::finish, py::arg("ids").noconvert())
      .def("remove", &PyFlowEpoch::remove, py::arg("ids").noconvert(), py::arg("flows").noconvert())
      .def("set_task_work", &PyFlowEpoch::set_task_work, py::arg("task_work"))
      .def("decide", &PyFlowEpoch::decide, py::arg("now"), py::arg("slots"))
      .def("plan", &PyFlowEpoch::plan, py::arg("version"))
      .def_property_readonly("slots", &PyFlowEpoch::slots)
      .def("__len__", &PyFlowEpoch::size);
}

}  // namespace malleable::bindings
