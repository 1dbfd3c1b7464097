// The scheduler of a cluster for Python: events in, decisions and task starts out.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "arrays.hpp"
#include "histories.hpp"
#include "malleable/scheduler/replay.hpp"
#include "malleable/scheduler/scheduler.hpp"
#include "named_columns.hpp"
#include "options.hpp"
#include "policies.hpp"
#include "saved_state.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

class PyScheduler {
 public:
  using People = std::vector<std::pair<double, double>>;  // minimum and priority

  PyScheduler(const py::dict& nodes, const People& users, const py::dict& options,
              py::object policy)
      : policy_(std::move(policy)) {
    BoundPolicy& bound = policy_.cast<BoundPolicy&>();
    const UseGuard guard(bound.busy);
    bound.serves = this;
    scheduler_ = std::make_unique<Scheduler>(
        nodes_of(nodes), people_of(users), read_options<SchedulerOptions>(options), *bound.policy);
  }
  PyScheduler(const PyScheduler&) = delete;
  PyScheduler& operator=(const PyScheduler&) = delete;

  // One thread at a time, and not after its policy has begun to serve another object.
  struct InUse {
    explicit InUse(const PyScheduler& self)
        : own(self.busy_), policy(self.policy_.cast<BoundPolicy&>().busy) {
      if (self.policy_.cast<BoundPolicy&>().serves == &self) return;
      throw std::runtime_error("the policy has begun with another object");
    }
    UseGuard own, policy;
  };
  // Everything that reads or changes the scheduler.
  template <typename Call>
  auto call(const Call& run) {
    const InUse held(*this);
    const py::gil_scoped_release release;
    return run(*scheduler_);
  }

  Integers add(const People& new_users, const py::dict& columns, double now) {
    std::vector<py::object> kept;
    const std::vector<Scheduler::Person> people = people_of(new_users);
    Scheduler::Additions jobs;
    jobs.new_users = people;
    jobs.parents = column<std::int64_t>(columns, "parents", kept);
    jobs.parents_offset = column<std::int64_t>(columns, "parents_offset", kept);
    ClusterJobsView::each(
        [&]<typename T>(const ClusterColumn& own, std::span<const T>& values) {
          if (own.read_by == ClusterColumn::ReadBy::kSimulation) return;
          values = column<T>(columns, own.name, kept, own.needed);
        },
        static_cast<ClusterJobsView&>(jobs));
    const auto ids = call([&](Scheduler& s) {
      const auto made = s.add(jobs, now);
      return std::vector<std::int64_t>(made.begin(), made.end());
    });
    return copy<std::int64_t>(ids);
  }

  std::int64_t tell(const std::string& what, const py::dict& columns, double now) {
    std::vector<py::object> kept;
    Scheduler::Tasks tasks;
    tasks.ids = column<std::int64_t>(columns, "ids", kept, true);
    tasks.phase = column<std::int64_t>(columns, "phase", kept, true);
    tasks.count = column<std::int64_t>(columns, "count", kept);
    tasks.node = column<std::int64_t>(columns, "node", kept);
    tasks.task = column<std::int64_t>(columns, "task", kept);
    tasks.seconds = column<double>(columns, "seconds", kept);
    tasks.copying = column<double>(columns, "copying", kept);
    return call([&](Scheduler& s) -> std::int64_t {
      if (what == "started") return s.started(tasks, now);
      if (what == "ended") return s.ended(tasks, now);
      if (what == "failed") return s.failed(tasks, now);
      if (what == "lost") return s.lost(tasks, now);
      s.ready(tasks.ids, tasks.phase, now);
      return 0;
    });
  }

  void observe(const Integers& ids, const py::dict& columns, double now) {
    std::vector<py::object> kept;
    Scheduler::Counts counts;
    counts.ids = view(ids);
    for (const Phase p : {kMap, kReduce}) {
      const auto read = [&](const char* name) {
        const std::string key = std::string(name) + (p == kMap ? "_maps" : "_reduces");
        return column<std::int64_t>(columns, key.c_str(), kept, true);
      };
      counts.pending[p] = read("pending");
      counts.running[p] = read("running");
      counts.done[p] = read("done");
      counts.failed[p] = read("failed");
      counts.elapsed[p] =
          column<double>(columns, p == kMap ? "elapsed_maps" : "elapsed_reduces", kept);
      counts.seconds[p] = column<double>(columns, p == kMap ? "mean_maps" : "mean_reduces", kept);
    }
    call([&](Scheduler& s) { s.observe(counts, now); });
  }

  void update(const Integers& ids, const People& new_users, const py::dict& columns, double now) {
    std::vector<py::object> kept;
    const std::vector<Scheduler::Person> people = people_of(new_users);
    Scheduler::Changes changes;
    changes.new_users = people;
    changes.user = column<std::int64_t>(columns, "user", kept);
    changes.max_slots = column<std::int64_t>(columns, "max_slots", kept);
    changes.weight = column<double>(columns, "weight", kept);
    changes.deadline = column<double>(columns, "deadline", kept);
    changes.restart = column<double>(columns, "restart", kept);
    changes.seconds[kMap] = column<double>(columns, "map_seconds", kept);
    changes.seconds[kReduce] = column<double>(columns, "reduce_seconds", kept);
    changes.min_slots[kMap] = column<std::int64_t>(columns, "min_map_slots", kept);
    changes.min_slots[kReduce] = column<std::int64_t>(columns, "min_reduce_slots", kept);
    call([&](Scheduler& s) { s.update(view(ids), changes, now); });
  }
  void set_users(const Integers& users, const People& people, double now) {
    const auto given = people_of(people);
    call([&](Scheduler& s) { s.set_users(view(users), given, now); });
  }
  void set_processors(int which, double now) {
    call([&](Scheduler& s) { s.set_processors(static_cast<SpeedupPrior>(which), now); });
  }
  void set_slots(const Integers& nodes, const std::optional<Integers>& maps,
                 const std::optional<Integers>& reduces, double now) {
    call([&](Scheduler& s) {
      s.set_slots(view(nodes), maps ? view(*maps) : std::span<const std::int64_t>(),
                  reduces ? view(*reduces) : std::span<const std::int64_t>(), now);
    });
  }
  void set_blocks(std::int64_t id, const Integers& nodes) {
    const auto copies = nodes.ndim() == 2 ? static_cast<std::size_t>(nodes.shape(1)) : 0;
    call([&](Scheduler& s) { s.set_blocks(id, copies, view(nodes)); });
  }
  Integers place(std::int64_t id, py::ssize_t blocks, py::ssize_t copies) {
    std::vector<Index> nodes(static_cast<std::size_t>(blocks * copies));
    call([&](Scheduler& s) { s.place(id, static_cast<std::size_t>(copies), nodes); });
    return to_numpy(nodes).reshape({blocks, copies});
  }
  py::object policy() const { return policy_; }
  void finish(const Integers& ids, double now) {
    call([&](Scheduler& s) { s.finish(view(ids), now); });
  }
  void remove(const Integers& ids, double now) {
    call([&](Scheduler& s) { s.remove(view(ids), now); });
  }

  // (ids, slots by phase, changed, bounds, keys of the order)
  py::tuple decide(double now) {
    const InUse held(*this);
    std::span<const Scheduler::Row> rows;
    {
      const py::gil_scoped_release release;
      rows = scheduler_->decide(now);
    }
    using Row = Scheduler::Row;
    return py::make_tuple(column_of(rows, &Row::id), column_of(rows, &Row::slots),
                          column_of(rows, &Row::changed), column_of(rows, &Row::bound),
                          column_of(rows, &Row::key));
  }

  py::tuple assign(double now, const Integers& maps, const Integers& reduces) {
    const std::span<const std::int64_t> free[2] = {view(maps), view(reduces)};
    const InUse held(*this);
    std::span<const Scheduler::Start> starts;
    {
      const py::gil_scoped_release release;
      starts = scheduler_->assign(now, free);
    }
    std::vector<std::int64_t> columns[4];
    for (const Scheduler::Start& start : starts) {
      columns[0].push_back(start.id);
      columns[1].push_back(start.phase);
      columns[2].push_back(start.task);
      columns[3].push_back(start.node);
    }
    return py::make_tuple(to_numpy(std::move(columns[0])), to_numpy(std::move(columns[1])),
                          to_numpy(std::move(columns[2])), to_numpy(std::move(columns[3])));
  }

  Integers take_back(double now, const Integers& maps, const Integers& reduces) {
    const std::span<const std::int64_t> free[2] = {view(maps), view(reduces)};
    return copy<std::int64_t>(call([&](Scheduler& s) {
      const auto taken = s.take_back(now, free);
      return std::vector<std::int64_t>(taken.begin(), taken.end());
    }));
  }

  // The columns that a user's own policy would see now.
  py::dict state() const {
    const InUse held(*this);
    return state_columns(scheduler_->state());
  }

  py::dict counts(const Integers& ids) {
    std::vector<std::int64_t> columns[4];
    std::vector<double> estimate, spread, slowed, speedup;
    call([&](Scheduler& s) {
      for (const Index row : s.rows_of(view(ids))) {
        for (const Phase p : {kMap, kReduce}) {
          const PhaseState& own = s.state().phase(row, p);
          columns[0].push_back(own.waiting);
          columns[1].push_back(own.running);
          columns[2].push_back(own.finished);
          columns[3].push_back(own.ready);
          const auto [seconds, deviation] = s.estimate_of(row, p);
          estimate.push_back(seconds);
          spread.push_back(deviation);
          slowed.push_back(s.slowed(row, p));
        }
        speedup.push_back(s.speedup(row));
      }
    });
    const auto shaped = [&](auto&& column) {
      return to_numpy(std::move(column)).reshape({ids.size(), py::ssize_t{2}});
    };
    py::dict d;
    static const char* const kNames[] = {"waiting", "running", "finished", "ready"};
    for (std::size_t k = 0; k < 4; ++k) d[kNames[k]] = shaped(columns[k]);
    d["estimate"] = shaped(estimate);
    d["spread"] = shaped(spread);
    d["slowed"] = shaped(slowed);
    d["speedup"] = to_numpy(std::move(speedup));
    return d;
  }

  Array<double> backup_gains(const Integers& ids, const Integers& phase, const Doubles& age) {
    std::vector<double> gains(static_cast<std::size_t>(ids.size()));
    call([&](Scheduler& s) { s.backup_gains(view(ids), view(phase), view(age), gains); });
    return to_numpy(std::move(gains));
  }

  // (ids, shape (n, 3): median, early and late); `order` as EndsOrder has it.
  py::tuple expected_ends(int order, int draws, std::uint64_t seed) {
    const auto found = call([&](Scheduler& s) {
      return s.expected_ends(static_cast<Scheduler::EndsOrder>(order), draws, seed);
    });
    std::vector<std::int64_t> ids;
    std::vector<double> ends;
    for (const auto& [id, end] : found) {
      ids.push_back(id);
      ends.insert(ends.end(), {end.at, end.early, end.late});
    }
    const auto rows = static_cast<py::ssize_t>(ids.size());
    return py::make_tuple(to_numpy(std::move(ids)),
                          to_numpy(std::move(ends)).reshape({rows, py::ssize_t{3}}));
  }

  // (p, p less its standard deviation) as finished tasks have shown them
  std::tuple<double, double> learned() {
    return call([](Scheduler& s) {
      const Learned& now = s.state().learned;
      return std::tuple(now.speedup, now.speedup_low);
    });
  }
  // The rule, and p of the present jobs (s tasks do s^p)
  std::tuple<std::string, double> rule() {
    return call([](Scheduler& s) {
      return std::tuple(std::string(s.rule()), mean_speedup(s.state().exponents_here()));
    });
  }
  py::tuple history() {
    return history_tuple(call([](Scheduler& s) { return s.history(); }));
  }
  void recall(const py::tuple& numbers) {
    const TaskEstimates::History history = history_of(numbers);
    call([&](Scheduler& s) { s.recall(history); });
  }
  std::size_t size() {
    return call([](Scheduler& s) { return s.size(); });
  }
  std::size_t users() {
    return call([](Scheduler& s) { return s.users(); });
  }
  double now() {
    return call([](Scheduler& s) { return s.now(); });
  }
  double next() {
    return call([](Scheduler& s) { return s.next(); });
  }
  std::string save() {
    return call([](Scheduler& s) { return save_state("Scheduler", s); });
  }
  void load(const py::bytes& bytes) {
    const std::string_view view(bytes);
    call([&](Scheduler& s) { load_state("Scheduler", view, s); });
  }

  // (jobs, calls, decisions, same, differing, moved)
  static py::tuple replay(const py::buffer& calls, std::size_t at, PyScheduler& fresh,
                          PyScheduler* other) {
    const py::buffer_info bytes = calls.request();
    const auto size = static_cast<std::size_t>(bytes.size * bytes.itemsize);
    if (at > size) throw std::invalid_argument("calls begin beyond the end");
    const std::string_view view(static_cast<const char*>(bytes.ptr) + at, size - at);
    const InUse held(fresh);
    std::optional<InUse> beside;
    if (other != nullptr) beside.emplace(*other);
    Replayed found;
    {
      const py::gil_scoped_release release;
      found = malleable::replay(view, *fresh.scheduler_,
                                other == nullptr ? nullptr : other->scheduler_.get());
    }
    return py::make_tuple(found.jobs, found.calls, found.decisions, found.same, found.differing,
                          found.moved);
  }

 private:
  static std::vector<Scheduler::Person> people_of(const People& users) {
    std::vector<Scheduler::Person> people;
    for (const auto& [minimum, priority] : users) people.push_back({minimum, priority});
    return people;
  }
  py::object policy_;
  std::unique_ptr<Scheduler> scheduler_;
  Busy busy_;
};

template <std::size_t N>
py::tuple names_of(const std::array<const char*, N>& names) {
  py::tuple all(N);
  for (std::size_t k = 0; k < N; ++k) all[k] = names[k];
  return all;
}

}  // namespace

void bind_scheduler(py::module_& module) {
  py::class_<PyScheduler>(module, "Scheduler")
      .def(py::init<const py::dict&, const PyScheduler::People&, const py::dict&, py::object>(),
           py::arg("cluster"), py::arg("users"), py::arg("options"), py::arg("policy"))
      .def("add", &PyScheduler::add, py::arg("users"), py::arg("columns"), py::arg("now"))
      .def("tell", &PyScheduler::tell, py::arg("what"), py::arg("columns"), py::arg("now"))
      .def("observe", &PyScheduler::observe, py::arg("ids"), py::arg("columns"), py::arg("now"))
      .def("update", &PyScheduler::update, py::arg("ids"), py::arg("users"), py::arg("columns"),
           py::arg("now"))
      .def("set_users", &PyScheduler::set_users, py::arg("users"), py::arg("people"),
           py::arg("now"))
      .def("set_processors", &PyScheduler::set_processors, py::arg("which"), py::arg("now"))
      .def("set_slots", &PyScheduler::set_slots, py::arg("nodes"), py::arg("map_slots").none(true),
           py::arg("reduce_slots").none(true), py::arg("now"))
      .def("set_blocks", &PyScheduler::set_blocks, py::arg("id"), py::arg("nodes"))
      .def("place", &PyScheduler::place, py::arg("id"), py::arg("blocks"), py::arg("copies"))
      .def_property_readonly("policy", &PyScheduler::policy)
      .def("finish", &PyScheduler::finish, py::arg("ids"), py::arg("now"))
      .def("remove", &PyScheduler::remove, py::arg("ids"), py::arg("now"))
      .def("decide", &PyScheduler::decide, py::arg("now"))
      .def("assign", &PyScheduler::assign, py::arg("now"), py::arg("map_slots"),
           py::arg("reduce_slots"))
      .def("take_back", &PyScheduler::take_back, py::arg("now"), py::arg("map_slots"),
           py::arg("reduce_slots"))
      .def("state", &PyScheduler::state)
      .def("counts", &PyScheduler::counts, py::arg("ids"))
      .def("backup_gains", &PyScheduler::backup_gains, py::arg("ids"), py::arg("phase"),
           py::arg("seconds"))
      .def("expected_ends", &PyScheduler::expected_ends, py::arg("order"), py::arg("draws"),
           py::arg("seed"))
      .def_property_readonly("users", &PyScheduler::users)
      .def_property_readonly("learned", &PyScheduler::learned)
      .def_property_readonly("rule", &PyScheduler::rule)
      .def("history", &PyScheduler::history)
      .def("recall", &PyScheduler::recall, py::arg("numbers"))
      .def_property_readonly("now", &PyScheduler::now)
      .def_property_readonly("next", &PyScheduler::next)
      .def("save", [](PyScheduler& self) { return py::bytes(self.save()); })
      .def("load", &PyScheduler::load, py::arg("state"))
      .def("__len__", &PyScheduler::size);
  module.def(
      "scheduler_options",
      [](const py::dict& given) { return shown_options(read_options<SchedulerOptions>(given)); },
      py::arg("given"));
  module.def("replay", &PyScheduler::replay, py::arg("calls"), py::arg("at"), py::arg("fresh"),
             py::arg("other").none(true));
  module.attr("EVENT_CALLS") = names_of(kEventCalls);
  module.attr("EVENT_COLUMNS") = names_of(kEventColumns);
}

}  // namespace malleable::bindings
