// Backfill: rigid jobs, each of which runs on exactly its number of slots or waits, and malleable
// jobs between them.
//
// The queue has an order. FCFS starts its first jobs and stops at the first job that does not fit.
// EASY gives that job a reservation, and starts later jobs beside it (Lifka 1995; as printed in
// Mu'alem and Feitelson 2001; backfill/reservations). Example: 4 slots, 3 of them busy until 10.
// The first job wants 4 slots, so its shadow time is 10 and nothing is spare; behind it, one on 1
// slot for 8 s starts at 1, one for 12 s does not. CONSERVATIVE gives every job the earliest place
// that earlier jobs leave, again at each event (backfill/profile). Times are requested times, or
// estimates if there are none; a job that outlives its time is expected to end at once.
//
// AUTO follows the best of several orders (backfill/queue_choice). A job that got a reservation
// keeps it until it starts, because orders change and slots that idled for it would have idled for
// nothing; not if slowdowns count, as then short jobs go first at any time. In each order a job
// goes first, by arrival, once it has waited for a multiple of the time on all slots of all work
// that was present when it came: four times for mean responses, twenty times for slowdowns. Work
// counts by the part of requested times that jobs have really used so far.
//
// Nodes of the same partitions form a cell (one node does if memory or GPUs are given); free slots
// are counted by cell (backfill/cells). A job starts if its partition has room for all its tasks. A
// reservation takes cells in order, first the cells that fewest jobs could use. Each cell has its
// own first job: the first in the queue that may run there, so that no partition waits for another.
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
// where the order depends on time; more for CONSERVATIVE and AUTO.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/backfill/profile.hpp"
#include "malleable/policy/backfill/queue_choice.hpp"
#include "malleable/policy/backfill/reservations.hpp"
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
  bool listens() const override {
    return cells_.apart();
  }  // which node a task leaves matters only then
  void task_finished(const ClusterState& state, Index job, Phase p, Index node, double) override;
  void counts_changed(const ClusterState& state, Index job, int pool) override;
  void starts(const ClusterState& state, int pool, std::vector<Start>& found) override;
  void keep(const ClusterState& state, State& s) override;

 private:
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
    std::vector<QueuedJob> queue;     // by key, then rank
    std::vector<TaskBundle> running;  // by end, then rank
    QueueChoice::Followed followed;   // AUTO's order

    void state(State& s) { s(running, followed); }
  };
  struct Usage {  // of a user: fading sum of slot-seconds, and slots held now
    double used = 0.0;
    std::int64_t slots = 0;

    void state(State& s) { s(used, slots); }
  };
  void leave_queue(int pool, Index job, Index rank);
  void join_queue(const ClusterState& state, Index job, int pool, Phase p, std::int64_t tasks);
  // Updates a job's running bundles to its count of running tasks.
  void settle_bundles(const ClusterState& state, Index job, int pool);
  // Removes tasks that ended.
  void drop(const ClusterState& state, Index job, Phase p, std::int64_t tasks, Index cell);
  // The time for which a task's slots are reserved: requested, stated or estimated.
  double seconds_of(const ClusterState& state, Index job, Phase p) const;
  double key_of(const ClusterState& state, const QueuedJob& job) const;
  // Requested slot-seconds of jobs that wait or run on a pool.
  double work_here(const ClusterState& state, int pool) const;
  // Computes all keys, and sorts the queue again.
  void reorder(const ClusterState& state, Pool& pool);
  // Adds the slots held since the last change to each user's usage.
  void age_usage(double now);
  void count_free(const ClusterState& state, int pool);
  void keep_reservations(Pool& pool, std::span<const Index> holders);
  // Lists starts with their nodes.
  void list_starts(int pool, std::vector<Start>& found);

  BackfillOptions options_;
  Pool pools_[2];
  std::vector<Job> jobs_;
  double first_ = kInfinity;         // earliest arrival of all jobs
  std::vector<Usage> usage_;         // by user
  double aged_ = 0.0;                // time up to which usage is counted
  double asked_ = 0.0, used_ = 0.0;  // slot-seconds of ended bundles: requested, and used
  Cells cells_;
  std::vector<std::pair<Index, Cells::Taken>> announced_;  // jobs that start, and their cells
  Cells::Room room_;                                       // now
  Reservations reservations_;
  Profile profile_;
  QueueChoice choice_;
  std::vector<Cells::Taken> taken_;  // starts of a decision
  std::vector<Index> order_;         // places in the queue
  // By place in the queue: tasks that have not started; by node: free slots.
  std::vector<std::int64_t> left_, free_on_;
};

}  // namespace malleable
