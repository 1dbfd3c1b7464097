// The scheduler for C. The adaptive policy matches classes of jobs with types of nodes by linear
// programs (Rasooli and Down 2011); the caller's function solves them.
#include <numeric>

#include "malleable/embed/call.hpp"
#include "malleable/policy/cluster_adaptive.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::embed {
namespace {

// Complete columns, checked.
ClusterNodes nodes_of(const malleable_cluster& given) {
  const std::size_t n = length("nodes", given.nodes);
  const auto filled = [n](const auto* column, auto value) {
    std::vector<decltype(value)> own(n, value);
    if (column != nullptr) own.assign(column, column + n);
    return own;
  };
  needed("map_slots", given.map_slots, n);
  ClusterNodes nodes;
  nodes.slots[0] = filled(given.map_slots, std::int64_t{0});
  nodes.slots[1] = filled(given.reduce_slots, std::int64_t{0});
  nodes.type = filled(given.type, std::int64_t{0});
  nodes.rate = filled(given.rate, 1.0);
  nodes.storage = filled(given.storage, kInfinity);
  nodes.link = filled(given.link, kInfinity);
  if (given.partitions != nullptr) nodes.partitions = filled(given.partitions, std::uint64_t{0});
  if (given.memory != nullptr) nodes.memory = filled(given.memory, kInfinity);
  if (given.gpus != nullptr) nodes.gpus = filled(given.gpus, 0.0);
  nodes.generic = given.generic != 0;
  validate(nodes.view());
  return nodes;
}

// Reads options from text; null: the defaults.
SchedulerOptions options_of(const char* given) {
  SchedulerOptions options;
  options.learn = true;
  options.take_back = false;  // until the caller says that it can end tasks
  if (given != nullptr) read_options(given, options);
  return options;
}

// Users, with defaults for columns that were left out.
std::vector<Scheduler::Person> people_of(std::int64_t count, const double* minimum,
                                         const double* priority) {
  std::vector<Scheduler::Person> people(length("users", count), {0.0, 1.0});
  check_amounts("user_minimum", column(minimum, people.size()), kWeightRange);
  check_amounts("user_priority", column(priority, people.size()), kRateRange);
  for (std::size_t k = 0; k < people.size(); ++k) {
    if (minimum != nullptr) people[k].minimum = minimum[k];
    if (priority != nullptr) people[k].priority = priority[k];
  }
  return people;
}

ClassMatcher matcher_of(malleable_matcher solve, void* context) {
  if (solve == nullptr) throw_null("matcher");
  return [solve, context](std::span<const double> arrival, std::span<const double> execution,
                          std::span<const double> nodes) {
    std::vector<double> shares(execution.size());
    const int status = solve(context, static_cast<std::int64_t>(arrival.size()),
                             static_cast<std::int64_t>(nodes.size()), arrival.data(),
                             execution.data(), nodes.data(), shares.data());
    if (status == 0) return shares;
    throw std::runtime_error("matcher: status " + std::to_string(status));
  };
}

// The policy that the options name.
std::unique_ptr<ClusterPolicy> policy_of(const malleable_scheduler_options& given,
                                         const SchedulerOptions& options, bool by_user,
                                         bool generic) {
  const std::string_view name = text_or(given.policy, "auto");
  if (name == "adaptive-literal") {
    AdaptiveOptions how;
    if (given.adaptive != nullptr) read_options(given.adaptive, how);
    return std::make_unique<ClusterAdaptive>(how, matcher_of(given.matcher, given.context));
  }
  const Goal goal = goal_of(given.objective);
  if (info(goal.kind).uses_sla || info(goal.kind).custom) {
    throw std::invalid_argument("objective = '" + std::string(given.objective) +
                                "': not one that cluster jobs have data for");
  }
  return make_cluster_policy(name, options, goal.aggregate, goal.kind, by_user, generic);
}

// Reads a column for each phase, or zeros if it is left out.
void read_pair(const std::int64_t* maps, const std::int64_t* reduces, std::size_t n,
               Defaults& spare, std::span<const std::int64_t> (&pair)[2]) {
  pair[kMap] = column_or(maps, n, std::int64_t{0}, spare.none);
  pair[kReduce] = column_or(reduces, n, std::int64_t{0}, spare.none);
}

// Reads a column by its name in the table; node_rates have an entry for each job, phase and type of
// nodes.
void take_column(const malleable_column& given, std::size_t n, std::size_t types,
                 ClusterJobsView& jobs) {
  const std::string_view name = text("column", given.name);
  std::string known;
  bool found = false;
  ClusterJobsView::each(
      [&]<typename T>(const ClusterColumn& column, std::span<const T>& values) {
        using Side = ClusterColumn::ReadBy;
        const bool rates = std::string_view(column.name) == "node_rates";
        if (column.read_by != Side::kEverywhere && !rates) return;
        known += (known.empty() ? "" : ", ") + std::string(column.name);
        if (name != column.name) return;
        found = true;
        if constexpr (std::is_same_v<T, double>) {
          values = needed(column.name, given.real, rates ? 2 * n * types : n);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          values = needed(column.name, given.whole, n);
        }
      },
      jobs);
  if (!found) {
    throw std::invalid_argument(std::string(name) + ": unknown column, expected one of " + known);
  }
}

// Converts events for `ended` and the other calls.
Scheduler::Tasks tasks_of(const malleable_events& events) {
  const std::size_t n = length("count", events.count);
  return {needed("ids", events.ids, n), needed("phase", events.phase, n), column(events.tasks, n),
          column(events.node, n),       column(events.task, n),           column(events.seconds, n),
          column(events.copying, n)};
}

using Tell = std::int64_t (Scheduler::*)(const Scheduler::Tasks&, double);
constexpr std::pair<std::string_view, Tell> kEvents[] = {{"started", &Scheduler::started},
                                                         {"ended", &Scheduler::ended},
                                                         {"failed", &Scheduler::failed},
                                                         {"lost", &Scheduler::lost}};

// All parts of a history.
auto parts_of(TaskEstimates::History& of) {
  return std::array{&of.common,    &of.runs[0],   &of.runs[1],
                    &of.errors[0], &of.errors[1], &of.speedups};
}

// Calls visit(scheduler, free slots by pool and node).
template <typename Visit>
int with_free(malleable_scheduler* scheduler, const std::int64_t* maps, const std::int64_t* reduces,
              const Visit& visit) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t nodes = of.scheduler.state().cluster.size();
    std::vector<std::int64_t>& none = scheduler->defaults.none;
    const std::span<const std::int64_t> free[2] = {
        column_or(maps, nodes, std::int64_t{0}, none),
        column_or(reduces, nodes, std::int64_t{0}, none)};
    visit(of.scheduler, free);
  });
}

}  // namespace
}  // namespace malleable::embed

using namespace malleable;
using namespace malleable::embed;

int malleable_scheduler_new(const malleable_cluster* cluster,
                            const malleable_scheduler_options* options,
                            malleable_scheduler** made) {
  return make(made, [&] {
    const malleable_scheduler_options& given = sized("options", options);
    const SchedulerOptions how = options_of(given.options);
    ClusterNodes nodes = nodes_of(needed("cluster", cluster));
    const auto people = people_of(cluster->users, cluster->user_minimum, cluster->user_priority);
    auto policy = policy_of(given, how, how.by_user.value_or(!people.empty()), nodes.generic);
    return new Owned<malleable_scheduler, PolicyAndScheduler>(std::move(policy), std::move(nodes),
                                                              people, how);
  });
}

void malleable_scheduler_free(malleable_scheduler* scheduler) { release(scheduler); }

int malleable_scheduler_add(malleable_scheduler* scheduler, double now,
                            const malleable_cluster_jobs* jobs, int64_t* ids) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const malleable_cluster_jobs& table = needed("jobs", jobs);
    const std::size_t n = length("count", table.count);
    Defaults& spare = scheduler->defaults;
    const auto people = people_of(table.new_users, table.new_user_minimum, table.new_user_priority);
    Scheduler::Additions added;
    added.new_users = people;
    std::vector<double> moments;
    added.arrival = column_or(table.arrival, n, now, moments);
    added.weight = column(table.weight, n);
    added.deadline = column(table.deadline, n);
    needed("maps", table.maps, n);
    read_pair(table.maps, table.reduces, n, spare, added.tasks);
    added.min_slots[kMap] = column(table.min_map_slots, n);
    added.min_slots[kReduce] = column(table.min_reduce_slots, n);
    added.seconds[kMap] = column_or(table.map_seconds, n, 0.0, spare.zero);
    added.seconds[kReduce] = column_or(table.reduce_seconds, n, 0.0, spare.zero);
    added.user = column(table.user, n);
    added.group = column(table.program, n);
    added.block = column(table.block, n);
    if (table.flow == nullptr) {
      spare.first.resize(n);
      std::iota(spare.first.begin(), spare.first.end(), 0);
    }
    added.flow = table.flow == nullptr ? std::span<const std::int64_t>(spare.first)
                                       : std::span<const std::int64_t>(table.flow, n);
    added.after_offset = column_or(table.after_offset, n + 1, std::int64_t{0}, spare.offset);
    added.after = needed("after", table.after, length("after_offset", added.after_offset[n]));
    for (const malleable_column& one :
         needed("more", table.more, length("columns", table.columns))) {
      take_column(one, n, of.scheduler.state().cluster.types(), added);
    }
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

int malleable_scheduler_tell(malleable_scheduler* scheduler, double now, const char* what,
                             malleable_events* events) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    malleable_events& given = needed("events", events);
    sized("events", events);
    const std::string_view name = text("what", what);
    given.ignored = 0;
    if (name == "ready") {
      const Scheduler::Tasks tasks = tasks_of(given);
      return of.scheduler.ready(tasks.ids, tasks.phase, now);
    }
    for (const auto& [known, method] : kEvents) {
      if (name != known) continue;
      given.ignored = (of.scheduler.*method)(tasks_of(given), now);
      return;
    }
    throw std::invalid_argument("what = '" + std::string(name) +
                                "': expected started, ended, failed, lost or ready");
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
                               const int64_t* min_map_slots, const int64_t* min_reduce_slots,
                               const double* restart) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t n = length("count", count);
    Scheduler::Changes changes{column(weight, n),
                               column(deadline, n),
                               {column(map_seconds, n), column(reduce_seconds, n)},
                               {column(min_map_slots, n), column(min_reduce_slots, n)}};
    changes.restart = column(restart, n);
    of.scheduler.update(needed("ids", ids, n), changes, now);
  });
}

int malleable_scheduler_set_users(malleable_scheduler* scheduler, double now, int64_t count,
                                  const int64_t* users, const double* minimum,
                                  const double* priority) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    of.scheduler.set_users(needed("users", users, length("count", count)),
                           people_of(count, minimum, priority), now);
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

int malleable_scheduler_decide(malleable_scheduler* scheduler, double now,
                               malleable_decision* decision) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    malleable_decision& to = with_room("decision", decision, of.scheduler.size());
    const auto made = of.scheduler.decide(now);
    put_rows<Scheduler::Row>(to, made);
    put_order(to, {}, false);
    put_each(to.key, made, &Scheduler::Row::key);
  });
}

int malleable_scheduler_assign(malleable_scheduler* scheduler, double now,
                               const int64_t* free_map_slots, const int64_t* free_reduce_slots,
                               malleable_starts* starts) {
  using Start = Scheduler::Start;
  return with_free(scheduler, free_map_slots, free_reduce_slots,
                   [&](Scheduler& of, const auto& free) {
                     std::size_t most = 0;
                     for (const auto& pool : free) {
                       for (const std::int64_t slots : pool) {
                         if (slots > 0) most += static_cast<std::size_t>(slots);
                       }
                     }
                     malleable_starts& to = with_room("starts", starts, most);
                     const auto made = of.assign(now, free);
                     write_count(&to.rows, made.size());
                     put_each(to.ids, made, &Start::id);
                     put_each(to.phase, made, &Start::phase);
                     put_each(to.task, made, &Start::task);
                     put_each(to.node, made, &Start::node);
                   });
}

int malleable_scheduler_take_back(malleable_scheduler* scheduler, double now,
                                  const int64_t* free_map_slots, const int64_t* free_reduce_slots,
                                  int64_t* ids, int64_t room, int64_t* rows) {
  return with_free(scheduler, free_map_slots, free_reduce_slots,
                   [&](Scheduler& of, const auto& free) {
                     check_room(room, static_cast<std::size_t>(of.running()));
                     const auto taken = of.take_back(now, free);
                     put(ids, taken);
                     write_count(rows, taken.size());
                   });
}

int malleable_scheduler_backup_gains(malleable_scheduler* scheduler, int64_t count,
                                     const int64_t* ids, const int64_t* phase,
                                     const double* seconds, double* gain) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const std::size_t n = length("count", count);
    of.scheduler.backup_gains(needed("ids", ids, n), needed("phase", phase, n),
                              needed("seconds", seconds, n), written("gain", gain, n));
  });
}

int malleable_scheduler_counts(malleable_scheduler* scheduler, int64_t count, const int64_t* ids,
                               int64_t* waiting, int64_t* running, int64_t* finished,
                               double* estimate) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    const auto rows = of.scheduler.rows_of(needed("ids", ids, length("count", count)));
    const auto both = [&](auto* wanted, auto PhaseState::* what) {
      put_each(wanted, rows, [&](Index row) {
        const ClusterState& at = of.scheduler.state();
        return std::array{at.phase(row, kMap).*what, at.phase(row, kReduce).*what};
      });
    };
    both(waiting, &PhaseState::waiting);
    both(running, &PhaseState::running);
    both(finished, &PhaseState::finished);
    both(estimate, &PhaseState::estimate);
  });
}

// Writes each part after the number of its entries.
int malleable_scheduler_history(malleable_scheduler* scheduler, double* numbers, int64_t room,
                                int64_t* count) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    TaskEstimates::History history = of.scheduler.history();
    std::vector<double> all;
    for (const auto* part : parts_of(history)) {
      all.push_back(static_cast<double>(part->size()));
      all.insert(all.end(), part->begin(), part->end());
    }
    write_count(count, all.size());
    if (numbers != nullptr) check_room(room, all.size());
    put(numbers, all);
  });
}

int malleable_scheduler_recall(malleable_scheduler* scheduler, int64_t count,
                               const double* numbers) {
  return with(scheduler, [&](PolicyAndScheduler& of) {
    auto all = needed("numbers", numbers, length("count", count));
    TaskEstimates::History history;
    for (auto* part : parts_of(history)) {
      const double entries = all.empty() ? -1.0 : all[0];
      if (!(entries >= 0.0 && entries < static_cast<double>(all.size()))) {
        throw std::invalid_argument("history: these numbers are none");
      }
      const auto own = all.subspan(1, static_cast<std::size_t>(entries));
      part->assign(own.begin(), own.end());
      all = all.subspan(1 + own.size());
    }
    of.scheduler.recall(history);
  });
}

int malleable_scheduler_next(malleable_scheduler* scheduler, double* time) {
  return with(scheduler,
              [&](PolicyAndScheduler& of) { needed("time", time) = of.scheduler.next(); });
}

int malleable_scheduler_size(malleable_scheduler* scheduler, int64_t* jobs) {
  return with(scheduler, [&](PolicyAndScheduler& of) { write_count(jobs, of.scheduler.size()); });
}
