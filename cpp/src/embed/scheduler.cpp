// The scheduler for C.
#include <numeric>

#include "malleable/embed/cluster.hpp"
#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_flow.hpp"
#include "malleable/policy/cluster_service.hpp"
#include "malleable/policy/cluster_srpt.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::embed {
namespace {

// Makes the policy that a row of the registry names, by the kind of its code.
struct MakePolicy {
  const Policy& row;
  const malleable_scheduler_options& options;
  Goal goal;
  bool by_user, generic;

  std::unique_ptr<ClusterPolicy> operator()(EpochPolicy policy) const {
    if (policy == EpochPolicy::kFifo && !by_user) return std::make_unique<ClusterFifo>();
    return std::make_unique<ClusterEpoch>(
        EpochOptions{goal.aggregate, goal.kind, policy,
                     options.gang != 0 ? MinMode::kGang : MinMode::kGuarantee, options.hysteresis,
                     effort_of(options.effort)},
        options.at_least_one != 0, by_user, options.pool_minimum, row.promises.learns);
  }
  std::unique_ptr<ClusterPolicy> operator()(FlowMethod method) const {
    if (!generic) throw std::invalid_argument(std::string(row.name) + ": needs generic slots");
    return std::make_unique<ClusterFlow>(ClusterFlowOptions{
        method, goal.aggregate, goal.kind, effort_of(options.effort).value_or(0), by_user});
  }
  std::unique_ptr<ClusterPolicy> operator()(SrptKind kind) const {
    return std::make_unique<ClusterSrpt>(SrptOptions{kind, options.speedup, {}, {}, {}, by_user});
  }
  std::unique_ptr<ClusterPolicy> operator()(ServiceKind kind) const {
    return std::make_unique<ClusterService>(kind, by_user);
  }
  template <typename Other>
  std::unique_ptr<ClusterPolicy> operator()(Other) const {
    throw std::invalid_argument("policy = '" + std::string(row.name) +
                                "': has an epoch of its own, malleable_adaptive_epoch");
  }
};

void check_share(const char* field, double value, double most) {
  if (value >= 0.0 && value <= most) return;
  throw std::invalid_argument(std::string(field) + " = " + std::to_string(value) +
                              ": must be from 0 to " + std::to_string(most));
}

SchedulerOptions options_of(const malleable_scheduler_options& given) {
  check_amount("hysteresis", given.hysteresis, kWeightRange);
  check_share("slow_start", given.slow_start, 1.0);
  check_share("pool_minimum", given.pool_minimum, 1.0);
  check_share("delay", given.delay, kLatestTime);
  check_share("rack_delay", given.rack_delay, kLatestTime);
  check_share("ageing", given.ageing, kLatestTime);
  if (given.replicas < 0 || given.replicas > 1000) {
    throw std::invalid_argument("replicas = " + std::to_string(given.replicas) +
                                ": must be from 0 to 1000");
  }
  if (!(given.speedup > 0.0 && given.speedup <= 1.0)) {
    throw std::invalid_argument("speedup = " + std::to_string(given.speedup) +
                                ": must be above 0 and at most 1");
  }
  SchedulerOptions options;
  options.slow_start = given.slow_start;
  options.split_copy = given.split_copy != 0;
  options.delay = given.delay;
  options.rack_delay = given.rack_delay;
  options.replicas = given.replicas;
  options.learn = given.learn != 0;
  options.ageing = given.ageing;
  options.in_order = given.in_order != 0;
  options.gang = given.gang != 0;
  return options;
}

// A column of every phase that is told, or zeros.
void read_pair(const std::int64_t* maps, const std::int64_t* reduces, std::size_t n,
               Defaults& spare, std::span<const std::int64_t> (&pair)[2]) {
  pair[kMap] = column_or(maps, n, std::int64_t{0}, spare.none);
  pair[kReduce] = column_or(reduces, n, std::int64_t{0}, spare.none);
}

Scheduler::Tasks tasks_of(std::int64_t count, const std::int64_t* ids, const std::int64_t* phase,
                          const std::int64_t* tasks) {
  const std::size_t n = length("count", count);
  return {needed("ids", ids, n), needed("phase", phase, n), column(tasks, n)};
}

void tell_ignored(std::int64_t* wanted, std::int64_t count) {
  if (wanted != nullptr) *wanted = count;
}

constexpr malleable_scheduler_options kDefaults = {.hysteresis = 0.0,
                                                   .effort = -1,
                                                   .at_least_one = 0,
                                                   .by_user = -1,
                                                   .learn = 1,
                                                   .slow_start = SchedulerOptions{}.slow_start,
                                                   .split_copy = 0,
                                                   .delay = 0.0,
                                                   .rack_delay = 0.0,
                                                   .replicas = 0,
                                                   .ageing = SchedulerOptions{}.ageing,
                                                   .in_order = 0,
                                                   .gang = 0,
                                                   .pool_minimum = 0.0,
                                                   .speedup = 1.0};

}  // namespace
}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_scheduler_defaults(malleable_scheduler_options* options) {
  return guarded([&] { needed("options", options) = kDefaults; });
}

int malleable_scheduler_new(const malleable_cluster* cluster, const char* policy,
                            const char* objective, const malleable_scheduler_options* options,
                            malleable_scheduler** made) {
  return make(made, [&] {
    ClusterNodes nodes = nodes_of(needed("cluster", cluster));
    const auto& given = options == nullptr ? kDefaults : *options;
    const SchedulerOptions how = options_of(given);
    const Goal goal = goal_of(objective);
    if (info(goal.kind).uses_sla || info(goal.kind).custom) {
      throw std::invalid_argument("objective = '" + std::string(objective) +
                                  "': not one that cluster jobs have data for");
    }
    const auto people =
        people_of<Scheduler::Person>(cluster->users, cluster->user_minimum, cluster->user_priority);
    const Policy& row = find_policy(Model::kCluster, text("policy", policy));
    const bool by_user = given.by_user == -1 ? !people.empty() : given.by_user != 0;
    const MakePolicy maker{row, given, goal, by_user, nodes.generic};
    return std::make_unique<Owned<malleable_scheduler>>(std::visit(maker, row.code),
                                                        std::move(nodes), people, how);
  });
}

void malleable_scheduler_free(malleable_scheduler* scheduler) { release(scheduler); }

int malleable_scheduler_add(malleable_scheduler* scheduler, double now,
                            const malleable_cluster_jobs* jobs, int64_t* ids) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const malleable_cluster_jobs& table = needed("jobs", jobs);
    const std::size_t n = length("count", table.count);
    Defaults& spare = scheduler->defaults;
    const auto people = people_of<Scheduler::Person>(table.new_users, table.new_user_minimum,
                                                     table.new_user_priority);
    Scheduler::Additions added;
    added.new_users = people;
    std::vector<double> moments;
    added.arrival = column_or(table.arrival, n, now, moments);
    added.weight = column_or(table.weight, n, 1.0, spare.one);
    added.deadline = column_or(table.deadline, n, kInfinity, spare.infinite);
    needed("maps", table.maps, n);
    read_pair(table.maps, table.reduces, n, spare, added.tasks);
    read_pair(table.min_map_slots, table.min_reduce_slots, n, spare, added.min_slots);
    added.seconds[kMap] = column_or(table.map_seconds, n, 0.0, spare.zero);
    added.seconds[kReduce] = column_or(table.reduce_seconds, n, 0.0, spare.zero);
    added.user = column_or(table.user, n, std::int64_t{0}, spare.none);
    added.group = column_or(table.program, n, std::int64_t{-1}, spare.all);
    if (table.flow == nullptr) {
      spare.first.resize(n);
      std::iota(spare.first.begin(), spare.first.end(), 0);
    }
    added.flow = table.flow == nullptr ? std::span<const std::int64_t>(spare.first)
                                       : std::span<const std::int64_t>(table.flow, n);
    added.after_offset = column_or(table.after_offset, n + 1, std::int64_t{0}, spare.offset);
    added.after = needed("after", table.after, length("after_offset", added.after_offset[n]));
    put(ids, of.scheduler.add(added, now));
  });
}

int malleable_scheduler_set_blocks(malleable_scheduler* scheduler, int64_t id, int64_t maps,
                                   int64_t copies, const int64_t* nodes) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t each = length("copies", copies);
    of.scheduler.set_blocks(id, each, needed("nodes", nodes, each * length("maps", maps)));
  });
}

int malleable_scheduler_started(malleable_scheduler* scheduler, double now, int64_t count,
                                const int64_t* ids, const int64_t* phase, const int64_t* tasks,
                                int64_t* ignored) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    tell_ignored(ignored, of.scheduler.started(tasks_of(count, ids, phase, tasks), now));
  });
}

int malleable_scheduler_ended(malleable_scheduler* scheduler, double now, int64_t count,
                              const int64_t* ids, const int64_t* phase, const int64_t* tasks,
                              const int64_t* node, const double* seconds, int64_t* ignored) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    Scheduler::Tasks told = tasks_of(count, ids, phase, tasks);
    told.node = column(node, told.ids.size());
    told.seconds = column(seconds, told.ids.size());
    tell_ignored(ignored, of.scheduler.ended(told, now));
  });
}

int malleable_scheduler_failed(malleable_scheduler* scheduler, double now, int64_t count,
                               const int64_t* ids, const int64_t* phase, const int64_t* tasks,
                               const int64_t* task, int64_t* ignored) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    Scheduler::Tasks told = tasks_of(count, ids, phase, tasks);
    told.task = column(task, told.ids.size());
    tell_ignored(ignored, of.scheduler.failed(told, now));
  });
}

int malleable_scheduler_ready(malleable_scheduler* scheduler, double now, int64_t count,
                              const int64_t* ids, const int64_t* phase) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const Scheduler::Tasks told = tasks_of(count, ids, phase, nullptr);
    of.scheduler.ready(told.ids, told.phase, now);
  });
}

int malleable_scheduler_observe(malleable_scheduler* scheduler, double now, int64_t count,
                                const int64_t* ids, const malleable_task_counts* counts) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t n = length("count", count);
    const malleable_task_counts& c = needed("counts", counts);
    Defaults& spare = scheduler->defaults;
    Scheduler::Counts seen;
    seen.ids = needed("ids", ids, n);
    read_pair(c.pending_maps, c.pending_reduces, n, spare, seen.pending);
    read_pair(c.running_maps, c.running_reduces, n, spare, seen.running);
    read_pair(c.done_maps, c.done_reduces, n, spare, seen.done);
    read_pair(c.failed_maps, c.failed_reduces, n, spare, seen.failed);
    of.scheduler.observe(seen, now);
  });
}

int malleable_scheduler_update(malleable_scheduler* scheduler, double now, int64_t count,
                               const int64_t* ids, const double* weight, const double* deadline,
                               const double* map_seconds, const double* reduce_seconds,
                               const int64_t* min_map_slots, const int64_t* min_reduce_slots) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t n = length("count", count);
    of.scheduler.update(needed("ids", ids, n),
                        {column(weight, n),
                         column(deadline, n),
                         {column(map_seconds, n), column(reduce_seconds, n)},
                         {column(min_map_slots, n), column(min_reduce_slots, n)}},
                        now);
  });
}

int malleable_scheduler_set_users(malleable_scheduler* scheduler, double now, int64_t count,
                                  const int64_t* users, const double* minimum,
                                  const double* priority) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    of.scheduler.set_users(needed("users", users, length("count", count)),
                           people_of<Scheduler::Person>(count, minimum, priority), now);
  });
}

int malleable_scheduler_set_slots(malleable_scheduler* scheduler, double now, int64_t count,
                                  const int64_t* nodes, const int64_t* map_slots,
                                  const int64_t* reduce_slots) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t n = length("count", count);
    of.scheduler.set_slots(needed("nodes", nodes, n), column(map_slots, n), column(reduce_slots, n),
                           now);
  });
}

int malleable_scheduler_finish(malleable_scheduler* scheduler, double now, int64_t count,
                               const int64_t* ids) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    of.scheduler.finish(needed("ids", ids, length("count", count)), now);
  });
}

int malleable_scheduler_remove(malleable_scheduler* scheduler, double now, int64_t count,
                               const int64_t* ids) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    of.scheduler.remove(needed("ids", ids, length("count", count)), now);
  });
}

int malleable_scheduler_decide(malleable_scheduler* scheduler, double now, int64_t* ids,
                               int64_t* given, uint8_t* changed, uint8_t* bound, double* key,
                               int64_t room, int64_t* rows) {
  using Row = Scheduler::Row;
  return with(scheduler, [&](PolicyAndScheduler& of) {
    check_room(room, of.scheduler.size());
    const auto made = of.scheduler.decide(now);
    put_each(ids, made, [](const Row& row) { return row.id; });
    put_each(changed, made, [](const Row& row) { return row.changed; });
    put_each(key, made, [](const Row& row) { return row.key; });
    put_pairs(
        given, made, [](const Row& row) { return row.slots[kMap]; },
        [](const Row& row) { return row.slots[kReduce]; });
    put_pairs(
        bound, made, [](const Row& row) { return row.bound[kMap]; },
        [](const Row& row) { return row.bound[kReduce]; });
    tell(rows, made.size());
  });
}

int malleable_scheduler_assign(malleable_scheduler* scheduler, double now,
                               const int64_t* free_map_slots, const int64_t* free_reduce_slots,
                               int64_t* starts) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t nodes = of.scheduler.state().cluster.size();
    const std::span<const std::int64_t> free[2] = {
        free_slots(free_map_slots, nodes, scheduler->defaults),
        free_slots(free_reduce_slots, nodes, scheduler->defaults)};
    const auto made = of.scheduler.assign(now, free);
    scheduler->starts.assign(made.begin(), made.end());
    tell(starts, made.size());
  });
}

int malleable_scheduler_starts(malleable_scheduler* scheduler, int64_t* ids, int64_t* phase,
                               int64_t* task, int64_t* node, int64_t room, int64_t* rows) {
  using Start = Scheduler::Start;
  return with(scheduler, [&](PolicyAndScheduler&) {
    const auto& made = scheduler->starts;
    tell(rows, made.size());
    check_room(room, made.size());
    put_each(ids, made, [](const Start& start) { return start.id; });
    put_each(phase, made, [](const Start& start) { return start.phase; });
    put_each(task, made, [](const Start& start) { return start.task; });
    put_each(node, made, [](const Start& start) { return start.node; });
  });
}

int malleable_scheduler_counts(malleable_scheduler* scheduler, int64_t count, const int64_t* ids,
                               int64_t* waiting, int64_t* running, int64_t* finished,
                               double* estimate) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const auto rows = of.scheduler.rows_of(needed("ids", ids, length("count", count)));
    const auto both = [&](auto* wanted, auto PhaseState::* what) {
      put_pairs(
          wanted, rows, [&](Index row) { return of.scheduler.state().phase(row, kMap).*what; },
          [&](Index row) { return of.scheduler.state().phase(row, kReduce).*what; });
    };
    both(waiting, &PhaseState::waiting);
    both(running, &PhaseState::running);
    both(finished, &PhaseState::finished);
    both(estimate, &PhaseState::estimate);
  });
}

int malleable_scheduler_next(malleable_scheduler* scheduler, double* time) {
  return with(scheduler,
              [&](PolicyAndScheduler& of) { needed("time", time) = of.scheduler.next(); });
}

int malleable_scheduler_size(malleable_scheduler* scheduler, int64_t* jobs) {
  return with(scheduler, [&](PolicyAndScheduler& of) { tell(jobs, of.scheduler.size()); });
}
