#include <pybind11/stl.h>

#include <cmath>

#include "arrays.hpp"
#include "malleable/model/error.hpp"
#include "malleable/policy/adaptive_epoch.hpp"
#include "malleable/policy/cluster_adaptive.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

// A Python function that solves the programs; called with the GIL held, whoever runs.
ClassMatcher matcher_of(py::object solve) {
  const std::shared_ptr<py::object> function(new py::object(std::move(solve)), [](py::object* p) {
    const py::gil_scoped_acquire acquire;
    delete p;
  });
  return [function](std::span<const double> arrival, std::span<const double> execution,
                    std::span<const double> nodes) {
    const py::gil_scoped_acquire acquire;
    const auto rows = static_cast<py::ssize_t>(arrival.size());
    const auto columns = static_cast<py::ssize_t>(nodes.size());
    const Doubles given =
        (*function)(copy<double>(arrival), copy<double>(execution).reshape({rows, columns}),
                    copy<double>(nodes))
            .cast<Doubles>();
    return std::vector<double>(given.data(), given.data() + given.size());
  };
}

AdaptiveOptions options_of(const py::dict& given) {
  AdaptiveOptions options;
  options.by_slots = given["by_slots"].cast<bool>();
  options.fallback = given["fallback"].cast<bool>();
  options.guard = given["guard"].cast<double>();
  options.threshold = given["threshold"].cast<double>();
  options.memory = given["memory"].cast<double>();
  options.max_wait = given["max_wait"].cast<double>();
  options.patience = given["patience"].cast<double>();
  return options;
}

py::dict matching_of(const Adaptive& scheduler, double now) {
  const auto classes = static_cast<py::ssize_t>(scheduler.classes());
  const auto types = static_cast<py::ssize_t>(scheduler.resources());
  std::vector<double> arrival[2], execution, share[2];
  for (Index c = 0; c < classes; ++c) {
    for (const int which : {0, 1}) {
      arrival[which].push_back(scheduler.arrival_rate(c, now, which == 0));
    }
    for (Index r = 0; r < types; ++r) {
      execution.push_back(scheduler.execution_rate(c, r));
      for (const int which : {0, 1}) share[which].push_back(scheduler.share(which, c, r));
    }
  }
  py::dict d;
  d["solves"] = scheduler.solves();
  d["minimum_arrival_rates"] = to_numpy(std::move(arrival[0]));
  d["arrival_rates"] = to_numpy(std::move(arrival[1]));
  d["execution_rates"] = to_numpy(std::move(execution)).reshape({classes, types});
  d["minimum_share"] = to_numpy(std::move(share[0])).reshape({classes, types});
  d["share"] = to_numpy(std::move(share[1])).reshape({classes, types});
  return d;
}

// Checks everything before anything changes.
class PyAdaptiveEpoch {
 public:
  PyAdaptiveEpoch(const Integers& map_slots, const Integers& reduce_slots, const Integers& resource,
                  bool generic, const py::dict& options, py::object solve)
      : epoch_(scheduler_of(map_slots, reduce_slots, resource, generic, options, std::move(solve)),
               sum(map_slots, reduce_slots), generic) {}

  std::int64_t add_user(double minimum, double priority) {
    return epoch_.scheduler().add_user(minimum, priority);
  }
  std::int64_t add_class() { return epoch_.scheduler().add_class(); }

  // Rows of `seconds`: a job's maps on every resource, then its reduces. Checked by Python's side.
  Integers add(const Integers& job_class, const Integers& user, double now, const Integers& maps,
               const Integers& reduces, const Doubles& seconds) {
    std::vector<std::int64_t> ids;
    const std::size_t row = 2 * epoch_.scheduler().resources();
    {
      const py::gil_scoped_release release;
      for (py::ssize_t k = 0; k < maps.size(); ++k) {
        const std::int64_t tasks[2] = {maps.data()[k], reduces.data()[k]};
        const std::span<const double> own(seconds.data() + static_cast<std::size_t>(k) * row, row);
        ids.push_back(epoch_.add(static_cast<Index>(job_class.data()[k]),
                                 static_cast<Index>(user.data()[k]), now, tasks, own));
      }
    }
    return to_numpy(std::move(ids));
  }

  void set_blocks(std::int64_t id, const Integers& nodes) {
    check_id("ids", 0, id);
    const auto job = static_cast<Index>(id);
    const std::int64_t tasks = epoch_.total(job, kMap);
    const bool shaped = nodes.ndim() == 2 && nodes.shape(0) == tasks && nodes.shape(1) > 0;
    if (!shaped) {
      throw std::invalid_argument("blocks: needs one row for each of " + std::to_string(tasks) +
                                  " map tasks, and a copy at least");
    }
    if (epoch_.waiting(job, kMap) < tasks || epoch_.has_blocks(job)) {
      throw std::invalid_argument("blocks: job " + std::to_string(id) +
                                  " has started map tasks, or blocks");
    }
    check_nodes("blocks", nodes);
    std::vector<Index> places(nodes.data(), nodes.data() + nodes.size());
    epoch_.set_blocks(job, static_cast<std::size_t>(nodes.shape(1)), places);
  }

  void set_waiting(const Integers& ids, int phase, const Integers& tasks, double now) {
    const Phase p = phase_of(phase);
    check_ids(ids);
    check_length("tasks", tasks, ids);
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      const auto job = static_cast<Index>(ids.data()[k]);
      const std::int64_t most =
          epoch_.total(job, p) - epoch_.running(job, p) - epoch_.finished(job, p);
      if (tasks.data()[k] < 0 || tasks.data()[k] > most) {
        throw FieldError("tasks", static_cast<std::size_t>(k),
                         static_cast<long long>(tasks.data()[k]),
                         "must be from 0 to the tasks that neither run nor have ended");
      }
    }
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      epoch_.set_waiting(static_cast<Index>(ids.data()[k]), p, tasks.data()[k], now);
    }
  }

  void finish(const Integers& ids, const Integers& phases, const Integers& nodes,
              const Integers& tasks, const Doubles& seconds, const Array<std::uint8_t>& done,
              double now) {
    check_ids(ids);
    check_length("phase", phases, ids);
    check_length("node", nodes, ids);
    check_length("task", tasks, ids);
    check_length("seconds", seconds, ids);
    check_length("done", done, ids);
    check_nodes("node", nodes);
    std::vector<std::int64_t> ending(2 * epoch_.scheduler().jobs(), 0);
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      const auto row = static_cast<std::size_t>(k);
      const auto job = static_cast<Index>(ids.data()[k]);
      const Phase p = phase_of(static_cast<int>(phases.data()[k]));
      if (!(std::isfinite(seconds.data()[k]) && seconds.data()[k] >= 0.0)) {
        throw FieldError("seconds", row, seconds.data()[k], "must be finite and at least 0");
      }
      if (++ending[2 * job + p] > epoch_.running(job, p)) {
        throw FieldError("ids", row, static_cast<long long>(job), "runs no such task");
      }
      const bool numbered = p == kMap && epoch_.has_blocks(job) && done.data()[k] == 0;
      if (numbered && (tasks.data()[k] < 0 || tasks.data()[k] >= epoch_.total(job, kMap))) {
        throw FieldError("task", row, static_cast<long long>(tasks.data()[k]), "no such task");
      }
    }
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      epoch_.finish(static_cast<Index>(ids.data()[k]), static_cast<Phase>(phases.data()[k]),
                    static_cast<Index>(nodes.data()[k]), static_cast<Index>(tasks.data()[k]),
                    seconds.data()[k], done.data()[k] != 0, now);
    }
  }

  void remove(const Integers& ids) {
    check_ids(ids);
    for (py::ssize_t k = 0; k < ids.size(); ++k) epoch_.remove(static_cast<Index>(ids.data()[k]));
  }

  py::dict decide(double now, const Integers& free_map, const Integers& free_reduce) {
    check_free("free_map_slots", free_map);
    check_free("free_reduce_slots", free_reduce);
    {
      const py::gil_scoped_release release;
      const std::span<const std::int64_t> free[2] = {view(free_map), view(free_reduce)};
      epoch_.decide(now, free, starts_);
    }
    py::dict d;
    d["ids"] = copy<std::int64_t>(starts_.job);
    d["phase"] = copy<std::int64_t>(starts_.phase);
    d["task"] = copy<std::int64_t>(starts_.task);
    d["node"] = copy<std::int64_t>(starts_.node);
    return d;
  }

  Integers place(std::int64_t id, py::ssize_t blocks, py::ssize_t copies) {
    check_id("ids", 0, id);
    std::vector<Index> own(static_cast<std::size_t>(copies));
    std::vector<std::int64_t> nodes;
    for (py::ssize_t t = 0; t < blocks; ++t) {
      epoch_.scheduler().place(epoch_.scheduler().class_of(static_cast<Index>(id)), own);
      nodes.insert(nodes.end(), own.begin(), own.end());
    }
    return to_numpy(std::move(nodes)).reshape({blocks, copies});
  }

  void match(double now) { epoch_.scheduler().match(now, true); }
  py::dict matching(double now) const { return matching_of(epoch_.scheduler(), now); }

  py::dict counts(const Integers& ids) const {
    check_ids(ids);
    py::dict d;
    for (const Phase p : {kMap, kReduce}) {
      std::vector<std::int64_t> waiting, running, finished;
      for (py::ssize_t k = 0; k < ids.size(); ++k) {
        const auto job = static_cast<Index>(ids.data()[k]);
        waiting.push_back(epoch_.waiting(job, p));
        running.push_back(epoch_.running(job, p));
        finished.push_back(epoch_.finished(job, p));
      }
      const std::string name = p == kMap ? "map_" : "reduce_";
      d[py::str(name + "waiting")] = to_numpy(std::move(waiting));
      d[py::str(name + "running")] = to_numpy(std::move(running));
      d[py::str(name + "finished")] = to_numpy(std::move(finished));
    }
    return d;
  }

 private:
  static std::vector<std::int64_t> sum(const Integers& a, const Integers& b) {
    std::vector<std::int64_t> both(a.data(), a.data() + a.size());
    for (py::ssize_t k = 0; k < b.size(); ++k) both[static_cast<std::size_t>(k)] += b.data()[k];
    return both;
  }
  static Adaptive scheduler_of(const Integers& map_slots, const Integers& reduce_slots,
                               const Integers& resource, bool generic, const py::dict& options,
                               py::object solve) {
    std::vector<AdaptiveResource> resources;
    std::vector<Index> member;
    for (py::ssize_t n = 0; n < resource.size(); ++n) {
      const auto r = static_cast<std::size_t>(resource.data()[n]);
      if (r >= resources.size()) resources.resize(r + 1);
      ++resources[r].nodes;
      resources[r].slots[0] = map_slots.data()[n];
      resources[r].slots[1] = reduce_slots.data()[n];
      member.push_back(static_cast<Index>(r));
    }
    return Adaptive(std::move(resources), std::move(member), generic, {}, {}, options_of(options),
                    matcher_of(std::move(solve)));
  }
  static Phase phase_of(int phase) {
    if (phase != 0 && phase != 1) {
      throw std::invalid_argument("phase = " + std::to_string(phase) +
                                  ": must be 0 (map) or 1 (reduce)");
    }
    return static_cast<Phase>(phase);
  }
  void check_id(const char* field, std::size_t row, std::int64_t id) const {
    const bool known = id >= 0 && id < static_cast<std::int64_t>(kInvalidIndexStart) &&
                       epoch_.scheduler().has_job(static_cast<Index>(id));
    if (!known) throw FieldError(field, row, static_cast<long long>(id), "no such job");
  }
  void check_ids(const Integers& ids) const {
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      check_id("ids", static_cast<std::size_t>(k), ids.data()[k]);
    }
  }
  template <typename Column>
  static void check_length(const char* field, const Column& column, const Integers& ids) {
    if (column.size() == ids.size()) return;
    throw std::invalid_argument(std::string(field) + " has " + std::to_string(column.size()) +
                                " entries but ids has " + std::to_string(ids.size()));
  }
  void check_nodes(const char* field, const Integers& nodes) const {
    for (py::ssize_t k = 0; k < nodes.size(); ++k) {
      if (nodes.data()[k] >= 0 && nodes.data()[k] < static_cast<std::int64_t>(epoch_.nodes())) {
        continue;
      }
      throw FieldError(field, static_cast<std::size_t>(k), static_cast<long long>(nodes.data()[k]),
                       "no such node");
    }
  }
  void check_free(const char* field, const Integers& free) const {
    if (static_cast<std::size_t>(free.size()) != epoch_.nodes()) {
      throw std::invalid_argument(std::string(field) + " has " + std::to_string(free.size()) +
                                  " entries, expected " + std::to_string(epoch_.nodes()));
    }
    for (py::ssize_t k = 0; k < free.size(); ++k) {
      if (free.data()[k] < 0) {
        throw FieldError(field, static_cast<std::size_t>(k), static_cast<long long>(free.data()[k]),
                         "must be at least 0");
      }
    }
  }

  static constexpr std::int64_t kInvalidIndexStart = Adaptive::kNobody;

  AdaptiveEpoch epoch_;
  TaskStarts starts_;
};

}  // namespace

void bind_adaptive(py::module_& module) {
  py::class_<ClusterAdaptive, ClusterPolicy>(module, "ClusterAdaptive")
      .def(py::init([](const py::dict& options, py::object solve, bool grouped, bool placement) {
             return ClusterAdaptive(options_of(options), matcher_of(std::move(solve)), grouped,
                                    placement);
           }),
           py::arg("options"), py::arg("solve"), py::arg("grouped"), py::arg("placement"))
      .def(
          "matching",
          [](const ClusterAdaptive& p, double now) { return matching_of(p.scheduler(), now); },
          py::arg("now"));

  py::class_<PyAdaptiveEpoch>(module, "AdaptiveEpoch")
      .def(py::init<const Integers&, const Integers&, const Integers&, bool, const py::dict&,
                    py::object>(),
           py::arg("map_slots"), py::arg("reduce_slots"), py::arg("resource"), py::arg("generic"),
           py::arg("options"), py::arg("solve"))
      .def("add_user", &PyAdaptiveEpoch::add_user, py::arg("minimum"), py::arg("priority"))
      .def("add_class", &PyAdaptiveEpoch::add_class)
      .def("add", &PyAdaptiveEpoch::add, py::arg("job_class"), py::arg("user"), py::arg("now"),
           py::arg("maps"), py::arg("reduces"), py::arg("seconds"))
      .def("set_blocks", &PyAdaptiveEpoch::set_blocks, py::arg("id"), py::arg("nodes"))
      .def("set_waiting", &PyAdaptiveEpoch::set_waiting, py::arg("ids"), py::arg("phase"),
           py::arg("tasks"), py::arg("now"))
      .def("finish", &PyAdaptiveEpoch::finish, py::arg("ids"), py::arg("phase"), py::arg("node"),
           py::arg("task"), py::arg("seconds"), py::arg("done"), py::arg("now"))
      .def("remove", &PyAdaptiveEpoch::remove, py::arg("ids"))
      .def("decide", &PyAdaptiveEpoch::decide, py::arg("now"), py::arg("free_map_slots"),
           py::arg("free_reduce_slots"))
      .def("place", &PyAdaptiveEpoch::place, py::arg("id"), py::arg("blocks"), py::arg("copies"))
      .def("match", &PyAdaptiveEpoch::match, py::arg("now"))
      .def("matching", &PyAdaptiveEpoch::matching, py::arg("now"))
      .def("counts", &PyAdaptiveEpoch::counts, py::arg("ids"));
}

}  // namespace malleable::bindings
