#include <pybind11/stl.h>

#include <cassert>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "arrays.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/named_rows.hpp"
#include "malleable/policy/adaptive_epoch.hpp"
#include "malleable/policy/cluster_adaptive.hpp"
#include "policies.hpp"
#include "saved_state.hpp"

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
      : solve_(std::move(solve)),
        epoch_(scheduler_of(map_slots, reduce_slots, resource, generic, options, solve_),
               sum(map_slots, reduce_slots), generic) {}
  explicit PyAdaptiveEpoch(py::object solve)
      : solve_(std::move(solve)),
        epoch_(Adaptive({}, {}, false, {}, {}, {}, matcher_of(solve_)), {}, false) {}

  std::int64_t add_user(double minimum, double priority) {
    const Turn turn(busy_);
    return epoch_.scheduler().add_user(minimum, priority);
  }
  std::int64_t add_class() {
    const Turn turn(busy_);
    return epoch_.scheduler().add_class();
  }

  // Rows of `seconds`: a job's maps on every resource, then its reduces. Checked by Python's side.
  Integers add(const Integers& job_class, const Integers& user, double now, const Integers& maps,
               const Integers& reduces, const Doubles& seconds) {
    const Turn turn(busy_);
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

  // Python's side has checked the nodes.
  void set_blocks(std::int64_t id, const Integers& nodes) {
    const Turn turn(busy_);
    check_id(id);
    const auto job = static_cast<Index>(id);
    const std::int64_t tasks = epoch_.total(job, kMap);
    assert(nodes.ndim() == 2 && nodes.shape(0) == tasks && nodes.shape(1) > 0);
    if (epoch_.waiting(job, kMap) < tasks || epoch_.has_blocks(job)) {
      throw std::invalid_argument("job_id = " + std::to_string(id) +
                                  ": has started map tasks, or blocks");
    }
    std::vector<Index> places(nodes.data(), nodes.data() + nodes.size());
    epoch_.set_blocks(job, static_cast<std::size_t>(nodes.shape(1)), places);
  }

  // Of both phases, or of one.
  void set_waiting(const Integers& ids, const std::optional<Integers>& maps,
                   const std::optional<Integers>& reduces, double now) {
    const Turn turn(busy_);
    check_ids(ids);
    const std::optional<Integers>* given[2] = {&maps, &reduces};
    for (const Phase p : {kMap, kReduce}) {
      if (*given[p]) check_waiting(p == kMap ? "maps" : "reduces", ids, p, **given[p]);
    }
    for (const Phase p : {kMap, kReduce}) {
      for (py::ssize_t k = 0; *given[p] && k < ids.size(); ++k) {
        epoch_.set_waiting(static_cast<Index>(ids.data()[k]), p, (*given[p])->data()[k], now);
      }
    }
  }

  void finish(const Integers& ids, const Integers& phases, const Integers& nodes,
              const Integers& tasks, const Doubles& seconds, const Array<std::uint8_t>& done,
              double now) {
    const Turn turn(busy_);
    for (py::ssize_t k = 0; k < ids.size(); ++k) {  // several tasks of one job may end
      if (!known(ids.data()[k])) {
        throw FieldError("ids", static_cast<std::size_t>(k), static_cast<long long>(ids.data()[k]),
                         "no such job");
      }
    }
    const std::size_t count = view(ids).size();
    check_length("phase", view(phases).size(), count, "ids");
    check_length("node", view(nodes).size(), count, "ids");
    check_length("task", view(tasks).size(), count, "ids");
    check_length("seconds", view(seconds).size(), count, "ids");
    check_length("done", view(done).size(), count, "ids");
    check_nodes("node", nodes);
    check_amounts("seconds", view(seconds), kWorkRange);
    std::vector<std::int64_t> ending(2 * epoch_.scheduler().jobs(), 0);
    std::set<std::pair<Index, std::int64_t>> again;  // tasks that wait once more
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      const auto row = static_cast<std::size_t>(k);
      const auto job = static_cast<Index>(ids.data()[k]);
      if (phases.data()[k] != kMap && phases.data()[k] != kReduce) {
        throw FieldError("phase", row, static_cast<long long>(phases.data()[k]),
                         "must be 0 (map) or 1 (reduce)");
      }
      const auto p = static_cast<Phase>(phases.data()[k]);
      if (++ending[2 * job + p] > epoch_.running(job, p)) {
        throw FieldError("ids", row, static_cast<long long>(job), "runs no such task");
      }
      const bool numbered = p == kMap && epoch_.has_blocks(job) && done.data()[k] == 0;
      if (!numbered) continue;
      const std::int64_t task = tasks.data()[k];
      const bool started = task >= 0 && task < epoch_.total(job, kMap) &&
                           epoch_.started(job, static_cast<Index>(task));
      if (!started) throw FieldError("task", row, static_cast<long long>(task), "runs not");
      if (!again.insert({job, task}).second) {
        throw FieldError("task", row, static_cast<long long>(task), "named twice");
      }
    }
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      epoch_.finish(static_cast<Index>(ids.data()[k]), static_cast<Phase>(phases.data()[k]),
                    static_cast<Index>(nodes.data()[k]), static_cast<Index>(tasks.data()[k]),
                    seconds.data()[k], done.data()[k] != 0, now);
    }
  }

  void remove(const Integers& ids) {
    const Turn turn(busy_);
    check_ids(ids);
    for (py::ssize_t k = 0; k < ids.size(); ++k) epoch_.remove(static_cast<Index>(ids.data()[k]));
  }

  py::dict decide(double now, const Integers& free_map, const Integers& free_reduce) {
    const Turn turn(busy_);
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
    const Turn turn(busy_);
    check_id(id);
    std::vector<Index> own(static_cast<std::size_t>(copies));
    std::vector<std::int64_t> nodes;
    for (py::ssize_t t = 0; t < blocks; ++t) {
      epoch_.scheduler().place(epoch_.scheduler().class_of(static_cast<Index>(id)), own);
      nodes.insert(nodes.end(), own.begin(), own.end());
    }
    return to_numpy(std::move(nodes)).reshape({blocks, copies});
  }

  std::int64_t maps(std::int64_t id) const {
    const Turn turn(busy_);
    check_id(id);
    return epoch_.total(static_cast<Index>(id), kMap);
  }

  void match(double now) {
    const Turn turn(busy_);
    epoch_.scheduler().match(now, true);
  }
  py::dict matching(double now) const {
    const Turn turn(busy_);
    return matching_of(epoch_.scheduler(), now);
  }

  // The solver stands beside the bytes.
  py::object solve() const { return solve_; }
  std::string save() { return saved("AdaptiveEpoch", epoch_, busy_); }
  static std::unique_ptr<PyAdaptiveEpoch> load(const py::bytes& bytes, py::object solve) {
    auto made = std::make_unique<PyAdaptiveEpoch>(std::move(solve));
    restore("AdaptiveEpoch", bytes, made->epoch_);
    return made;
  }

  py::dict counts(const Integers& ids) {
    const Turn turn(busy_);
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
                               const py::object& solve) {
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
                    matcher_of(solve));
  }
  bool known(std::int64_t id) const {
    return id >= 0 && id < static_cast<std::int64_t>(kInvalidIndexStart) &&
           epoch_.scheduler().has_job(static_cast<Index>(id));
  }
  void check_id(std::int64_t id) const {
    if (known(id)) return;
    throw std::invalid_argument("job_id = " + std::to_string(id) + ": no such job");
  }
  // Each named once.
  void check_ids(const Integers& ids) {
    named_.of(view(ids), epoch_.scheduler().jobs(), [this](std::int64_t id) {
      return known(id) ? static_cast<Index>(id) : NamedRows::kNone;
    });
  }
  void check_waiting(const char* field, const Integers& ids, Phase p, const Integers& tasks) const {
    check_length(field, view(tasks).size(), view(ids).size(), "ids");
    for (py::ssize_t k = 0; k < ids.size(); ++k) {
      const auto job = static_cast<Index>(ids.data()[k]);
      const std::int64_t most =
          epoch_.total(job, p) - epoch_.running(job, p) - epoch_.finished(job, p);
      if (tasks.data()[k] < 0 || tasks.data()[k] > most) {
        throw FieldError(
            field, static_cast<std::size_t>(k), static_cast<long long>(tasks.data()[k]),
            "must be from 0 to the tasks that neither run nor have ended, " + std::to_string(most));
      }
    }
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
    check_length(field, view(free).size(), epoch_.nodes());
    for (py::ssize_t k = 0; k < free.size(); ++k) {
      if (free.data()[k] < 0) {
        throw FieldError(field, static_cast<std::size_t>(k), static_cast<long long>(free.data()[k]),
                         "must be at least 0");
      }
    }
  }

  static constexpr std::int64_t kInvalidIndexStart = Adaptive::kNobody;

  py::object solve_;
  AdaptiveEpoch epoch_;
  TaskStarts starts_;
  NamedRows named_;
  Busy busy_;
};

}  // namespace

void bind_adaptive(py::module_& module) {
  using BoundAdaptive = Bound<ClusterAdaptive>;
  py::class_<BoundAdaptive, BoundPolicy>(module, "ClusterAdaptive")
      .def(py::init([](const py::dict& options, py::object solve, bool grouped, bool placement) {
             return std::make_unique<BoundAdaptive>(
                 options_of(options), matcher_of(std::move(solve)), grouped, placement);
           }),
           py::arg("options"), py::arg("solve"), py::arg("grouped"), py::arg("placement"))
      .def(
          "matching",
          [](const BoundAdaptive& p, double now) {
            const Turn turn(p.busy);
            return matching_of(p.get().scheduler(), now);
          },
          py::arg("now"));

  py::class_<PyAdaptiveEpoch> epoch(module, "AdaptiveEpoch");
  bind_equal(epoch);
  epoch
      .def(py::pickle(
          [](PyAdaptiveEpoch& self) {
            return py::make_tuple(self.solve(), py::bytes(self.save()));
          },
          [](const py::tuple& saved) {
            if (saved.size() != 2) throw std::invalid_argument("state: of no AdaptiveEpoch");
            return PyAdaptiveEpoch::load(saved[1].cast<py::bytes>(), saved[0]);
          }))
      .def(py::init<const Integers&, const Integers&, const Integers&, bool, const py::dict&,
                    py::object>(),
           py::arg("map_slots"), py::arg("reduce_slots"), py::arg("resource"), py::arg("generic"),
           py::arg("options"), py::arg("solve"))
      .def("add_user", &PyAdaptiveEpoch::add_user, py::arg("minimum"), py::arg("priority"))
      .def("add_class", &PyAdaptiveEpoch::add_class)
      .def("add", &PyAdaptiveEpoch::add, py::arg("job_class"), py::arg("user"), py::arg("now"),
           py::arg("maps"), py::arg("reduces"), py::arg("seconds"))
      .def("set_blocks", &PyAdaptiveEpoch::set_blocks, py::arg("id"), py::arg("nodes"))
      .def("set_waiting", &PyAdaptiveEpoch::set_waiting, py::arg("ids"), py::arg("maps"),
           py::arg("reduces"), py::arg("now"))
      .def("finish", &PyAdaptiveEpoch::finish, py::arg("ids"), py::arg("phase"), py::arg("node"),
           py::arg("task"), py::arg("seconds"), py::arg("done"), py::arg("now"))
      .def("remove", &PyAdaptiveEpoch::remove, py::arg("ids"))
      .def("decide", &PyAdaptiveEpoch::decide, py::arg("now"), py::arg("free_map_slots"),
           py::arg("free_reduce_slots"))
      .def("place", &PyAdaptiveEpoch::place, py::arg("id"), py::arg("blocks"), py::arg("copies"))
      .def("maps", &PyAdaptiveEpoch::maps, py::arg("id"))
      .def("match", &PyAdaptiveEpoch::match, py::arg("now"))
      .def("matching", &PyAdaptiveEpoch::matching, py::arg("now"))
      .def("counts", &PyAdaptiveEpoch::counts, py::arg("ids"));
}

}  // namespace malleable::bindings
