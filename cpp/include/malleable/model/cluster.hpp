// A cluster's nodes, and jobs made of map and reduce tasks, as structs of arrays; the one place
// where their numbers are checked.
//
// Times are seconds, data are bytes. A node has slots of its own for maps and for reduces, or
// generic ones that run both: then all of its slots count as `map_slots`. A task of `s` seconds
// takes s / rate on a node. Views never own. An empty column of jobs has the value that its comment
// names.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "malleable/model/domain.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"
#include "malleable/model/terms.hpp"

namespace malleable {

enum Phase : std::uint8_t { kMap = 0, kReduce = 1 };

// What a task needs on its node beside a slot, and the partition it may run in (-1: any).
struct TaskNeeds {
  double memory = 0.0, gpus = 0.0;
  std::int64_t partition = -1;

  bool may_run_in(std::uint64_t partitions) const {
    return partition < 0 || (partitions >> static_cast<std::uint64_t>(partition) & 1) != 0;
  }
  void state(State& s) { s(memory, gpus, partition); }
};

// What a node has, or what is free on it: slots, memory [bytes], GPUs.
struct NodeRoom {
  std::int64_t slots = 0;
  double memory = kInfinity, gpus = kInfinity;

  // The number of tasks that it has room for.
  std::int64_t fit(const TaskNeeds& needs) const {
    return std::max<std::int64_t>(0, least(least(slots, memory, needs.memory), gpus, needs.gpus));
  }
  // Gives back what so many tasks held; takes it if `tasks` is below 0.
  void give(const TaskNeeds& needs, std::int64_t tasks) {
    slots += tasks;
    memory += needs.memory * static_cast<double>(tasks);
    gpus += needs.gpus * static_cast<double>(tasks);
  }
  // The smaller amount of each.
  void narrow(const NodeRoom& other) {
    slots = std::min(slots, other.slots);
    memory = std::min(memory, other.memory);
    gpus = std::min(gpus, other.gpus);
  }

 private:
  // As many of these tasks as fit: each takes `takes` of the amount `has`.
  static std::int64_t least(std::int64_t tasks, double has, double takes) {
    if (!(takes > 0.0 && has < static_cast<double>(tasks) * takes)) return tasks;
    // After many tasks the free amount may be off by rounding.
    return static_cast<std::int64_t>(std::max(0.0, has / takes + 1e-6));
  }
};

struct ClusterView {
  std::span<const std::int64_t> map_slots;
  std::span<const std::int64_t> reduce_slots;  // all 0 with generic slots
  std::span<const double> rate;                // speed; 1: tasks take the seconds in the table
  std::span<const std::int64_t> type;          // type of node: index of its name
  std::span<const double> storage;             // bytes a second read from the node's own disks
  std::span<const double> link;                // bytes a second into the node, and also out of it
  bool generic = false;
  // Each may be empty: one partition, any memory, any number of GPUs.
  std::span<const std::uint64_t> partitions = {};  // partitions that the node is in, as bits
  std::span<const double> memory = {}, gpus = {};  // bytes; number

  std::size_t size() const { return rate.size(); }
  NodeRoom room_on(std::size_t node) const {
    return {map_slots[node], memory.empty() ? kInfinity : memory[node],
            gpus.empty() ? kInfinity : gpus[node]};
  }
  std::size_t types() const {
    return type.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(type)) + 1;
  }
};

// A column of jobs: its name, its length, the numbers it may have, and the part that reads it.
struct ClusterColumn {
  // Entries: one a row; one more than rows (offsets into the next column); any number.
  enum class Length : std::uint8_t { kRows, kOffsets, kAny };
  // The column is given to schedulers and simulations alike, or to only one of them.
  enum class ReadBy : std::uint8_t { kEverywhere, kSchedulerOnly, kSimulation };

  const char* name;
  ReadBy read_by = ReadBy::kSimulation;
  const Range* range = nullptr;       // range of real numbers; null: checked elsewhere
  std::int64_t least = 0, most = -1;  // range of whole numbers; most < least: checked elsewhere
  double fallback = 0.0;              // the value if the column is left out
  bool needed = false;                // may not be left out
  Length length = Length::kRows;
};

inline constexpr std::int64_t kMostTasks = std::int64_t{1} << 31;  // tasks of one phase of a job

// Columns of jobs: views of them, or vectors. An empty column has the value that its comment names.
//
// Arrays of two: by phase. Task t of job j in phase p is number offset[p][j] + t of `seconds[p]`;
// where `offset[p]` is empty all tasks of a job take seconds[p][j].
template <template <typename> typename C>
struct ClusterJobColumns {
  C<double> arrival;
  C<std::int64_t> tasks[2];
  C<double> seconds[2];  // of a reduce task: after copying
  C<std::int64_t> offset[2];
  C<double> shuffle;             // seconds that each reduce task copies; 0
  C<double> block;               // bytes that each map task reads; 0
  C<std::int64_t> min_slots[2];  // 0
  // Tasks that may run at once on slots of one kind; empty: any number.
  C<std::int64_t> max_slots;
  // How many map tasks start together, on as many slots; all tasks of a rigid job. Empty: 1.
  C<std::int64_t> width;
  // Whether as many tasks as the minimum start together: 1 yes, 0 no; -1: the policy's option says.
  C<std::int64_t> min_mode;
  // requested time: seconds that a map task takes at most, as stated; 0: unknown
  C<double> requested;
  // Needs of a map task: the partition it may run in (-1: any), bytes and GPUs on its node.
  C<std::int64_t> partition;
  C<double> memory, gpus;  // 0
  // Seconds that a slot does nothing before its first task of the job, if it worked for another
  // job; 0.
  C<double> restart;
  C<double> weight;       // 1
  C<double> deadline;     // none (infinity)
  C<std::uint8_t> kind;   // kind of penalty (model/penalties.hpp); the objective's
  C<std::int64_t> user;   // 0
  C<std::int64_t> group;  // program of which the job is a run; -1: none
  C<std::int64_t> flow;   // number of the flow; each job is its own flow
  // Job j becomes present when it has arrived and the jobs after[after_offset[j]] ... have
  // finished.
  C<std::int64_t> after_offset, after;
  // s running tasks of a phase of job j together do what one alone does in rates[rate_offset[j] + s
  // - 1] times its time; beyond the end of the job's rates, as at the end. A job without rates has
  // the common speed-up of the simulation.
  C<std::int64_t> rate_offset;
  C<double> rates;
  // The exponent that a user's own policy sees: p if s tasks do s^p; 1.
  C<double> exponent;
  // By job, phase and type of nodes: the rate of such nodes for the job. NaN, or empty: the rate of
  // the node.
  C<double> node_rates;
  C<std::int64_t> id;       // ids that callers use; empty: rows
  C<double> user_minimum;   // guaranteed slots, one entry a user; 0
  C<double> user_priority;  // 1

  // The table of columns: calls visit(ClusterColumn, the column of each table) for every column
  // with a public name, first the columns that give the number of rows.
  template <typename Visit, typename... Tables>
  static void each(const Visit& visit, Tables&... tables) {
    using enum ClusterColumn::ReadBy;
    using enum ClusterColumn::Length;
    const Range* const work = &kWorkRange;
    const auto phase = [&](Phase p, const char* count, const char* length, const char* first,
                           const char* least) {
      visit(
          ClusterColumn{.name = count, .read_by = kEverywhere, .most = kMostTasks, .needed = true},
          tables.tasks[p]...);
      visit(ClusterColumn{.name = length,
                          .read_by = kSchedulerOnly,
                          .range = work,
                          .needed = true,
                          .length = kAny},
            tables.seconds[p]...);
      visit(ClusterColumn{.name = first, .length = kOffsets}, tables.offset[p]...);
      visit(ClusterColumn{.name = least, .read_by = kEverywhere, .most = kMostSlots},
            tables.min_slots[p]...);
    };
    visit(ClusterColumn{.name = "arrival", .read_by = kEverywhere, .needed = true},
          tables.arrival...);
    phase(kMap, "maps", "map_seconds", "map_offset", "min_map_slots");
    phase(kReduce, "reduces", "reduce_seconds", "reduce_offset", "min_reduce_slots");
    visit(ClusterColumn{.name = "shuffle", .range = work}, tables.shuffle...);
    visit(ClusterColumn{.name = "block", .read_by = kEverywhere, .range = &kBytesRange},
          tables.block...);
    visit(ClusterColumn{.name = "width",
                        .read_by = kEverywhere,
                        .least = 1,
                        .most = kMostTasks,
                        .fallback = 1.0},
          tables.width...);
    visit(
        ClusterColumn{
            .name = "min_mode", .read_by = kEverywhere, .least = -1, .most = 1, .fallback = -1.0},
        tables.min_mode...);
    visit(ClusterColumn{.name = "requested", .read_by = kEverywhere, .range = work},
          tables.requested...);
    visit(
        ClusterColumn{
            .name = "partition", .read_by = kEverywhere, .least = -1, .most = 63, .fallback = -1.0},
        tables.partition...);
    visit(ClusterColumn{.name = "memory", .read_by = kEverywhere, .range = &kBytesRange},
          tables.memory...);
    visit(ClusterColumn{.name = "gpus", .read_by = kEverywhere, .range = &kWeightRange},
          tables.gpus...);
    visit(ClusterColumn{.name = "restart", .read_by = kEverywhere, .range = &kWeightRange},
          tables.restart...);
    visit(
        ClusterColumn{
            .name = "weight", .read_by = kEverywhere, .range = &kWeightRange, .fallback = 1.0},
        tables.weight...);
    visit(ClusterColumn{.name = "deadline", .read_by = kEverywhere, .fallback = kInfinity},
          tables.deadline...);
    visit(ClusterColumn{.name = "kind"}, tables.kind...);
    visit(ClusterColumn{.name = "user", .read_by = kEverywhere}, tables.user...);
    visit(ClusterColumn{.name = "group", .read_by = kEverywhere, .fallback = -1.0},
          tables.group...);
    visit(ClusterColumn{.name = "flow", .read_by = kEverywhere}, tables.flow...);
    visit(ClusterColumn{.name = "after_offset", .read_by = kSchedulerOnly, .length = kOffsets},
          tables.after_offset...);
    visit(ClusterColumn{.name = "after", .read_by = kSchedulerOnly, .length = kAny},
          tables.after...);
    visit(ClusterColumn{.name = "rate_offset", .length = kOffsets}, tables.rate_offset...);
    visit(ClusterColumn{.name = "rates", .length = kAny}, tables.rates...);
    visit(ClusterColumn{.name = "max_slots",
                        .read_by = kEverywhere,
                        .least = 1,
                        .most = kAllSlots,
                        .fallback = 0x1p62},
          tables.max_slots...);
    visit(
        ClusterColumn{
            .name = "speedup", .read_by = kEverywhere, .range = &kPartRange, .fallback = 1.0},
        tables.exponent...);
    visit(ClusterColumn{.name = "node_rates", .read_by = kSchedulerOnly, .length = kAny},
          tables.node_rates...);
    visit(ClusterColumn{.name = "user_minimum", .range = &kWeightRange, .length = kAny},
          tables.user_minimum...);
    visit(ClusterColumn{.name = "user_priority", .range = &kRateRange, .length = kAny},
          tables.user_priority...);
  }
};

template <typename T>
using ViewedColumn = std::span<const T>;

struct ClusterJobsView : ClusterJobColumns<ViewedColumn> {
  SlaView sla;  // may be empty: no steps

  std::size_t size() const { return arrival.size(); }

  double weight_of(std::size_t j) const { return weight.empty() ? 1.0 : weight[j]; }
  std::int64_t width_of(Phase p, std::size_t j) const {
    return p != kMap || width.empty() ? 1 : width[j];
  }
  double requested_of(Phase p, std::size_t j) const {
    return p != kMap || requested.empty() ? 0.0 : requested[j];
  }
  TaskNeeds needs_of(std::size_t j) const {
    return {memory.empty() ? 0.0 : memory[j], gpus.empty() ? 0.0 : gpus[j],
            partition.empty() ? -1 : partition[j]};
  }
  double restart_of(std::size_t j) const { return restart.empty() ? 0.0 : restart[j]; }
  double exponent_of(std::size_t j) const { return exponent.empty() ? 1.0 : exponent[j]; }
  std::int64_t id_of(std::size_t j) const {
    return id.empty() ? static_cast<std::int64_t>(j) : id[j];
  }
  double deadline_of(std::size_t j) const { return deadline.empty() ? kInfinity : deadline[j]; }
  SlaView::Steps steps_of(std::size_t j) const {
    return sla.given() ? sla.of(j) : SlaView::Steps{};
  }
  Kind kind_of(std::size_t j, Kind usual) const {
    return kind.empty() ? usual : static_cast<Kind>(kind[j]);
  }
  std::int64_t minimum_of(Phase p, std::size_t j) const {
    return min_slots[p].empty() ? 0 : min_slots[p][j];
  }
  // Whether the job starts as many tasks as its minimum together; `otherwise`: the policy's option.
  bool starts_together(std::size_t j, bool otherwise) const {
    return min_mode.empty() || min_mode[j] < 0 ? otherwise : min_mode[j] == 1;
  }
  std::int64_t maximum_of(std::size_t j) const {
    return max_slots.empty() ? kMostSlots : max_slots[j];
  }
  std::int64_t group_of(std::size_t j) const { return group.empty() ? -1 : group[j]; }
  std::size_t user_of(std::size_t j) const {
    return user.empty() ? 0 : static_cast<std::size_t>(user[j]);
  }
  double seconds_of(Phase p, std::size_t j, std::size_t t) const {
    return offset[p].empty() ? seconds[p][j]
                             : seconds[p][static_cast<std::size_t>(offset[p][j]) + t];
  }
  double rate_on(const ClusterView& cluster, std::size_t node, Phase p, std::size_t j) const {
    if (node_rates.empty()) return cluster.rate[node];
    const std::size_t types = node_rates.size() / (2 * size());
    const double own =
        node_rates[(2 * j + p) * types + static_cast<std::size_t>(cluster.type[node])];
    return std::isnan(own) ? cluster.rate[node] : own;
  }
  // Slot-seconds of a phase on nodes of rate 1; O(1), or O(tasks) if each task has its own seconds.
  double work_of(Phase p, std::size_t j) const;
};

// Throw FieldError for the first invalid value, std::invalid_argument for lengths that differ.
// O(nodes), O(jobs + tasks listed).
void validate(const ClusterView& cluster);
void validate(const ClusterJobsView& jobs);
// Checks rates of 1, 2 ... tasks that run at once: above 0, finite, never falling. Errors name job
// `row`.
void validate_rates(std::span<const double> rates, std::size_t row);
// Checks node_rates: an entry for each job, phase and type of nodes.
void validate_node_rates(const ClusterView& cluster, const ClusterJobsView& jobs);
// Throws for jobs that no node can run (for example reduces without reduce slots).
void validate_fit(const ClusterView& cluster, const ClusterJobsView& jobs);

}  // namespace malleable
