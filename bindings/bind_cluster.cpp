// The simulation of a MapReduce cluster for Python, with the tables of its options and columns.
#include <memory>
#include <optional>
#include <type_traits>

#include "arrays.hpp"
#include "histories.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/sim/cluster.hpp"
#include "malleable/sim/cluster_slots.hpp"
#include "named_columns.hpp"
#include "options.hpp"
#include "policies.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;

// Valid jobs from the columns of their table, which `kept` keeps alive.
ClusterJobsView jobs_of(const py::dict& table, std::vector<py::object>& kept) {
  ClusterJobsView jobs;
  ClusterJobsView::each(
      [&]<typename T>(const ClusterColumn& own, std::span<const T>& values) {
        values = column<T>(table, own.name, kept, own.needed);
      },
      jobs);
  SlaColumns::each(jobs.sla, kAnyLength, [&](const char* name, auto& own, std::size_t, bool) {
    own = column<std::remove_const_t<std::remove_reference_t<decltype(own[0])>>>(table, name, kept);
  });
  validate(jobs);
  return jobs;
}

struct Tables {
  std::vector<py::object> kept;
  ClusterNodes nodes;
  ClusterView cluster = nodes.view();
  ClusterJobsView jobs;
  ClusterChanges changes;
  std::span<const double> estimate;

  Tables(const py::dict& given, const py::dict& table, const py::dict& schedule,
         const std::optional<Doubles>& guess)
      : nodes(nodes_of(given)) {
    jobs = jobs_of(table, kept);
    validate_fit(cluster, jobs);
    changes.time = column<double>(schedule, "time", kept);
    changes.node = column<std::int64_t>(schedule, "node", kept);
    changes.up = column<std::uint8_t>(schedule, "up", kept);
    for (std::size_t k = 0; k < changes.time.size(); ++k) {
      if (!(changes.time[k] >= 0.0 && changes.time[k] <= kLatestTime)) {
        throw FieldError("change times", k, changes.time[k],
                         "must be finite and at least 0, at most 1e12 seconds");
      }
      const std::int64_t node = changes.node[k];
      if (node < 0 || node >= static_cast<std::int64_t>(cluster.size())) {
        throw FieldError("change nodes", k, static_cast<long long>(node), "no such node");
      }
    }
    if (guess) {
      kept.push_back(*guess);
      estimate = view(*guess);
      if (estimate.size() != 2 * jobs.size()) {
        throw std::invalid_argument("estimates: two are needed for each job, map and reduce");
      }
      check_amounts("estimates", estimate, kTotalRange);
    }
  }
};

ClusterOptions options_of(const py::dict& given) {
  auto options = read_options<ClusterOptions>(given);
  if (given.contains("seed")) options.seed = given["seed"].cast<std::uint64_t>();
  if (given.contains("trace")) options.trace = given["trace"].cast<bool>();
  return options;
}

// Rows of the table of options, in order, for Python's checks and for help texts.
py::tuple option_rows() {
  const ClusterOptions options;
  py::list rows;
  std::size_t known[2] = {0, 0};
  PolicyOptions::each(options, [&](const Option&, const auto&) { ++known[0]; });
  SchedulerOptions::each(options, [&](const Option&, const auto&) { ++known[1]; });
  ClusterOptions::each(options, [&]<typename T>(const Option& option, const T& value) {
    const std::size_t row = rows.size();
    py::dict d;
    d["name"] = option.name;
    d["kind"] = kind_name<T>();
    d["low"] = option.low;
    d["high"] = option.high;
    d["unit"] = option.unit;
    d["words"] =
        py::tuple(py::cast(std::vector<std::string>(option.words.begin(), option.words.end())));
    d["default"] = shown_option(option, value);
    d["of"] = row < known[0] ? "policy" : row < known[1] ? "scheduler" : "simulation";
    d["readers"] = option.readers;
    d["meaning"] = option.meaning;
    rows.append(std::move(d));
  });
  return py::tuple(rows);
}

class PySimulation {
 public:
  PySimulation(const py::dict& nodes, const py::dict& jobs, const py::dict& options,
               const py::dict& changes, const std::optional<Doubles>& estimate, py::object policy)
      : tables_(nodes, jobs, changes, estimate),
        policy_(std::move(policy)),
        simulation_(begun(options)) {}

  void advance(double until) {
    const BoundPolicy& policy = bound_policy();
    const UseGuard guard(busy_), policy_guard(policy.busy);
    if (policy.serves != this) {
      throw std::runtime_error("the policy has begun with another simulation");
    }
    py::gil_scoped_release release;
    simulation_.advance(until);
  }

  py::dict totals() const {
    const UseGuard guard(busy_);
    const ClusterTotals& t = simulation_.totals();
    py::dict d;
    d["now"] = t.now;
    d["arrived"] = t.arrived;
    d["completed"] = t.completed;
    d["tasks"] = t.tasks;
    d["failed"] = t.failed;
    d["killed"] = t.killed;
    d["outputs_lost"] = t.outputs_lost;
    d["preempted"] = t.preempted;
    d["backups"] = t.backups;
    d["backups_won"] = t.backups_won;
    d["wasted"] = t.wasted;
    d["local"] = t.local;
    d["remote"] = t.remote;
    d["events"] = t.events;
    d["decisions"] = t.decisions;
    d["moved"] = t.moved;
    d["jobs_seconds"] = t.jobs_seconds;
    for (int pool = 0; pool < 2; ++pool) {
      const std::string name = pool == 0 ? "map_" : "reduce_";
      d[py::str(name + "busy")] = t.busy[pool];
      d[py::str(name + "offered")] = t.offered[pool];
      d[py::str(name + "lost")] = t.lost[pool];
      d[py::str(name + "idle")] = t.idle[pool];
    }
    d["dissatisfaction"] = t.dissatisfaction;
    d["fairness"] = t.fairness;
    if (simulation_.moves_bytes()) d["remote_bytes"] = simulation_.remote_bytes();
    return d;
  }

  py::dict records() const {
    const UseGuard guard(busy_);
    py::dict d;
    d["came"] = copy<double>(simulation_.came);
    d["start"] = copy<double>(simulation_.start);
    d["map_completion"] = copy<double>(simulation_.map_completion);
    d["completion"] = copy<double>(simulation_.completion);
    d["most_slots"] = copy<std::int64_t>(simulation_.most_slots);
    d["size"] = copy<double>(simulation_.state().size);
    return d;
  }

  Array<float> latency() const {
    const UseGuard guard(busy_);
    return copy<float>(simulation_.latency);
  }

  py::tuple history() const {
    const UseGuard guard(busy_);
    return history_tuple(simulation_.history());
  }
  void recall(const py::tuple& numbers) {
    const UseGuard guard(busy_);
    simulation_.recall(history_of(numbers));
  }

  py::dict trace() const {
    const UseGuard guard(busy_);
    py::dict d;
    d["time"] = copy<double>(simulation_.trace_time);
    d["kind"] = copy<std::uint8_t>(simulation_.trace_kind);
    d["phase"] = copy<std::uint8_t>(simulation_.trace_phase);
    d["job"] = copy<std::int64_t>(simulation_.trace_job);
    d["task"] = copy<std::int64_t>(simulation_.trace_task);
    d["node"] = copy<std::int64_t>(simulation_.trace_node);
    d["slot"] = to_numpy(
        slots_of({simulation_.trace_kind, simulation_.trace_phase, simulation_.trace_job,
                  simulation_.trace_task, simulation_.trace_node, simulation_.trace_attempt},
                 tables_.cluster));
    return d;
  }

 private:
  BoundPolicy& bound_policy() const { return policy_.cast<BoundPolicy&>(); }
  ClusterSimulation begun(const py::dict& options) {
    BoundPolicy& policy = bound_policy();
    const UseGuard guard(policy.busy);
    policy.serves = this;
    return ClusterSimulation(tables_.cluster, tables_.jobs, options_of(options), tables_.changes,
                             tables_.estimate, *policy.policy);
  }

  Tables tables_;
  py::object policy_;
  ClusterSimulation simulation_;
  Busy busy_;
};

// Rows of the table of columns of jobs.
py::tuple column_rows() {
  const ClusterJobsView none;
  py::list rows;
  ClusterJobsView::each(
      [&]<typename T>(const ClusterColumn& column, std::span<const T>) {
        py::dict d;
        d["name"] = column.name;
        d["whole"] = std::is_integral_v<T>;
        d["by_row"] = column.length == ClusterColumn::Length::kRows;
        d["for_schedulers"] = column.read_by != ClusterColumn::ReadBy::kSimulation;
        rows.append(std::move(d));
      },
      none);
  return py::tuple(rows);
}

}  // namespace

void bind_cluster(py::module_& module) {
  module.attr("CLUSTER_COLUMNS") = column_rows();
  module.attr("OPTIONS") = option_rows();
  module.def(
      "validate_cluster_jobs",
      [](const py::dict& columns) {
        std::vector<py::object> kept;
        jobs_of(columns, kept);
      },
      py::arg("columns"));
  py::class_<PySimulation>(module, "ClusterSimulation")
      .def(py::init<const py::dict&, const py::dict&, const py::dict&, const py::dict&,
                    const std::optional<Doubles>&, py::object>(),
           py::arg("cluster"), py::arg("jobs"), py::arg("options"), py::arg("changes"),
           py::arg("estimate").none(true), py::arg("policy"))
      .def("advance", &PySimulation::advance, py::arg("until"))
      .def("totals", &PySimulation::totals)
      .def("records", &PySimulation::records)
      .def("latency", &PySimulation::latency)
      .def("history", &PySimulation::history)
      .def("recall", &PySimulation::recall, py::arg("numbers"))
      .def("trace", &PySimulation::trace);
}

}  // namespace malleable::bindings
