#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "malleable/embed/handle.hpp"
#include "malleable/policy/adaptive_epoch.hpp"
#include "malleable/policy/cluster_adaptive.hpp"
#include "policies.hpp"
#include "saved_state.hpp"
#include "tables.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;
using Wholes = Column<std::int64_t>;

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

class PyAdaptiveEpoch {
 public:
  using Users = std::vector<std::pair<double, double>>;  // minimum and priority
  // Columns of the resources, and the resource of each node.
  PyAdaptiveEpoch(const Integers& map_slots, const Integers& reduce_slots, const Doubles& rate,
                  const Doubles& storage, const Integers& resource, bool generic,
                  const Users& users, const py::dict& options, py::object solve)
      : solve_(std::move(solve)),
        epoch_(scheduler_of(map_slots, reduce_slots, rate, storage, resource, generic, users,
                            options, solve_),
               view(resource).size(), generic) {}
  explicit PyAdaptiveEpoch(py::object solve)
      : solve_(std::move(solve)),
        epoch_(Adaptive({}, {}, false, {}, {}, {}, matcher_of(solve_)), 0, false) {}

  // `users` and `classes` are new; `blocks`: an array (maps, copies) or None for each job, or None.
  Integers add(const Users& users, std::size_t classes, const py::dict& columns,
               const std::optional<std::vector<std::optional<Integers>>>& blocks) {
    const Given<AdaptiveEpoch::Additions> given(columns);
    AdaptiveEpoch::Additions jobs = given.view();
    std::vector<AdaptiveEpoch::Person> people;
    for (const auto& [minimum, priority] : users) people.push_back({minimum, priority});
    std::vector<AdaptiveEpoch::Blocks> places;
    if (blocks) {
      for (const auto& each : *blocks) places.push_back(each ? blocks_of(*each) : no_blocks());
    }
    jobs.new_users = people;
    jobs.new_classes = classes;
    jobs.blocks = places;
    std::vector<std::int64_t> ids(jobs.maps.size());
    {
      const Turn turn(busy_);
      const py::gil_scoped_release release;
      epoch_.add(jobs, ids);
    }
    return to_numpy(std::move(ids));
  }

  void set_blocks(std::int64_t id, const Integers& nodes) {
    const Turn turn(busy_);
    epoch_.set_blocks(id, blocks_of(nodes), "nodes");
  }

  void update(const py::object& ids, const py::dict& columns) {
    const Wholes rows(ids);
    const Given<AdaptiveEpoch::Changes> changes(columns, rows.needed().get().size());
    const Turn turn(busy_);
    epoch_.update(rows.get(), changes.view());
  }

  void ended(const py::dict& columns) {
    const Given<AdaptiveEpoch::Ended> tasks(columns);
    const Turn turn(busy_);
    epoch_.ended(tasks.view());
  }

  void remove(const py::object& ids) {
    const Wholes rows(ids);
    rows.needed();
    const Turn turn(busy_);
    epoch_.remove(rows.get());
  }

  // (ids, slots by phase, changed, bounds, (ids, phase, task, node) of the starts)
  py::tuple decide(double now, const Integers& free_map, const Integers& free_reduce) {
    const Turn turn(busy_);
    std::span<const AdaptiveEpoch::Row> rows;
    {
      const py::gil_scoped_release release;
      const std::span<const std::int64_t> free[2] = {view(free_map), view(free_reduce)};
      rows = epoch_.decide(now, free, starts_);
    }
    const auto count = static_cast<py::ssize_t>(rows.size());
    Integers ids(count), slots({count, py::ssize_t{2}});
    Array<bool> changed(count);
    Array<std::uint8_t> bound({count, py::ssize_t{2}});
    // Looked up once: each look checks the array.
    auto *ids_at = ids.mutable_data(), *slots_at = slots.mutable_data();
    auto* changed_at = changed.mutable_data();
    auto* bound_at = bound.mutable_data();
    for (py::ssize_t k = 0; k < count; ++k) {
      const AdaptiveEpoch::Row& row = rows[static_cast<std::size_t>(k)];
      ids_at[k] = row.id;
      changed_at[k] = row.changed;
      for (const Phase p : {kMap, kReduce}) {
        slots_at[2 * k + p] = row.slots[p];
        bound_at[2 * k + p] = static_cast<std::uint8_t>(row.bound[p]);
      }
    }
    return py::make_tuple(
        ids, slots, changed, bound,
        py::make_tuple(copy<std::int64_t>(starts_.job), copy<std::int64_t>(starts_.phase),
                       copy<std::int64_t>(starts_.task), copy<std::int64_t>(starts_.node)));
  }

  Integers place(std::int64_t id, py::ssize_t blocks, py::ssize_t copies) {
    const Turn turn(busy_);
    std::vector<Index> nodes(static_cast<std::size_t>(blocks * copies));
    epoch_.place(id, static_cast<std::size_t>(copies), nodes);
    return to_numpy(nodes).reshape({blocks, copies});
  }

  std::int64_t maps(std::int64_t id) const {
    const Turn turn(busy_);
    return epoch_.counts(id).total[kMap];
  }

  void match(double now) {
    const Turn turn(busy_);
    epoch_.match(now);
  }
  // At the latest time heard of, or another one.
  py::dict matching(std::optional<double> now) const {
    const Turn turn(busy_);
    return matching_of(epoch_.scheduler(), now.value_or(epoch_.now()));
  }
  std::uintptr_t handle() { return reinterpret_cast<std::uintptr_t>(&handle_); }
  std::size_t size() const {
    const Turn turn(busy_);
    return epoch_.size();
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
    const std::span<const Index> rows = epoch_.rows_of(view(ids));
    py::dict d;
    for (const Phase p : {kMap, kReduce}) {
      std::vector<std::int64_t> waiting, running, finished;
      for (const Index job : rows) {
        const AdaptiveEpoch::Counts& own = epoch_.counts_at(job);
        waiting.push_back(own.waiting[p]);
        running.push_back(own.running[p]);
        finished.push_back(own.finished[p]);
      }
      const std::string name = p == kMap ? "map_" : "reduce_";
      d[py::str(name + "waiting")] = to_numpy(std::move(waiting));
      d[py::str(name + "running")] = to_numpy(std::move(running));
      d[py::str(name + "finished")] = to_numpy(std::move(finished));
    }
    return d;
  }

 private:
  static AdaptiveEpoch::Blocks no_blocks() { return {}; }
  static AdaptiveEpoch::Blocks blocks_of(const Integers& nodes) {
    return {nodes.ndim() == 2 ? static_cast<std::size_t>(nodes.shape(1)) : 0, view(nodes)};
  }
  static Adaptive scheduler_of(const Integers& map_slots, const Integers& reduce_slots,
                               const Doubles& rate, const Doubles& storage,
                               const Integers& resource, bool generic, const Users& users,
                               const py::dict& options, const py::object& solve) {
    std::vector<AdaptiveResource> resources;
    for (std::size_t r = 0; r < view(rate).size(); ++r) {
      resources.push_back(
          {0, {view(map_slots)[r], view(reduce_slots)[r]}, view(rate)[r], view(storage)[r]});
    }
    std::vector<Index> member;
    for (const std::int64_t r : view(resource)) {
      ++resources[static_cast<std::size_t>(r)].nodes;
      member.push_back(static_cast<Index>(r));
    }
    std::vector<double> minimum, priority;
    for (const auto& [least, factor] : users) {
      minimum.push_back(least);
      priority.push_back(factor);
    }
    return Adaptive(std::move(resources), std::move(member), generic, minimum, priority,
                    options_of(options), matcher_of(solve));
  }

  py::object solve_;
  AdaptiveEpoch epoch_;
  TaskStarts starts_;
  Busy busy_;
  malleable_adaptive_epoch handle_{epoch_, busy_};
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
      .def(py::init<const Integers&, const Integers&, const Doubles&, const Doubles&,
                    const Integers&, bool, const PyAdaptiveEpoch::Users&, const py::dict&,
                    py::object>(),
           py::arg("map_slots"), py::arg("reduce_slots"), py::arg("rate"), py::arg("storage"),
           py::arg("resource"), py::arg("generic"), py::arg("users"), py::arg("options"),
           py::arg("solve"))
      .def("add", &PyAdaptiveEpoch::add, py::arg("users"), py::arg("classes"), py::arg("columns"),
           py::arg("blocks"))
      .def("set_blocks", &PyAdaptiveEpoch::set_blocks, py::arg("id"), py::arg("nodes"))
      .def("update", &PyAdaptiveEpoch::update, py::arg("ids"), py::arg("columns"))
      .def("ended", &PyAdaptiveEpoch::ended, py::arg("columns"))
      .def("finish", &PyAdaptiveEpoch::remove, py::arg("ids"))
      .def("remove", &PyAdaptiveEpoch::remove, py::arg("ids"))
      .def("decide", &PyAdaptiveEpoch::decide, py::arg("now"), py::arg("map_slots"),
           py::arg("reduce_slots"))
      .def("place", &PyAdaptiveEpoch::place, py::arg("id"), py::arg("blocks"), py::arg("copies"))
      .def("maps", &PyAdaptiveEpoch::maps, py::arg("id"))
      .def("match", &PyAdaptiveEpoch::match, py::arg("now"))
      .def("matching", &PyAdaptiveEpoch::matching, py::arg("now"))
      .def("counts", &PyAdaptiveEpoch::counts, py::arg("ids"))
      .def_property_readonly("handle", &PyAdaptiveEpoch::handle)
      .def("__len__", &PyAdaptiveEpoch::size);
}

}  // namespace malleable::bindings
