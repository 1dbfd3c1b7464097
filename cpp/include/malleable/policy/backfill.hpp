// Backfill: rigid jobs, each of which runs on exactly its number of slots or waits, and malleable
// jobs between them.
//
// The queue has an order. FCFS starts its first jobs and stops at the first job that does not fit.
// EASY gives that job a reservation: it adds up the slots of running jobs by their expected ends
// until the job fits (the shadow time; slots left over then are spare), and starts later jobs that
// end before, or that use only spare slots (Lifka 1995; as printed in Mu'alem and Feitelson 2001).
// Example: 4 slots, 3 of them busy until 10. The first job wants 4 slots, so its shadow time is 10
// and nothing is spare; behind it, one on 1 slot for 8 s starts at 1, one for 12 s does not.
// CONSERVATIVE gives every job the earliest place that earlier jobs leave, again at each event.
// Times are requested times, or estimates if there are none; a job that outlives its time is
// expected to end at once.
//
// AUTO simulates: it plays EASY for the present jobs to their end with several orders of the queue,
// and follows the order with the best objective until the next event; orders other than arrival
// must be better by a tenth. A job that got a reservation keeps it until it starts, because orders
// change and slots that idled for it would have idled for nothing; not if slowdowns count, as then
// short jobs go first at any time. Orders: arrival, shortest first, seconds times the square root
// of slots, and shortest first where only a job that waited for long has a reservation. In each of
// them a job goes first, by arrival, once it has waited for a multiple of the time on all slots of
// all work that was present when it came: four times for mean responses, twenty times for
// slowdowns. Work counts by the part of requested times that jobs have really used so far. The
// order is chosen again when the jobs that came or ended are one for 32 waiting jobs.
//
// Nodes of the same partitions form a cell (one node does if memory or GPUs are given); free slots
// are counted by cell. A job starts if its partition has room for all its tasks. A reservation
// takes cells in order, first the cells that fewest jobs could use. Each cell has its own first
// job: the first in the queue that may run there, so that no partition waits for another.
//
// A pool is the slots of one kind (0: maps, 1: reduces; generic slots: all in pool 0), and has a
// queue of its own.
//
// Orders WFP3 and UNICEF are from Tang et al. 2009, F1 from Carastan-Santos and de Camargo 2017.
//
// Tasks start in bundles of the job's `width`. A malleable job (width 1) starts as many as fit in
// its turn; each of them is like a job that ends when the task is expected to end.
//
// Per event, with Q jobs that wait, R bundles that run and C cells: O(C (Q + R)), and O(Q log Q)
// where the order depends on time; conservative O(C Q (Q + R)), at most C times that where cells
// are several; auto O(C Q (Q + R)) an order, only where orders differ in what they start now.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/policy_options.hpp"

namespace malleable {

// The jobs that get a reservation: none (FCFS), the first one (EASY), each (CONSERVATIVE), or as
// the best order says (AUTO).
enum class Reserve : std::uint8_t { kNone, kFirst, kEach, kBest };

struct BackfillOptions {
  Reserve reserve = Reserve::kFirst;
  QueueOrder order = QueueOrder::kArrival;
  bool stretch = false;  // AUTO: ends count over the job's seconds
};

class Backfill final : public ClusterPolicy {
 public:
  explicit Backfill(const BackfillOptions& options) : options_(options) {}

  Style style() const override { return Style::kStarts; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void stated_time_changed(const ClusterState& state, Index job, Phase, double) override;
  bool listens() const override { return apart_; }  // which node a task leaves matters only then
  void task_finished(const ClusterState& state, Index job, Phase p, Index node, double) override;
  void counts_changed(const ClusterState& state, Index job, int pool) override;
  void starts(const ClusterState& state, int pool, std::vector<Start>& found) override;
  void keep(const ClusterState& state, State& s) override;

 private:
  struct Waiting {
    double key = 0.0;
    Index rank = 0, job = 0;  // rank: place in the order of arrivals, which breaks ties
    Phase phase = kMap;
    std::int64_t width = 1, tasks = 0;                // tasks that may start
    double seconds = 0.0, since = 0.0, weight = 1.0;  // requested; time since which it waits
    double overdue = 0.0;                             // time from which it goes first
  };
  struct Bundle {  // running tasks that are expected to end together
    double end;
    Index rank, job;
    std::int64_t slots;
    Index cell;

    void state(State& s) { s(end, rank, job, slots, cell); }
  };
  struct Job {
    double since = -1.0;  // it has waited
    double work = 0.0;    // slot-seconds of work that were present then
    // By pool: key in the queue; tasks known to run; whether it is in the queue.
    double key[2] = {0.0, 0.0};
    std::int64_t running[2] = {0, 0};
    bool waits[2] = {false, false};
    bool holds = false;  // AUTO: keeps a reservation until it starts
    TaskNeeds needs;

    void state(State& s) { s(since, work, key, running, waits, holds, needs); }
  };
  struct Pool {
    std::vector<Waiting> queue;   // by key, then rank
    std::vector<Bundle> running;  // by end, then rank
    Index follows = kNone;        // AUTO's order
    std::size_t changes = 0;      // jobs that came or ended since it was chosen

    void state(State& s) { s(running, follows, changes); }
  };
  struct Usage {  // of a user: fading sum of slot-seconds, and slots held now
    double used = 0.0;
    std::int64_t slots = 0;

    void state(State& s) { s(used, slots); }
  };
  struct Taken {  // so many tasks of a place in the queue, on nodes of a cell
    Index place, cell;
    std::int64_t tasks;

    friend auto operator<=>(const Taken&, const Taken&) = default;
  };
  struct Cell {
    std::uint64_t partitions;
    std::vector<Index> nodes;
  };
  struct Room {  // free slots, memory and GPUs
    std::vector<NodeRoom> cell;
    std::int64_t free = 0;  // slots of all cells
  };
  // One of AUTO's orders, or EASY's only one.
  struct Play {
    std::vector<Index> order;    // places in the queue
    bool holds = true;           // the first job that does not fit gets a reservation
    std::vector<Taken> first;    // tasks that start now, by place
    std::vector<Index> holders;  // places with a reservation now
  };

  std::size_t place_of(const Pool& pool, double key, Index rank) const;
  void leave_queue(int pool, Index job, Index rank);
  void join_queue(const ClusterState& state, Index job, int pool, Phase p, std::int64_t tasks);
  // Updates a job's running bundles to its count of running tasks.
  void settle_bundles(const ClusterState& state, Index job, int pool);
  // Removes tasks that ended.
  void drop(const ClusterState& state, Index job, Phase p, std::int64_t tasks, Index cell);
  // The time for which a task's slots are reserved: requested, stated or estimated.
  double seconds_of(const ClusterState& state, Index job, Phase p) const;
  double key_of(const ClusterState& state, const Waiting& job) const;
  // Requested slot-seconds of jobs that wait or run on a pool.
  double work_here(const ClusterState& state, int pool) const;
  // Computes all keys, and sorts the queue again.
  void reorder(const ClusterState& state, Pool& pool);
  // Adds the slots held since the last change to each user's usage.
  void age_usage(double now);
  void make_cells(const ClusterView& cluster);
  void count_free(const ClusterState& state, int pool);
  std::int64_t fit(const NodeRoom& room, std::size_t cell, const TaskNeeds& needs) const {
    return needs.may_run_in(cells_[cell].partitions) ? room.fit(needs) : 0;
  }
  // How many tasks have room; with `end`: until then, also beside reservations.
  std::int64_t most(std::span<const NodeRoom> room, const TaskNeeds& needs) const;
  std::int64_t most(const Room& room, const Room& later, const TaskNeeds& needs, double end) const;
  // Takes room for tasks until `end`, cell by cell.
  void take(Room& room, Room& later, Index place, const TaskNeeds& needs, double end,
            std::int64_t tasks, std::vector<Taken>& taken) const;
  // One pass over the queue: lists the jobs that start now, and makes reservations.
  void pass(const Pool& pool, const Play& play, std::span<const Bundle> running, const Room& room,
            double now, std::vector<Taken>& taken);
  // Makes a reservation (shadow_, later_) in all cells without one; returns their number.
  std::size_t reserve(const Pool& pool, std::span<const Bundle> running,
                      std::span<const Taken> taken, double now, const TaskNeeds& needs,
                      std::int64_t tasks);
  // The time at which so many tasks have room; infinite if never.
  double find_room(const Pool& pool, std::span<const Bundle> running, std::span<const Taken> taken,
                   double now, const TaskNeeds& needs, std::int64_t tasks);
  // CONSERVATIVE: finds a place for each job, one after the other.
  void conserve(const Pool& pool, double now);
  // The first step from which there is room for all of the job's seconds.
  std::size_t earliest(const Waiting& job);
  std::span<NodeRoom> step(std::size_t k) {
    return std::span(steps_).subspan(k * cells_.size(), cells_.size());
  }
  void add_step(std::size_t k, double time);
  // AUTO: the cost of an order if no jobs come; infinite once it exceeds `least`.
  double play_out(const Pool& pool, Play& play, double now, double least);
  // Puts jobs that have waited too long first; returns when the next one will have.
  double put_first(const Pool& pool, Play& play, double now) const;
  void count_left(const Pool& pool);
  // AUTO: sets taken_ to the starts of the order with the least cost.
  void choose(Pool& pool, double now);
  void keep_reservations(Pool& pool, const Play& play);
  // Lists starts with their nodes.
  void list_starts(int pool, std::vector<Start>& found);

  BackfillOptions options_;
  Pool pools_[2];
  std::vector<Job> jobs_;
  double first_ = kInfinity;         // earliest arrival of all jobs
  std::vector<Usage> usage_;         // by user
  double aged_ = 0.0;                // time up to which usage is counted
  double asked_ = 0.0, used_ = 0.0;  // slot-seconds of ended bundles: requested, and used
  std::vector<Cell> cells_;
  // nodes differ, so it matters on which node a job runs
  bool apart_ = false;
  std::vector<Index> cell_of_;                      // by node
  std::vector<std::pair<Index, Taken>> announced_;  // jobs that start, and their cells
  // Room now; in a pass; beside the reservations, when they begin; at a time that is tried; in a
  // play; and during all of a job's seconds (CONSERVATIVE).
  Room room_, passed_, later_, then_, played_, window_;
  std::vector<double> shadow_;  // by cell: when its reservation begins
  std::vector<Play> plays_;
  std::vector<Index> holders_;  // of the last pass
  // Starts of a decision, of a play's step, of one job.
  std::vector<Taken> taken_, step_, step_taken_;
  std::vector<Bundle> ends_, ahead_;  // running bundles of a play; bundles that start in it
  // By place in the queue: tasks that have not started; by node: free slots.
  std::vector<std::int64_t> left_, free_on_;
  // CONSERVATIVE: times, and the free slots of each cell from each time on.
  std::vector<double> times_;
  std::vector<NodeRoom> steps_;
};

}  // namespace malleable
