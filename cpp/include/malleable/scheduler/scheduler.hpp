// The scheduler that an engine drives. The engine reports events; the scheduler says how many slots
// each job should have, why, and which tasks to start where.
//
// Jobs have map and reduce tasks and come alone or as flows; ids are never used twice. Events may
// come in bulk, late, twice or not at all: an impossible event (a task that ended but never
// started) is repaired if possible, and repeated events are ignored. `observe` sets the counts of
// engines that show nothing else. If no times of tasks are reported, estimates follow the
// slot-seconds seen, less those of running tasks: the reported ones, or half a task's time each. A
// job is present until finish() or remove() is called.
//
// All methods check their arguments, and throw before anything changes; if only the policy throws,
// the events stay. Rows of jobs that left are used again after a decision. An event costs O(log
// jobs), a decision the policy's cost and O(present jobs), a start O(log jobs).
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

// Columns of nodes, as ClusterView has them and says their units.
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

// Columns of present jobs that the scheduler keeps (those whose ClusterColumn says that schedulers
// and simulations read them), and of their users.
template <typename T>
using OwnedColumn = std::vector<T>;
struct ClusterTable : ClusterJobColumns<OwnedColumn> {
  ClusterJobsView view() const;
  void resize(std::size_t rows);
  void state(State& s);
};

class Scheduler {
 public:
  struct Person {              // a user
    double minimum, priority;  // guaranteed slots; the larger the priority, the more slots
  };
  // The policy belongs to the caller and must outlive the scheduler. Nodes must be valid (see
  // validate()).
  Scheduler(ClusterNodes nodes, std::span<const Person> users, const SchedulerOptions& options,
            ClusterPolicy& policy);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Adds jobs, one entry each. `flow`: jobs with one number are a flow, which is added in one call;
  // a job comes when the jobs after[after_offset[k]] ... of this call have finished. An arrival
  // after `now` counts as `now`. Returns ids, valid until the next call. `arrival`, the tasks and
  // seconds of both phases, `flow`, `after_offset` and `after` must be given; any other column may
  // be empty and then has its default (model/cluster.hpp). `parents`: job k also waits for the jobs
  // parents[parents_offset[k]] ..., ids of earlier calls, unless they have finished; if left out,
  // no job does.
  struct Additions : ClusterJobsView {
    std::span<const Person> new_users;
    std::span<const std::int64_t> parents_offset = {}, parents = {};
  };
  std::span<const std::int64_t> add(const Additions& jobs, double now);
  // Sets the nodes with copies of the blocks of a job's map tasks, task by task, before any of them
  // started.
  void set_blocks(std::int64_t id, std::size_t copies, std::span<const std::int64_t> node);
  // Fills `node` with the nodes that the policy proposes for `copies` copies of each block of a
  // job. std::invalid_argument if the policy proposes none.
  void place(std::int64_t id, std::size_t copies, std::span<Index> node);

  // Tasks, one row each, or `count` a row. Events of jobs that left are ignored; each call returns
  // how many tasks it ignored.
  struct Tasks {
    std::span<const std::int64_t> ids, phase;
    std::span<const std::int64_t> count = {};  // empty: one a row
    std::span<const std::int64_t> node = {};   // of ended tasks; -1 or empty: unknown
    std::span<const std::int64_t> task = {};   // of failed tasks; -1 or empty: unknown
    std::span<const double> seconds = {};      // of ended tasks; NaN or empty: unknown
    // The part of `seconds` in which a reduce task copied. If it began before all maps had ended:
    // in which it would have copied after that.
    std::span<const double> copying = {};
  };
  std::int64_t started(const Tasks& tasks, double now);
  std::int64_t ended(const Tasks& tasks, double now);
  // The tasks failed and wait again.
  std::int64_t failed(const Tasks& tasks, double now);
  // Maps that had finished must run again, because their output is lost.
  std::int64_t lost(const Tasks& tasks, double now);
  // Tasks of a phase may start (for example reduces, though fewer maps have finished than
  // `slow_start` asks for).
  void ready(std::span<const std::int64_t> ids, std::span<const std::int64_t> phase, double now);

  // Counts by phase: tasks that wait, run, are done, and failed for good; if known, the seconds
  // that running tasks have run together, and the mean seconds of ended tasks (NaN: unknown).
  struct Counts {
    std::span<const std::int64_t> ids, pending[2], running[2], done[2], failed[2];
    std::span<const double> elapsed[2] = {}, seconds[2] = {};
  };
  void observe(const Counts& counts, double now);

  // Overwrites the given columns (others are empty).
  struct Changes {
    std::span<const double> weight, deadline, seconds[2];
    std::span<const std::int64_t> min_slots[2];
    std::span<const std::int64_t> max_slots = {};
    std::span<const Person> new_users = {};
    std::span<const std::int64_t> user = {};
    std::span<const double> restart = {};
  };
  void update(std::span<const std::int64_t> ids, const Changes& changes, double now);
  void set_users(std::span<const std::int64_t> users, std::span<const Person> people, double now);
  // Sets how tasks share processors, when this becomes known later (option `processors`).
  void set_processors(SpeedupPrior prior, double now);
  void set_slots(std::span<const std::int64_t> nodes, std::span<const std::int64_t> maps,
                 std::span<const std::int64_t> reduces, double now);

  // The jobs are done; children that wait for no other job come.
  void finish(std::span<const std::int64_t> ids, double now);
  // Cancels jobs, with all jobs that wait for them.
  void remove(std::span<const std::int64_t> ids, double now);

  // What was learnt of tasks, by the numbers of programs and users.
  TaskEstimates::History history() const { return core_.history(); }
  // Takes over what another scheduler has learnt, before the first job; std::invalid_argument if it
  // is no history.
  void recall(const TaskEstimates::History& history);

  struct Row {
    std::int64_t id;
    std::array<std::int64_t, 2> slots;
    bool changed;
    // By pool: why the job got no more slots. With generic slots, which run maps and reduces, only
    // the first.
    Bound bound[2];
    double key;  // place in the order: the least first
  };
  // Decides the slots of jobs from now on; valid until the next call. Has a row for each job that
  // has slots now or had some after the last decision.
  std::span<const Row> decide(double now);
  // The time at which to decide again even without an event; infinity: at no time.
  double next() const { return core_.next_timer(); }

  struct Start {
    std::int64_t id;
    Phase phase;
    std::int64_t task;  // number of the task, if the job has blocks; -1: any
    Index node;
  };
  // Chooses tasks for these free slots by node; they count as started. Valid until the next call.
  std::span<const Start> assign(double now, const std::span<const std::int64_t> (&free)[2]);
  // With `take_back`: jobs whose last started reduce task the caller must end, because it waits for
  // maps and other tasks find no slot; one entry a task. The tasks count as waiting again. Valid
  // until the next call.
  std::span<const std::int64_t> take_back(double now,
                                          const std::span<const std::int64_t> (&free)[2]);

  // Present jobs.
  std::size_t size() const { return live_; }
  std::size_t users() const { return table_.user_priority.size(); }
  // Running tasks.
  std::int64_t running() const { return core_.running(0) + core_.running(1); }
  double now() const { return core_.state().now; }
  const ClusterState& state() const { return core_.state(); }
  std::string_view rule() const { return core_.rule(); }
  // How much slower its ended tasks were than a task that runs alone, if s running tasks together
  // do s^p.
  double slowed(Index row, Phase p) const { return core_.slowed(row, p); }
  // The mean of that p for a job's tasks.
  double speedup(Index row) const { return core_.speedup(row); }
  ClusterScheduler::Estimate estimate_of(Index row, Phase p) const {
    const bool waits = !jobs_[row].here && core_.learns();
    return waits ? core_.estimate_before(row, p) : core_.estimate_of(row, p);
  }
  // The gain of a backup task for each of these running tasks (kernel/backup_gain), which have run
  // for `age` seconds without waiting for maps; 0: start none. The estimate of a phase is computed
  // once for neighbouring rows of that phase.
  void backup_gains(std::span<const std::int64_t> ids, std::span<const std::int64_t> phase,
                    std::span<const double> age, std::span<double> gain);
  // Expected ends of jobs, also of jobs that wait for others (scheduler_ends.cpp), if slots go by
  // work left over weight, by arrival, equally, by deadline, or by size (the shares of heSRPT,
  // Berg, Vesilo and Harchol-Balter 2020, for the estimated p). `draws`: random futures that are
  // averaged. std::invalid_argument without learning.
  enum class EndsOrder : std::uint8_t { kWork, kArrival, kEqual, kDeadline, kSize };
  struct End {
    std::int64_t id;
    ExpectedEnd end;
  };
  std::vector<End> expected_ends(EndsOrder order, int draws, std::uint64_t seed) const;
  std::int64_t id_of(Index row) const { return ids_.id_of(row); }
  // Rows of ids, which must be present; FieldError otherwise.
  std::span<const Index> rows_of(std::span<const std::int64_t> ids);

  void state(State& s);

 private:
  struct Job {
    std::int64_t missing = 0;  // parents that have not finished
    std::vector<Index> children;
    bool here = false, gone = false;  // no parent is missing; it has left
    double busy[2] = {0.0, 0.0};      // slot-seconds seen
    double since[2] = {0.0, 0.0};     // time up to which they were counted
    std::int64_t unseen[2] = {-1,
                              -1};  // tasks that had ended at the first look; -1: there was none

    void state(State& s) { s(missing, children, here, gone, busy, since, unseen); }
  };
  struct Flow {
    std::vector<Index> rows;
    std::int64_t left = 0;  // jobs that have not left

    void state(State& s) { s(rows, left); }
  };

  Index row_of(std::int64_t id) const;
  // Whether the id has ever been given to a job.
  bool was_known(std::int64_t id) const;
  // scheduler_checks.cpp
  void check(const Additions& jobs) const;
  void check(const Tasks& tasks) const;
  void check(const Counts& counts) const;
  void check(const Changes& changes, std::span<const Index> rows) const;
  void check_users(std::span<const std::int64_t> users, std::span<const Person> people) const;
  Index new_flow();
  // Makes rows for new jobs; then fills them.
  void make_rows(std::size_t count);
  void fill_rows(const Additions& jobs);
  void fill_node_rates(std::span<const double> given);
  template <typename Apply>
  std::int64_t each(const Tasks& tasks, double now, const Apply& apply);
  // A task that is named will run again.
  void put_back(Index row, Phase p, const Tasks& tasks, std::size_t k);
  // Sets the time, and ends waits whose time has come.
  void advance(double now);
  // Tasks have started; returns how many of them do not exist.
  std::int64_t begin(Index row, Phase p, std::int64_t count);
  void add_users(std::span<const Person> people);
  void set_user(Index row, std::int64_t user);
  // The job waits for no other one any more.
  void enter(Index row);
  // The job leaves; jobs that wait for it come, or leave, too.
  void leave(Index row, bool finished);
  // Estimates the seconds of tasks from slot-seconds seen.
  void learn(Index row, Phase p, double running, double now);
  // Rows of flows that left may be used again.
  void release_rows();
  std::int64_t target(Index row, int pool, const ClusterState::Demand& demand) const;
  // For ranks: updates the order of jobs that could use slots; gives slots in that order.
  void update_order(int pool);
  void rank_targets(int pool);
  // Why the job gets no more slots.
  Bound bound(Index row, int pool, const ClusterState::Demand& demand, std::int64_t slots) const;
  void write_row(Index row);
  void set_free(double now, const std::span<const std::int64_t> (&free)[2]);

  ClusterNodes nodes_;
  ClusterTable table_;
  ClusterScheduler core_;
  JobIds ids_;
  std::vector<Job> jobs_;
  std::vector<Flow> flows_;
  std::vector<Index> free_flows_, left_flows_;  // left_flows_: flows of which all jobs left
  std::size_t live_ = 0;                        // jobs that have not left
  Index next_rank_ = 0;                         // place of the next job in the order of arrivals
  NamedRows named_;                             // rows of the ids of one call
  // Workspace of one call: new ids, jobs whose tasks are taken back, new rows, jobs that leave,
  // nodes of ended tasks.
  std::vector<std::int64_t> added_, taken_;
  std::vector<Index> fresh_, leaving_, ended_on_;
  // For policies that give ranks: jobs that could use slots, the least rank first.
  struct Place {
    double rank;
    std::int64_t most, slots;
    Index arrived, row;  // place in the order of arrivals

    bool operator<(const Place& other) const {
      return rank != other.rank ? rank < other.rank : arrived < other.arrived;
    }
  };
  IncrementalOrder<Place> order_[2];
  struct Decided {
    Row row{};  // of the last decision
    // By pool: whether the job is in order_; the slots that ranks give.
    bool has_place[2] = {false, false};
    std::int64_t ranked[2] = {0, 0};
  };
  std::vector<Decided> decided_;          // by row
  std::vector<std::uint8_t> was_listed_;  // by row: by the last decision
  std::vector<Row> rows_;
  std::vector<float> latency_;  // seconds that the policy took in the last decision, by pool
  std::vector<TaskStart> begun_;
  std::vector<Start> starts_;
};

}  // namespace malleable
