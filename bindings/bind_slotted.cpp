// The simulation and the epoch in steps (unit slots of time) for Python.
#include <optional>

#include "epochs.hpp"
#include "malleable/kernel/flow_time_bounds.hpp"
#include "malleable/kernel/virtual_srpt.hpp"
#include "malleable/policy/slotted_epoch.hpp"
#include "malleable/sim/slotted.hpp"
#include "means.hpp"
#include "signals.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

MapReduceView view_of(const Integers& arrival, const Integers& map, const Integers& task_offset,
                      const Integers& task) {
  const MapReduceView jobs{view(arrival), view(map), view(task_offset), view(task)};
  validate(jobs);
  return jobs;
}

template <typename T>
std::span<const T> view_or_nothing(const std::optional<Array<T>>& array) {
  return array ? view(*array) : std::span<const T>();
}

class PySlottedSim {
 public:
  PySlottedSim(std::int64_t machines, const std::string& policy, bool preemptive, bool records)
      : sim_({machines, preemptive, records}, make_slotted_policy(policy, preemptive)) {
    sim_.set_poll(poll_signals);
  }

  void feed(const Integers& arrival, const Integers& map, const Integers& task_offset,
            const Integers& task, const std::optional<Doubles>& estimate) {
    const MapReduceView jobs = view_of(arrival, map, task_offset, task);
    const UseGuard guard(busy_);
    py::gil_scoped_release release;
    sim_.feed(jobs, view_or_nothing(estimate));
  }
  void advance(std::int64_t last) {
    const UseGuard guard(busy_);
    py::gil_scoped_release release;
    sim_.advance(last);
  }
  py::dict summary() const {
    const UseGuard guard(busy_);
    const SlottedTotals& t = sim_.totals();
    const auto steps = static_cast<double>(t.last_step);
    const double offered = static_cast<double>(sim_.machines()) * steps;
    py::dict d;
    d["jobs"] = t.completed;
    d["unfinished"] = t.arrived - t.completed;
    d["end"] = t.last_step;
    d["mean_response"] = mean_over(t.flow, static_cast<double>(t.completed));
    d["total_response"] = t.flow;
    d["max_response"] = static_cast<double>(t.longest_flow);
    d["longest_wait"] = static_cast<double>(t.longest_wait);
    d["p50"] = sim_.flow_quantile(0.5);
    d["p90"] = sim_.flow_quantile(0.9);
    d["p95"] = sim_.flow_quantile(0.95);
    d["p99"] = sim_.flow_quantile(0.99);
    d["utilisation"] = mean_over(static_cast<double>(t.busy), offered, 0.0);
    d["mean_jobs"] = mean_over(t.live_steps, steps, 0.0);
    d["decisions"] = t.decisions;
    return d;
  }
  py::tuple take_records() {
    const UseGuard guard(busy_);
    SlottedRecords r = sim_.take_records();
    return py::make_tuple(to_numpy(std::move(r.job)), to_numpy(std::move(r.start)),
                          to_numpy(std::move(r.map_finish)), to_numpy(std::move(r.finish)));
  }
  py::tuple slowdown() const {
    const UseGuard guard(busy_);
    const auto counts = sim_.size_counts();
    std::size_t sizes = counts.size();
    while (sizes > 0 && counts[sizes - 1] == 0) --sizes;
    return counts_and_means(counts.first(sizes), sim_.size_slowdowns().first(sizes));
  }

 private:
  SlottedSim sim_;
  Busy busy_;
};

class PySlottedEpoch : public BoundEpoch<PySlottedEpoch, SlottedEpoch> {
 public:
  using BoundEpoch::BoundEpoch;

  // (ids, machines held, changed, map tasks, reduce tasks, order, overloaded, bounds)
  py::tuple decide(double now, std::optional<std::int64_t> slots, std::optional<double> period) {
    using Row = SlottedEpoch::Grant;
    return exclusively([&] { return epoch_.decide(now, slots, period); },
                       [&](std::span<const Row> made) {
                         return py::make_tuple(
                             column_of(made, &Row::id), column_of(made, &Row::slots),
                             column_of(made, &Row::changed), column_of(made, &Row::maps),
                             column_of(made, &Row::reduces), copy(epoch_.order()),
                             epoch_.overloaded(), column_of(made, &Row::bound));
                       });
  }
};

}  // namespace

void bind_slotted(py::module_& module) {
  module.def(
      "validate_map_reduce",
      [](const Integers& arrival, const Integers& map, const Integers& task_offset,
         const Integers& task) { view_of(arrival, map, task_offset, task); },
      py::arg("arrival").noconvert(), py::arg("map").noconvert(),
      py::arg("task_offset").noconvert(), py::arg("task").noconvert());
  module.def(
      "srpt_finish",
      [](const Integers& arrival, const Integers& map, const Integers& task_offset,
         const Integers& task, std::int64_t machines) {
        const MapReduceView jobs = view_of(arrival, map, task_offset, task);
        validate_machines(machines);
        std::vector<std::int64_t> finish(jobs.size());
        std::int64_t forced = 0;
        {
          py::gil_scoped_release release;
          forced = srpt_finish(jobs, machines, finish);
        }
        return py::make_tuple(to_numpy(std::move(finish)), forced);
      },
      py::arg("arrival").noconvert(), py::arg("map").noconvert(),
      py::arg("task_offset").noconvert(), py::arg("task").noconvert(), py::arg("machines"));
  module.def(
      "flow_time_bounds",
      [](const Integers& arrival, const Integers& map, const Integers& task_offset,
         const Integers& task, std::int64_t machines, bool preemptive) {
        const MapReduceView jobs = view_of(arrival, map, task_offset, task);
        validate_machines(machines);
        const py::gil_scoped_release release;
        const FlowTimeBounds bounds = flow_time_bounds(jobs, machines, preemptive);
        return std::pair(bounds.srpt, bounds.tight);
      },
      py::arg("arrival").noconvert(), py::arg("map").noconvert(),
      py::arg("task_offset").noconvert(), py::arg("task").noconvert(), py::arg("machines"),
      py::arg("preemptive"));
  py::class_<PySlottedSim>(module, "SlottedSim")
      .def(py::init<std::int64_t, const std::string&, bool, bool>(), py::arg("machines"),
           py::arg("policy"), py::arg("preemptive"), py::arg("records"))
      .def("feed", &PySlottedSim::feed, py::arg("arrival").noconvert(), py::arg("map").noconvert(),
           py::arg("task_offset").noconvert(), py::arg("task").noconvert(),
           py::arg("estimate").noconvert())
      .def("advance", &PySlottedSim::advance, py::arg("last"))
      .def("summary", &PySlottedSim::summary)
      .def("take_records", &PySlottedSim::take_records)
      .def("slowdown", &PySlottedSim::slowdown);
  bind_job_loop<PySlottedEpoch>(module)
      .def(py::init<std::int64_t, double, const std::string&, double>(), py::arg("slots"),
           py::arg("step_seconds"), py::arg("policy"), py::arg("period"))
      .def("add", &PySlottedEpoch::add, py::arg("columns"));
}

}  // namespace malleable::bindings
