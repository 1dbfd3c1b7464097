// Cluster policies for Python: made by name, or classes written in Python, which see the state as
// columns by job and phase.
#include <cmath>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/scheduler/policy_columns.hpp"
#include "options.hpp"
#include "policies.hpp"

namespace malleable::bindings {

py::dict state_columns(const ClusterState& state) {
  PolicyColumns c;
  c.gather(state);
  const auto count = static_cast<py::ssize_t>(state.present.size());
  const auto by_phase = [&](auto& column) {
    return to_numpy(std::move(column)).reshape({count, py::ssize_t{2}});
  };
  const auto by_pool = [&](auto& column) -> py::object {
    if (state.cluster.generic) return to_numpy(std::move(column));
    return by_phase(column);
  };
  py::dict d;
  d["ids"] = to_numpy(std::move(c.ids));
  d["arrival"] = to_numpy(std::move(c.arrival));
  d["weight"] = to_numpy(std::move(c.weight));
  d["deadline"] = to_numpy(std::move(c.deadline));
  d["user"] = to_numpy(std::move(c.user));
  d["size"] = to_numpy(std::move(c.size));
  d["attained"] = to_numpy(std::move(c.attained));
  d["speedup"] = to_numpy(std::move(c.speedup));
  d["waiting"] = by_phase(c.waiting);
  d["running"] = by_phase(c.running);
  d["finished"] = by_phase(c.finished);
  d["ready"] = by_phase(c.ready);
  d["work"] = by_pool(c.work);
  d["spread"] = by_pool(c.spread);
  d["min_slots"] = by_pool(c.min_slots);
  d["max_slots"] = by_pool(c.max_slots);
  const auto pair = [&](const std::int64_t (&of)[2]) -> py::object {
    if (state.cluster.generic) return py::int_(of[0]);
    return to_numpy(std::vector<std::int64_t>{of[0], of[1]});
  };
  d["capacity"] = pair(state.slots);
  d["free"] = pair(state.free);
  return d;
}

namespace {

using Integers = Array<std::int64_t>;

// Live views on the counts of all phases: shape (jobs, 2), read-only, valid during the call that
// handed out the state.
template <typename T>
py::object phase_column(const py::object& self, T PhaseState::* member) {
  const auto& state = self.cast<const ClusterState&>();
  const auto stride = static_cast<py::ssize_t>(sizeof(PhaseState));
  const auto rows = static_cast<py::ssize_t>(state.phases.size() / 2);
  py::array_t<T> array({rows, py::ssize_t{2}}, {2 * stride, stride},
                       &(state.phases.data()->*member), self);
  array.attr("flags").attr("writeable") = false;
  return array;
}

// The columns from which a policy in Python decides: a row for each job with ready tasks.
py::dict demand_columns(const ClusterState& state, int pool) {
  std::vector<std::int64_t> job, running, most, minimum, user;
  std::vector<double> work, size, arrival, weight, deadline;
  for (const Index j : state.present) {
    const ClusterState::Demand demand = state.demand(j, pool);
    if (demand.most == 0) continue;
    job.push_back(j);
    running.push_back(demand.running);
    most.push_back(demand.most);
    minimum.push_back(demand.minimum);
    work.push_back(demand.work);
    size.push_back(state.size[j]);
    user.push_back(static_cast<std::int64_t>(state.jobs.user_of(j)));
    arrival.push_back(state.jobs.arrival[j]);
    weight.push_back(state.jobs.weight_of(j));
    deadline.push_back(state.jobs.deadline_of(j));
  }
  py::dict d;
  d["job"] = to_numpy(std::move(job));
  d["running"] = to_numpy(std::move(running));
  d["most"] = to_numpy(std::move(most));
  d["minimum"] = to_numpy(std::move(minimum));
  d["work"] = to_numpy(std::move(work));
  d["size"] = to_numpy(std::move(size));
  d["user"] = to_numpy(std::move(user));
  d["arrival"] = to_numpy(std::move(arrival));
  d["weight"] = to_numpy(std::move(weight));
  d["deadline"] = to_numpy(std::move(deadline));
  return d;
}

// A policy in Python. Its methods are called with the GIL held; their exceptions reach the caller.
class PyClusterPolicy : public ClusterPolicy {
 public:
  // `whole`: a function of the whole state and the time.
  PyClusterPolicy(py::object self, const std::string& style, bool depends_on_time, bool listens,
                  bool whole)
      : self_(std::move(self)), depends_(depends_on_time), listens_(listens), whole_(whole) {
    if (style == "targets") {
      style_ = Style::kTargets;
    } else if (style == "ranks") {
      style_ = Style::kRanks;
    } else if (style == "node") {
      style_ = Style::kNode;
    } else {
      throw std::invalid_argument("style = '" + style + "': must be targets, ranks or node");
    }
  }

  Style style() const override { return style_; }
  bool depends_on_time() const override { return depends_; }
  bool listens() const override { return listens_; }

  void begin(const ClusterState& state) override { call("begin", state); }
  void job_arrived(const ClusterState& state, Index job) override {
    call("job_arrived", state, job);
  }
  void job_finished(const ClusterState& state, Index job) override {
    call("job_finished", state, job);
  }
  void task_finished(const ClusterState& state, Index job, Phase p, Index node,
                     double seconds) override {
    call("task_finished", state, job, static_cast<int>(p), node, seconds);
  }
  bool place(const ClusterState& state, Index job, Index task, std::span<Index> node) override {
    const py::gil_scoped_acquire acquire;
    if (!py::hasattr(self_, "place")) return false;
    const py::object places = self_.attr("place")(live(state), job, task, node.size());
    if (places.is_none()) return false;
    const auto list = places.cast<std::vector<std::int64_t>>();
    if (list.size() != node.size()) {
      throw std::invalid_argument("place: must give " + counted(node.size(), "node"));
    }
    for (std::size_t k = 0; k < list.size(); ++k) {
      const bool known = list[k] >= 0 && list[k] < static_cast<std::int64_t>(state.cluster.size());
      if (!known) throw FieldError("place", k, static_cast<long long>(list[k]), "no such node");
      node[k] = static_cast<Index>(list[k]);
      for (std::size_t i = 0; i < k; ++i) {
        if (node[i] == node[k]) {
          throw FieldError("place", k, static_cast<long long>(list[k]), "named twice");
        }
      }
    }
    return true;
  }
  void decide(const ClusterState& state, int pool, Answer& answer) override {
    const py::gil_scoped_acquire acquire;
    // Jobs that left have no target any more.
    for (const Index job : state.changed[pool]) {
      if (style_ == Style::kTargets && state.demand(job, pool).most == 0) answer.set(job, 0.0);
    }
    if (whole_) {
      decide_whole(state, pool, answer);
      return;
    }
    py::dict columns = demand_columns(state, pool);
    columns["pool"] = pool == 0 ? "map" : "reduce";
    columns["now"] = state.now;
    columns["slots"] = state.slots[pool];
    const auto jobs = columns["job"].cast<Integers>();
    if (jobs.size() == 0) return;
    const py::object given = self_.attr("decide")(columns);
    const auto values =
        py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(given);
    if (!values || values.ndim() != 1 || values.size() != jobs.size()) {
      throw std::invalid_argument("policy: needs one number for each of " +
                                  counted(view(jobs).size(), "job"));
    }
    check_answer(values);
    for (py::ssize_t k = 0; k < values.size(); ++k) {
      answer.set(static_cast<Index>(jobs.data()[k]), values.data()[k]);
    }
  }
  Choice choose(const ClusterState& state, Index node, int pool) override {
    const py::gil_scoped_acquire acquire;
    const py::object choice = self_.attr("choose")(live(state), node, pool);
    if (choice.is_none()) return {};
    const auto [job, phase] = choice.cast<std::pair<Index, int>>();
    if (phase != 0 && phase != 1) throw std::invalid_argument("choose: phase must be 0 or 1");
    return {job, static_cast<Phase>(phase)};
  }

 private:
  using Values = py::array_t<double, py::array::c_style | py::array::forcecast>;

  void check_answer(const Values& values) const {
    for (py::ssize_t k = 0; k < values.size(); ++k) {
      const double value = values.data()[k];
      if (std::isnan(value) || (style_ == Style::kTargets && !(value >= 0.0 && value < 1e300))) {
        throw FieldError(
            "policy's answer", static_cast<std::size_t>(k), value,
            style_ == Style::kTargets ? "must be finite and at least 0" : "must be a number");
      }
    }
  }
  // Slots of each present job, or of its maps and its reduces.
  void decide_whole(const ClusterState& state, int pool, Answer& answer) const {
    if (state.present.empty()) return;
    const py::object given = self_.attr("decide")(state_columns(state), state.now);
    const auto values = Values::ensure(given);
    const auto count = static_cast<py::ssize_t>(state.present.size());
    const bool pairs = values && values.ndim() == 2 && !state.cluster.generic &&
                       values.shape(0) == count && values.shape(1) == 2;
    if (!pairs && !(values && values.ndim() == 1 && values.size() == count)) {
      throw std::invalid_argument("policy: needs one number for each of " +
                                  counted(state.present.size(), "job"));
    }
    check_answer(values);
    for (py::ssize_t k = 0; k < count; ++k) {
      const Index job = state.present[static_cast<std::size_t>(k)];
      if (state.demand(job, pool).most == 0) continue;
      answer.set(job, values.data()[pairs ? 2 * k + pool : k]);
    }
  }
  static py::object live(const ClusterState& state) {
    return py::cast(&state, py::return_value_policy::reference);
  }
  template <typename... Arguments>
  void call(const char* name, const ClusterState& state, Arguments... arguments) {
    const py::gil_scoped_acquire acquire;
    if (py::hasattr(self_, name)) self_.attr(name)(live(state), arguments...);
  }

  py::object self_;
  Style style_;
  bool depends_, listens_, whole_;
};

}  // namespace

void bind_cluster_policies(py::module_& module) {
  py::class_<ClusterState>(module, "ClusterState")
      .def_property_readonly("now", [](const ClusterState& s) { return s.now; })
      .def_property_readonly("present", [](const ClusterState& s) { return to_numpy(s.present); })
      .def_property_readonly("jobs", [](const ClusterState& s) { return s.jobs.size(); })
      .def_property_readonly("nodes", [](const ClusterState& s) { return s.cluster.size(); })
      .def_property_readonly(
          "slots", [](const ClusterState& s) { return std::pair(s.slots[0], s.slots[1]); })
      .def_property_readonly("size", [](const ClusterState& s) { return copy<double>(s.size); })
      .def_property_readonly("user",
                             [](const ClusterState& s) {
                               std::vector<std::int64_t> user(s.jobs.size());
                               for (Index job = 0; job < user.size(); ++job) {
                                 user[job] = static_cast<std::int64_t>(s.jobs.user_of(job));
                               }
                               return to_numpy(std::move(user));
                             })
      .def_property_readonly(
          "user_running", [](const ClusterState& s) { return copy<std::int64_t>(s.user_running); })
      .def_property_readonly(
          "total", [](const py::object& s) { return phase_column(s, &PhaseState::total); })
      .def_property_readonly(
          "waiting", [](const py::object& s) { return phase_column(s, &PhaseState::waiting); })
      .def_property_readonly(
          "running", [](const py::object& s) { return phase_column(s, &PhaseState::running); })
      .def_property_readonly(
          "finished", [](const py::object& s) { return phase_column(s, &PhaseState::finished); })
      .def_property_readonly(
          "estimate", [](const py::object& s) { return phase_column(s, &PhaseState::estimate); })
      .def_property_readonly(
          "ready", [](const py::object& s) { return phase_column(s, &PhaseState::ready); })
      .def(
          "eligible",
          [](const ClusterState& s, Index job, int phase) {
            return s.eligible(job, phase == 0 ? kMap : kReduce);
          },
          py::arg("job"), py::arg("phase"))
      .def(
          "local",
          [](const ClusterState& s, Index job, Index node) {
            return s.blocks.has_blocks(job) && s.blocks.find(job, node) != kNone;
          },
          py::arg("job"), py::arg("node"))
      .def("demand", &demand_columns, py::arg("pool"));

  py::class_<BoundPolicy>(module, "ClusterPolicy");
  module.def(
      "cluster_policy",
      [](const std::string& name, bool is_max, std::int64_t kind, const py::dict& options,
         bool by_user, bool generic, std::vector<double> exponents,
         std::vector<std::int64_t> useful) {
        return std::make_unique<BoundPolicy>(make_cluster_policy(
            name, read_options<PolicyOptions>(options), aggregate_of(is_max), kind_of(kind),
            by_user, generic, std::move(exponents), std::move(useful)));
      },
      py::arg("name"), py::arg("is_max"), py::arg("kind"), py::arg("options"), py::arg("by_user"),
      py::arg("generic"), py::arg("exponents"), py::arg("useful"));
  py::class_<Bound<PyClusterPolicy>, BoundPolicy>(module, "ClusterCallback")
      .def(py::init<py::object, const std::string&, bool, bool, bool>(), py::arg("policy"),
           py::arg("style"), py::arg("depends_on_time"), py::arg("listens"), py::arg("whole"));
  // A compiled policy by its address; the object that owns the function stays alive.
  py::class_<Bound<CompiledPolicy>, BoundPolicy>(module, "CompiledPolicy")
      .def(py::init([](std::uintptr_t address, bool depends_on_time, const py::object&) {
             return std::make_unique<Bound<CompiledPolicy>>(
                 reinterpret_cast<malleable_policy>(address), depends_on_time);
           }),
           py::keep_alive<1, 4>(), py::arg("address"), py::arg("depends_on_time"),
           py::arg("owner"));
}

}  // namespace malleable::bindings
