#include <pybind11/stl.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "arrays.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_flow.hpp"
#include "malleable/policy/cluster_srpt.hpp"
#include "malleable/policy/registry.hpp"
#include "malleable/scheduler/scheduler.hpp"
#include "malleable/sim/cluster.hpp"
#include "policies.hpp"
#include "saved_state.hpp"

namespace malleable::bindings {
namespace {

using Doubles = Array<double>;
using Integers = Array<std::int64_t>;

// Columns that the views point to; kept alive with whatever uses them.
template <typename T>
std::span<const T> column(const py::dict& columns, const char* name, std::vector<py::object>& kept,
                          bool needed = false) {
  if (!columns.contains(name)) {
    if (needed) throw std::invalid_argument(std::string(name) + ": missing");
    return {};
  }
  const auto array = columns[name].cast<Array<T>>();
  kept.push_back(array);
  return view(array);
}

// Valid jobs, as the columns of their table say; those are kept.
ClusterJobsView jobs_of(const py::dict& table, std::vector<py::object>& kept) {
  ClusterJobsView jobs;
  jobs.arrival = column<double>(table, "arrival", kept, true);
  jobs.tasks[kMap] = column<std::int64_t>(table, "maps", kept, true);
  jobs.tasks[kReduce] = column<std::int64_t>(table, "reduces", kept, true);
  jobs.seconds[kMap] = column<double>(table, "map_seconds", kept, true);
  jobs.seconds[kReduce] = column<double>(table, "reduce_seconds", kept, true);
  jobs.offset[kMap] = column<std::int64_t>(table, "map_offset", kept);
  jobs.offset[kReduce] = column<std::int64_t>(table, "reduce_offset", kept);
  jobs.shuffle = column<double>(table, "shuffle", kept);
  jobs.block = column<double>(table, "block", kept);
  jobs.shuffle_bytes = column<double>(table, "shuffle_bytes", kept);
  jobs.min_slots[kMap] = column<std::int64_t>(table, "min_map_slots", kept);
  jobs.min_slots[kReduce] = column<std::int64_t>(table, "min_reduce_slots", kept);
  jobs.weight = column<double>(table, "weight", kept);
  jobs.deadline = column<double>(table, "deadline", kept);
  jobs.user = column<std::int64_t>(table, "user", kept);
  jobs.group = column<std::int64_t>(table, "group", kept);
  jobs.flow = column<std::int64_t>(table, "flow", kept);
  jobs.after_offset = column<std::int64_t>(table, "after_offset", kept);
  jobs.after = column<std::int64_t>(table, "after", kept);
  jobs.rate_offset = column<std::int64_t>(table, "rate_offset", kept);
  jobs.rates = column<double>(table, "rates", kept);
  jobs.user_minimum = column<double>(table, "user_minimum", kept);
  jobs.user_priority = column<double>(table, "user_priority", kept);
  validate(jobs);
  return jobs;
}

struct Tables {
  std::vector<py::object> kept;
  ClusterView cluster;
  ClusterJobsView jobs;
  ClusterChanges changes;
  std::span<const double> estimate;

  Tables(const py::dict& nodes, const py::dict& table, const py::dict& schedule,
         const std::optional<Doubles>& guess) {
    cluster.map_slots = column<std::int64_t>(nodes, "map_slots", kept, true);
    cluster.reduce_slots = column<std::int64_t>(nodes, "reduce_slots", kept, true);
    cluster.rate = column<double>(nodes, "rate", kept, true);
    cluster.type = column<std::int64_t>(nodes, "type", kept, true);
    cluster.rack = column<std::int64_t>(nodes, "rack", kept, true);
    cluster.storage = column<double>(nodes, "storage", kept, true);
    cluster.link = column<double>(nodes, "link", kept, true);
    cluster.rack_link = column<double>(nodes, "rack_link", kept);
    cluster.generic = nodes["generic"].cast<bool>();
    validate(cluster);
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

// What a policy written in Python decides from: one row a job with ready tasks.
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

// What a policy of one's own sees: every job that is here, ready or not. By phase, shape (n, 2), or
// where slots are generic what both together may use, shape (n,).
py::dict state_columns(const ClusterState& state, const std::function<std::int64_t(Index)>& id_of) {
  const auto count = static_cast<py::ssize_t>(state.present.size());
  std::vector<std::int64_t> ids, user, counts[3], ready, least, most;
  std::vector<double> work, size, attained, arrival, weight, deadline;
  for (const Index job : state.present) {
    ids.push_back(id_of ? id_of(job) : job);
    user.push_back(static_cast<std::int64_t>(state.jobs.user_of(job)));
    arrival.push_back(state.jobs.arrival[job]);
    weight.push_back(state.jobs.weight_of(job));
    deadline.push_back(state.jobs.deadline_of(job));
    size.push_back(state.size[job]);
    attained.push_back(state.phase(job, kMap).measured + state.phase(job, kReduce).measured);
    for (const Phase p : {kMap, kReduce}) {
      const PhaseState& s = state.phase(job, p);
      counts[0].push_back(s.waiting);
      counts[1].push_back(s.running);
      counts[2].push_back(s.finished);
      ready.push_back(s.ready);
    }
    for (int pool = 0; pool < (state.cluster.generic ? 1 : 2); ++pool) {
      const auto demand = state.demand(job, pool);
      least.push_back(std::min(demand.minimum, demand.most));
      most.push_back(demand.most);
      double left = 0.0;
      for (const Phase p : {kMap, kReduce}) {
        if (state.cluster.generic || p == pool) left += state.phase(job, p).remaining();
      }
      work.push_back(left);
    }
  }
  const auto by_phase = [&](auto& column) {
    return to_numpy(std::move(column)).reshape({count, py::ssize_t{2}});
  };
  const auto by_pool = [&](auto& column) -> py::object {
    if (state.cluster.generic) return to_numpy(std::move(column));
    return by_phase(column);
  };
  py::dict d;
  d["ids"] = to_numpy(std::move(ids));
  d["arrival"] = to_numpy(std::move(arrival));
  d["weight"] = to_numpy(std::move(weight));
  d["deadline"] = to_numpy(std::move(deadline));
  d["user"] = to_numpy(std::move(user));
  d["waiting"] = by_phase(counts[0]);
  d["running"] = by_phase(counts[1]);
  d["finished"] = by_phase(counts[2]);
  d["ready"] = by_phase(ready);
  d["work"] = by_pool(work);
  d["size"] = to_numpy(std::move(size));
  d["attained"] = to_numpy(std::move(attained));
  d["min_slots"] = by_pool(least);
  d["max_slots"] = by_pool(most);
  const auto pair = [&](const std::int64_t (&of)[2]) -> py::object {
    if (state.cluster.generic) return py::int_(of[0]);
    return to_numpy(std::vector<std::int64_t>{of[0], of[1]});
  };
  d["capacity"] = pair(state.slots);
  d["free"] = pair(state.free);
  return d;
}

// A policy written in Python. Its methods are called with the GIL held, and errors come back.
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
  std::function<std::int64_t(Index)> id_of;  // of a row; nothing: the row itself

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
    // Jobs that left keep no target.
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
  // Slots of each job that is here, or of its maps and its reduces.
  void decide_whole(const ClusterState& state, int pool, Answer& answer) const {
    if (state.present.empty()) return;
    const py::object given = self_.attr("decide")(state_columns(state, id_of), state.now);
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

ClusterOptions options_of(const py::dict& given) {
  ClusterOptions options;
  const auto read = [&](const char* name, auto& value) {
    if (given.contains(name)) {
      value = given[name].cast<std::remove_reference_t<decltype(value)>>();
    }
  };
  read("epoch", options.epoch);
  read("heartbeat", options.heartbeat);
  read("tasks_per_heartbeat", options.tasks_per_heartbeat);
  read("slow_start", options.slow_start);
  read("split_copy", options.split_copy);
  read("shuffle_steps", options.shuffle_steps);
  read("network_epoch", options.network_epoch);
  read("delay", options.delay);
  read("rack_delay", options.rack_delay);
  read("replicas", options.replicas);
  read("noise", options.noise);
  read("straggler_share", options.straggler_share);
  read("straggler_factor", options.straggler_factor);
  read("failure", options.failure);
  read("speedup", options.speedup);
  read("rates", options.rates);
  read("learn", options.learn);
  read("prior", options.prior);
  read("seed", options.seed);
  read("ageing", options.ageing);
  read("in_order", options.in_order);
  read("gang", options.gang);
  read("lose_output", options.lose_output);
  read("trace", options.trace);
  return options;
}

py::dict network_totals(const ClusterNetwork::Totals& t) {
  py::dict d;
  d["remote_bytes"] = t.remote;
  d["rack_bytes"] = t.racks;
  d["shuffled_bytes"] = t.shuffled;
  d["disk_utilisation"] = t.disk_use;
  d["link_utilisation"] = t.link_use;
  d["rack_utilisation"] = t.rack_use;
  d["busiest_disk"] = t.busiest_disk;
  d["busiest_link"] = t.busiest_link;
  d["busiest_rack"] = t.busiest_rack;
  return d;
}

class PyScheduler {
 public:
  using People = std::vector<std::pair<double, double>>;  // minimum and priority

  PyScheduler(const py::dict& nodes, const People& users, const py::dict& options,
              py::object policy)
      : options_(options), policy_(std::move(policy)) {
    BoundPolicy& bound = policy_.cast<BoundPolicy&>();
    const Turn turn(bound.busy);
    bound.serves = this;
    scheduler_ = std::make_unique<Scheduler>(nodes_of(nodes), people_of(users), options_of(options),
                                             *bound.policy);
    if (auto* own = dynamic_cast<PyClusterPolicy*>(bound.policy.get())) {
      own->id_of = [this](Index row) { return scheduler_->id_of(row); };
    }
  }
  ~PyScheduler() {
    auto* own = dynamic_cast<PyClusterPolicy*>(policy_.cast<BoundPolicy&>().policy.get());
    if (own != nullptr && policy_.cast<BoundPolicy&>().serves == this) own->id_of = nullptr;
  }
  PyScheduler(const PyScheduler&) = delete;
  PyScheduler& operator=(const PyScheduler&) = delete;

  // One thread at a time, and not while its policy has begun with somebody else.
  struct Held {
    explicit Held(const PyScheduler& self)
        : own(self.busy_), policy(self.policy_.cast<BoundPolicy&>().busy) {
      if (self.policy_.cast<BoundPolicy&>().serves == &self) return;
      throw std::runtime_error("the policy has begun with another object");
    }
    Turn own, policy;
  };
  // Everything that reads or changes the scheduler.
  template <typename Call>
  auto call(const Call& run) {
    const Held held(*this);
    const py::gil_scoped_release release;
    return run(*scheduler_);
  }

  Integers add(const People& new_users, const py::dict& columns, double now) {
    std::vector<py::object> kept;
    const std::vector<Scheduler::Person> people = people_of(new_users);
    Scheduler::Additions jobs;
    jobs.new_users = people;
    jobs.arrival = column<double>(columns, "arrival", kept, true);
    jobs.weight = column<double>(columns, "weight", kept, true);
    jobs.deadline = column<double>(columns, "deadline", kept, true);
    jobs.user = column<std::int64_t>(columns, "user", kept, true);
    jobs.group = column<std::int64_t>(columns, "group", kept, true);
    jobs.flow = column<std::int64_t>(columns, "flow", kept, true);
    jobs.after_offset = column<std::int64_t>(columns, "after_offset", kept, true);
    jobs.after = column<std::int64_t>(columns, "after", kept, true);
    static const char* const kTasks[] = {"maps", "reduces"};
    static const char* const kSeconds[] = {"map_seconds", "reduce_seconds"};
    static const char* const kMinima[] = {"min_map_slots", "min_reduce_slots"};
    for (const Phase p : {kMap, kReduce}) {
      jobs.tasks[p] = column<std::int64_t>(columns, kTasks[p], kept, true);
      jobs.seconds[p] = column<double>(columns, kSeconds[p], kept, true);
      jobs.min_slots[p] = column<std::int64_t>(columns, kMinima[p], kept, true);
    }
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
    return call([&](Scheduler& s) -> std::int64_t {
      if (what == "started") return s.started(tasks, now);
      if (what == "ended") return s.ended(tasks, now);
      if (what == "failed") return s.failed(tasks, now);
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
    }
    call([&](Scheduler& s) { s.observe(counts, now); });
  }

  void update(const Integers& ids, const py::dict& columns, double now) {
    std::vector<py::object> kept;
    Scheduler::Changes changes;
    changes.weight = column<double>(columns, "weight", kept);
    changes.deadline = column<double>(columns, "deadline", kept);
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
  void finish(const Integers& ids, double now) {
    call([&](Scheduler& s) { s.finish(view(ids), now); });
  }
  void remove(const Integers& ids, double now) {
    call([&](Scheduler& s) { s.remove(view(ids), now); });
  }

  // (ids, slots by phase, changed, bounds, keys of the order)
  py::tuple decide(double now) {
    const Held held(*this);
    std::span<const Scheduler::Row> rows;
    {
      const py::gil_scoped_release release;
      rows = scheduler_->decide(now);
    }
    const auto count = static_cast<py::ssize_t>(rows.size());
    Integers ids(count), slots({count, py::ssize_t{2}});
    Array<bool> changed(count);
    Array<std::uint8_t> bound({count, py::ssize_t{2}});
    Doubles key(count);
    auto *ids_at = ids.mutable_data(), *slots_at = slots.mutable_data();
    auto* changed_at = changed.mutable_data();
    auto* bound_at = bound.mutable_data();
    auto* key_at = key.mutable_data();
    for (py::ssize_t k = 0; k < count; ++k) {
      const Scheduler::Row& row = rows[static_cast<std::size_t>(k)];
      ids_at[k] = row.id;
      changed_at[k] = row.changed;
      key_at[k] = row.key;
      for (const Phase p : {kMap, kReduce}) {
        slots_at[2 * k + p] = row.slots[p];
        bound_at[2 * k + p] = static_cast<std::uint8_t>(row.bound[p]);
      }
    }
    return py::make_tuple(ids, slots, changed, bound, key);
  }

  py::tuple assign(double now, const Integers& maps, const Integers& reduces) {
    const std::span<const std::int64_t> free[2] = {view(maps), view(reduces)};
    const Held held(*this);
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

  py::dict counts(const Integers& ids) {
    std::vector<std::int64_t> columns[4];
    std::vector<double> estimate;
    call([&](Scheduler& s) {
      for (const Index row : s.rows_of(view(ids))) {
        for (const Phase p : {kMap, kReduce}) {
          const PhaseState& own = s.state().phase(row, p);
          columns[0].push_back(own.waiting);
          columns[1].push_back(own.running);
          columns[2].push_back(own.finished);
          columns[3].push_back(own.ready);
          estimate.push_back(own.estimate);
        }
      }
    });
    const auto shaped = [&](auto&& column) {
      return to_numpy(std::move(column)).reshape({ids.size(), py::ssize_t{2}});
    };
    py::dict d;
    static const char* const kNames[] = {"waiting", "running", "finished", "ready"};
    for (std::size_t k = 0; k < 4; ++k) d[kNames[k]] = shaped(columns[k]);
    d["estimate"] = shaped(estimate);
    return d;
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

 private:
  static std::vector<Scheduler::Person> people_of(const People& users) {
    std::vector<Scheduler::Person> people;
    for (const auto& [minimum, priority] : users) people.push_back({minimum, priority});
    return people;
  }
  static ClusterNodes nodes_of(const py::dict& given) {
    ClusterNodes nodes;
    std::vector<py::object> kept;
    const auto copy_of = [&](const char* name, auto& values) {
      const auto read = column<typename std::remove_reference_t<decltype(values)>::value_type>(
          given, name, kept, true);
      values.assign(read.begin(), read.end());
    };
    copy_of("map_slots", nodes.slots[0]);
    copy_of("reduce_slots", nodes.slots[1]);
    copy_of("type", nodes.type);
    copy_of("rack", nodes.rack);
    copy_of("rate", nodes.rate);
    copy_of("storage", nodes.storage);
    copy_of("link", nodes.link);
    nodes.generic = given["generic"].cast<bool>();
    validate(nodes.view());
    return nodes;
  }

  py::dict options_;
  py::object policy_;
  std::unique_ptr<Scheduler> scheduler_;
  Busy busy_;
};

class PySimulation {
 public:
  PySimulation(const py::dict& nodes, const py::dict& jobs, const py::dict& options,
               const py::dict& changes, const std::optional<Doubles>& estimate, py::object policy)
      : tables_(nodes, jobs, changes, estimate),
        policy_(std::move(policy)),
        simulation_(begun(options)) {}

  void advance(double until) {
    const BoundPolicy& policy = bound_policy();
    const Turn turn(busy_), policy_turn(policy.busy);
    if (policy.serves != this) {
      throw std::runtime_error("the policy has begun with another simulation");
    }
    py::gil_scoped_release release;
    simulation_.advance(until);
  }

  py::dict totals() const {
    const Turn turn(busy_);
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
    d["local"] = t.local;
    d["remote"] = t.remote;
    d["rack"] = t.rack;
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
    if (simulation_.has_network()) d["network"] = network_totals(simulation_.network_totals());
    return d;
  }

  py::dict records() const {
    const Turn turn(busy_);
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
    const Turn turn(busy_);
    return copy<float>(simulation_.latency);
  }

  py::dict trace() const {
    const Turn turn(busy_);
    py::dict d;
    d["time"] = copy<double>(simulation_.trace_time);
    d["kind"] = copy<std::uint8_t>(simulation_.trace_kind);
    d["phase"] = copy<std::uint8_t>(simulation_.trace_phase);
    d["job"] = copy<std::int64_t>(simulation_.trace_job);
    d["task"] = copy<std::int64_t>(simulation_.trace_task);
    d["node"] = copy<std::int64_t>(simulation_.trace_node);
    return d;
  }

 private:
  BoundPolicy& bound_policy() const { return policy_.cast<BoundPolicy&>(); }
  ClusterSimulation begun(const py::dict& options) {
    BoundPolicy& policy = bound_policy();
    const Turn turn(policy.busy);
    policy.serves = this;
    return ClusterSimulation(tables_.cluster, tables_.jobs, options_of(options), tables_.changes,
                             tables_.estimate, *policy.policy);
  }

  Tables tables_;
  py::object policy_;
  ClusterSimulation simulation_;
  Busy busy_;
};

}  // namespace

void bind_cluster(py::module_& module) {
  module.def(
      "validate_cluster_jobs",
      [](const py::dict& columns) {
        std::vector<py::object> kept;
        jobs_of(columns, kept);
      },
      py::arg("columns"));
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
            return s.blocks.has_blocks(job) && s.blocks.find(job, node) != LocalTasks::kNone;
          },
          py::arg("job"), py::arg("node"))
      .def("demand", &demand_columns, py::arg("pool"));

  py::class_<BoundPolicy>(module, "ClusterPolicy");
  py::class_<Bound<ClusterFifo>, BoundPolicy>(module, "ClusterFifo").def(py::init<>());
  py::class_<Bound<ClusterEpoch>, BoundPolicy>(module, "ClusterEpoch")
      .def(py::init([](const std::string& policy, bool is_max, std::int64_t kind, double hysteresis,
                       std::optional<std::uint64_t> effort, bool at_least_one, bool by_user,
                       bool gang, double pool_minimum) {
             EpochOptions options;
             options.policy = policy_code<EpochPolicy>(Model::kCluster, policy);
             options.aggregate = aggregate_of(is_max);
             options.kind = kind_of(kind);
             options.hysteresis = hysteresis;
             options.effort = effort;
             options.min_mode = gang ? MinMode::kGang : MinMode::kGuarantee;
             return std::make_unique<Bound<ClusterEpoch>>(options, at_least_one, by_user,
                                                          pool_minimum);
           }),
           py::arg("policy"), py::arg("is_max"), py::arg("kind"), py::arg("hysteresis"),
           py::arg("effort"), py::arg("at_least_one"), py::arg("by_user"), py::arg("gang"),
           py::arg("pool_minimum"));
  py::class_<Bound<ClusterSrpt>, BoundPolicy>(module, "ClusterSrpt")
      .def(py::init([](const std::string& policy, double speedup, std::vector<double> rates,
                       std::vector<double> exponents, std::vector<std::int64_t> useful,
                       bool by_user) {
             return std::make_unique<Bound<ClusterSrpt>>(
                 SrptOptions{policy_code<SrptKind>(Model::kCluster, policy), speedup,
                             std::move(rates), std::move(exponents), std::move(useful), by_user});
           }),
           py::arg("policy"), py::arg("speedup"), py::arg("rates"), py::arg("exponents"),
           py::arg("useful"), py::arg("by_user"));
  py::class_<Bound<ClusterFlow>, BoundPolicy>(module, "ClusterFlow")
      .def(py::init([](const std::string& policy, bool is_max, std::int64_t kind,
                       std::uint64_t effort, bool by_user) {
             ClusterFlowOptions options;
             options.method = policy_code<FlowMethod>(Model::kCluster, policy);
             options.aggregate = aggregate_of(is_max);
             options.kind = kind_of(kind);
             options.effort = effort;
             options.by_user = by_user;
             return std::make_unique<Bound<ClusterFlow>>(options);
           }),
           py::arg("policy"), py::arg("is_max"), py::arg("kind"), py::arg("effort"),
           py::arg("by_user"));
  py::class_<Bound<PyClusterPolicy>, BoundPolicy>(module, "ClusterCallback")
      .def(py::init<py::object, const std::string&, bool, bool, bool>(), py::arg("policy"),
           py::arg("style"), py::arg("depends_on_time"), py::arg("listens"), py::arg("whole"));

  py::class_<PyScheduler>(module, "Scheduler")
      .def(py::init<const py::dict&, const PyScheduler::People&, const py::dict&, py::object>(),
           py::arg("cluster"), py::arg("users"), py::arg("options"), py::arg("policy"))
      .def("add", &PyScheduler::add, py::arg("users"), py::arg("columns"), py::arg("now"))
      .def("tell", &PyScheduler::tell, py::arg("what"), py::arg("columns"), py::arg("now"))
      .def("observe", &PyScheduler::observe, py::arg("ids"), py::arg("columns"), py::arg("now"))
      .def("update", &PyScheduler::update, py::arg("ids"), py::arg("columns"), py::arg("now"))
      .def("set_users", &PyScheduler::set_users, py::arg("users"), py::arg("people"),
           py::arg("now"))
      .def("set_slots", &PyScheduler::set_slots, py::arg("nodes"), py::arg("map_slots").none(true),
           py::arg("reduce_slots").none(true), py::arg("now"))
      .def("set_blocks", &PyScheduler::set_blocks, py::arg("id"), py::arg("nodes"))
      .def("finish", &PyScheduler::finish, py::arg("ids"), py::arg("now"))
      .def("remove", &PyScheduler::remove, py::arg("ids"), py::arg("now"))
      .def("decide", &PyScheduler::decide, py::arg("now"))
      .def("assign", &PyScheduler::assign, py::arg("now"), py::arg("map_slots"),
           py::arg("reduce_slots"))
      .def("counts", &PyScheduler::counts, py::arg("ids"))
      .def_property_readonly("users", &PyScheduler::users)
      .def_property_readonly("now", &PyScheduler::now)
      .def_property_readonly("next", &PyScheduler::next)
      .def("save", [](PyScheduler& self) { return py::bytes(self.save()); })
      .def("load", &PyScheduler::load, py::arg("state"))
      .def("__len__", &PyScheduler::size);

  py::class_<PySimulation>(module, "ClusterSimulation")
      .def(py::init<const py::dict&, const py::dict&, const py::dict&, const py::dict&,
                    const std::optional<Doubles>&, py::object>(),
           py::arg("cluster"), py::arg("jobs"), py::arg("options"), py::arg("changes"),
           py::arg("estimate").none(true), py::arg("policy"))
      .def("advance", &PySimulation::advance, py::arg("until"))
      .def("totals", &PySimulation::totals)
      .def("records", &PySimulation::records)
      .def("latency", &PySimulation::latency)
      .def("trace", &PySimulation::trace);
}

}  // namespace malleable::bindings
