// The scheduler that an engine drives: told what happened, it says who should have how many slots,
// why, and which tasks to start where.
//
// Jobs have map and reduce tasks and come alone or as flows; ids are never used twice. Events come
// in bulk, late, twice or not at all: what cannot be (a task that ended but never started) is made
// good where it can be, and what was told already is counted out. `observe` sets the counts of
// engines that show nothing else; where no task's time is told, estimates follow the slot-seconds
// that were seen, less those of tasks that still run: what is told of them, else half of what a
// task takes. Whoever finishes or cancels a job
// says so; until then it is here.
//
// All methods check what they are given, and throw before anything changes; only a policy that
// throws leaves what it was told. Rows of jobs that left are used again after a decision. An event
// costs O(log jobs), a decision what the policy takes and O(jobs present), a start O(log jobs).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "malleable/kernel/incremental_order.hpp"
#include "malleable/model/bound.hpp"
#include "malleable/model/job_ids.hpp"
#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

// Columns of nodes, as ClusterView has them.
struct ClusterNodes {
  std::vector<std::int64_t> slots[2], type;
  std::vector<double> rate, storage, link, memory, gpus;
  std::vector<std::uint64_t> partitions;
  bool generic = false;

  ClusterView view() const {
    return {slots[0], slots[1], rate, type, storage, link, generic, partitions, memory, gpus};
  }
  void state(State& s) { s(slots, type, rate, storage, link, memory, gpus, partitions, generic); }
};

// Columns of jobs that are here, those that the scheduler keeps, and of their users.
template <typename T>
using OwnedColumn = std::vector<T>;
struct ClusterTable : ClusterJobColumns<OwnedColumn> {
  ClusterJobsView view() const;
  void resize(std::size_t rows);
  void state(State& s);
};

class Scheduler {
 public:
  struct Person {
    double minimum, priority;
  };
  // The policy stays the caller's and must outlive the scheduler. Valid nodes (see validate()).
  Scheduler(ClusterNodes nodes, std::span<const Person> users, const SchedulerOptions& options,
            ClusterPolicy& policy);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // New jobs, one entry each. `flow`: jobs of one number are a flow, all of which is added at once;
  // a job comes when the jobs after[after_offset[k]] ... of this call have finished. A job that
  // arrives after `now` does so now. Returns ids, valid until the next call.
  // Columns that the scheduler is told are complete but for max_slots, speedup (its p), block and
  // node_rates, which may be left out.
  // `parents`: job k also waits for the jobs parents[parents_offset[k]] ..., ids of earlier calls,
  // unless they have finished; left out, nobody does.
  struct Additions : ClusterJobsView {
    std::span<const Person> new_users;
    std::span<const std::int64_t> parents_offset = {}, parents = {};
  };
  std::span<const std::int64_t> add(const Additions& jobs, double now);
  // Nodes with copies of the blocks of a job's map tasks, task by task, before any of them started.
  void set_blocks(std::int64_t id, std::size_t copies, std::span<const std::int64_t> node);
  // Where the policy would have `copies` copies of each of as many blocks of a job as `node` has
  // room for. std::invalid_argument if the policy has no such wish.
  void place(std::int64_t id, std::size_t copies, std::span<Index> node);

  // Tasks, one row each, or `count` of them. What is told of jobs that left is ignored; each call
  // returns how many tasks it could not place.
  struct Tasks {
    std::span<const std::int64_t> ids, phase;
    std::span<const std::int64_t> count = {};  // empty: one each
    std::span<const std::int64_t> node = {};   // of those that ended; -1 or empty: unknown
    std::span<const std::int64_t> task = {};   // of those that failed; -1 or empty: unknown
    std::span<const double> seconds = {};      // of those that ended; NaN or empty: unknown
    // Of these: what a reduce task took, or would have taken, to copy once all maps had ended.
    std::span<const double> copying = {};
  };
  std::int64_t started(const Tasks& tasks, double now);
  std::int64_t ended(const Tasks& tasks, double now);
  // They wait again.
  std::int64_t failed(const Tasks& tasks, double now);
  // Maps that had finished run again: what they left is gone.
  std::int64_t lost(const Tasks& tasks, double now);
  // Tasks of a phase may start (reduces, say, whatever slow start says).
  void ready(std::span<const std::int64_t> ids, std::span<const std::int64_t> phase, double now);

  // Counts as they are, by phase: tasks that wait, run, are done, and failed for good; where it is
  // known, the seconds that those that run have run, all together, and the mean seconds of those
  // that ended (NaN: not known).
  struct Counts {
    std::span<const std::int64_t> ids, pending[2], running[2], done[2], failed[2];
    std::span<const double> elapsed[2] = {}, seconds[2] = {};
  };
  void observe(const Counts& counts, double now);

  // Overwrites what is given (the others empty).
  struct Changes {
    std::span<const double> weight, deadline, seconds[2];
    std::span<const std::int64_t> min_slots[2];
    std::span<const std::int64_t> max_slots = {};
    std::span<const Person> new_users = {};
    std::span<const std::int64_t> user = {};
  };
  void update(std::span<const std::int64_t> ids, const Changes& changes, double now);
  void set_users(std::span<const std::int64_t> users, std::span<const Person> people, double now);
  // Whether tasks have processors of their own, as is known now (option `processors`).
  void set_processors(SpeedupPrior prior, double now);
  void set_slots(std::span<const std::int64_t> nodes, std::span<const std::int64_t> maps,
                 std::span<const std::int64_t> reduces, double now);

  // Done: children that wait for nobody else come.
  void finish(std::span<const std::int64_t> ids, double now);
  // Cancelled, with all that wait for them.
  void remove(std::span<const std::int64_t> ids, double now);

  // What was learnt of tasks; of the programs whose numbers jobs have.
  TaskEstimates::History history() const { return core_.history(); }
  // What another scheduler had learnt, before the first job; std::invalid_argument for what is no
  // history.
  void recall(const TaskEstimates::History& history);

  struct Row {
    std::int64_t id;
    std::array<std::int64_t, 2> slots;
    bool changed;
    Bound bound[2];  // one, with generic slots
    double key;      // of the order: the least first
  };
  // Who should have how many slots, from now on; valid until the next call. Names jobs that have
  // slots now or had some after the decision before.
  std::span<const Row> decide(double now);
  // When the next decision is worth while though nothing happens; infinity: then only.
  double next() const { return core_.next_timer(); }

  struct Start {
    std::int64_t id;
    Phase phase;
    std::int64_t task;  // of a job with blocks; -1: any
    Index node;
  };
  // Tasks for these free slots by node, which count as started; valid until the next call.
  std::span<const Start> assign(double now, const std::span<const std::int64_t> (&free)[2]);
  // Jobs whose reduce task that started last is to be ended, as it waits for maps and others find
  // no slot (`take_back`), one entry a task; they count as waiting again. Valid until the next
  // call.
  std::span<const std::int64_t> take_back(double now,
                                          const std::span<const std::int64_t> (&free)[2]);

  std::size_t size() const { return live_; }
  std::size_t users() const { return table_.user_priority.size(); }
  // Tasks.
  std::int64_t running() const { return core_.running(0) + core_.running(1); }
  double now() const { return core_.state().now; }
  const ClusterState& state() const { return core_.state(); }
  std::string_view rule() const { return core_.rule(); }
  // By how much its tasks that ended were slower than one that runs alone, as p says.
  double slowed(Index row, Phase p) const { return core_.slowed(row, p); }
  // What is believed of p of a job's tasks.
  double speedup(Index row) const { return core_.speedup(row); }
  ClusterScheduler::Estimate estimate_of(Index row, Phase p) const {
    const bool waits = !jobs_[row].here && core_.learns();
    return waits ? core_.estimate_before(row, p) : core_.estimate_of(row, p);
  }
  // What a backup task of each of these running tasks would gain (kernel/backup_gain), which has
  // run for `age` seconds without what it waited for maps; 0: it is to have none. Of tasks of one
  // phase that follow each other what is believed is found once.
  void backup_gains(std::span<const std::int64_t> ids, std::span<const std::int64_t> phase,
                    std::span<const double> age, std::span<double> gain);
  // When jobs are expected to end, those that wait for others too (scheduler_ends.cpp): slots go
  // by work left over weight, by arrival, equally, by deadline, or by size, as shares of heSRPT for
  // what is believed of p. std::invalid_argument if nothing is learnt.
  enum class EndsOrder : std::uint8_t { kWork, kArrival, kEqual, kDeadline, kSize };
  struct End {
    std::int64_t id;
    ExpectedEnd end;
  };
  std::vector<End> expected_ends(EndsOrder order, int draws, std::uint64_t seed) const;
  std::int64_t id_of(Index row) const { return ids_.id_of(row); }
  // Of ids that are here; FieldError otherwise.
  std::span<const Index> rows_of(std::span<const std::int64_t> ids);

  void state(State& s);

 private:
  struct Job {
    std::int64_t missing = 0;  // parents that have not finished
    std::vector<Index> children;
    bool here = false, gone = false;
    double busy[2] = {0.0, 0.0};   // slot-seconds seen
    double since[2] = {0.0, 0.0};  // up to when
    std::int64_t unseen[2] = {-1,
                              -1};  // tasks that had ended at the first look; -1: there was none

    void state(State& s) { s(missing, children, here, gone, busy, since, unseen); }
  };
  struct Flow {
    std::vector<Index> rows;
    std::int64_t left = 0;

    void state(State& s) { s(rows, left); }
  };

  Index row_of(std::int64_t id) const;
  bool was_there(std::int64_t id) const;
  // scheduler_checks.cpp
  void check(const Additions& jobs) const;
  void check(const Tasks& tasks) const;
  void check(const Counts& counts) const;
  void check(const Changes& changes, std::span<const Index> rows) const;
  void check_users(std::span<const std::int64_t> users, std::span<const Person> people) const;
  Index take_flow();
  void make_rows(std::size_t count);
  void fill_rows(const Additions& jobs);
  void fill_node_rates(std::span<const double> given);
  template <typename Apply>
  std::int64_t each(const Tasks& tasks, double now, const Apply& apply);
  void put_back(Index row, Phase p, const Tasks& tasks, std::size_t k);
  void advance(double now);
  std::int64_t begin(Index row, Phase p, std::int64_t count);
  void add_users(std::span<const Person> people);
  void set_user(Index row, std::int64_t user);
  void come(Index row);
  void leave(Index row, bool finished);
  void learn(Index row, Phase p, double running, double now);
  void release_rows();
  std::int64_t target(Index row, int pool, const ClusterState::Demand& demand) const;
  void bring_in_order(int pool);
  void rank_targets(int pool);
  Bound bound(Index row, int pool, const ClusterState::Demand& demand, std::int64_t slots) const;
  void say(Index row);
  void set_free(double now, const std::span<const std::int64_t> (&free)[2]);

  ClusterNodes nodes_;
  ClusterTable table_;
  ClusterScheduler core_;
  JobIds ids_;
  std::vector<Job> jobs_;
  std::vector<Flow> flows_;
  std::vector<Index> free_flows_, limbo_;  // limbo_: flows of which all jobs left
  std::size_t live_ = 0;
  Index next_rank_ = 0;
  NamedRows named_;
  std::vector<std::int64_t> added_, taken_;
  std::vector<Index> fresh_, leaving_, ended_on_;
  // Where a policy gives ranks: who could use slots, the least rank first.
  struct Place {
    double value;
    std::int64_t most, slots;
    Index rank, row;

    bool operator<(const Place& other) const {
      return value != other.value ? value < other.value : rank < other.rank;
    }
  };
  IncrementalOrder<Place> order_[2];
  std::vector<std::uint8_t> has_place_[2];  // by row
  std::vector<std::int64_t> ranked_[2];     // by row: slots that ranks give
  // By row, as the last decision had it, and whether it named the row.
  std::vector<Row> said_;
  std::vector<std::uint8_t> named_before_;
  std::vector<Row> rows_;
  std::vector<float> latency_;
  std::vector<TaskStart> begun_;
  std::vector<Start> starts_;
};

}  // namespace malleable
