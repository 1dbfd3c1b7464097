// The interface between the policies of a cluster and the scheduler that assigns tasks (FLEX: Wolf
// et al. 2010, sections 1 and 2: allocation layer above assignment layer).
//
// Four kinds of answer. *Targets*: slots for each job; the assignment layer starts tasks of the job
// that is relatively most below its target. *Ranks*: a number for each job; the job with the least
// number that can use a free slot gets it. *Node*: for a node with a free slot, choose a job
// (Hadoop's heartbeat: a node reports its free slots every few seconds). *Starts*: how many tasks
// of which jobs start now, given all free slots (backfill).
//
// A policy sees counts, estimates and the times of finished tasks, never true sizes. All columns
// are indexed by the job's row in its table, phases by 2 * job + phase. A pool is a set of slots: 0
// for maps, 1 for reduces; with generic slots there is only pool 0, and the ready tasks of both
// phases of a job count together (Nagarajan et al. 2013, section 5.2). If s tasks of a job together
// do the work of s^p tasks alone, p is its exponent (1: they do not slow each other down). The grid
// is the list of values of p for which chances are kept. A program is the code that jobs run: jobs
// of one program are expected to be alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "malleable/kernel/gittins.hpp"
#include "malleable/kernel/local_tasks.hpp"
#include "malleable/model/cluster.hpp"
#include "malleable/model/speedup_curve.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

struct PhaseState {          // of a phase of a job
  std::int64_t total = 0;    // tasks
  std::int64_t waiting = 0;  // tasks not started yet, or to be run again; ready or not
  std::int64_t running = 0;
  std::int64_t finished = 0;
  double estimate = 0.0;   // estimated seconds of a task
  double measured = 0.0;   // reported seconds of finished tasks together:
  std::int64_t timed = 0;  // of so many
  bool ready = false;      // its tasks may start

  // True if tasks of the phase run, or may start.
  bool open() const { return ready || running > 0; }
  std::int64_t unfinished() const { return total - finished; }
  double remaining() const { return estimate * static_cast<double>(unfinished()); }

  void state(State& s) { s(total, waiting, running, finished, estimate, measured, timed, ready); }
};

// What finished phases have shown (scheduler/job_estimates); without learning, stated values.
struct Learned {
  double speedup = 1.0;        // mean of p, from the times of tasks
  double speedup_low = 1.0;    // mean minus standard deviation: p is hardly below
  SpeedupCurve speedups = {};  // chances of each p of the grid, for any program
  // By phase, of the logarithms of seconds: standard deviation within a phase, and variance of the
  // mean between runs of a program.
  double scatter[2] = {0.0, 0.0}, between_runs[2] = {0.0, 0.0};
  // By phase: seconds of a task without any estimate.
  double seconds[2] = {0.0, 0.0};
  WorkCounts work[2] = {};  // by phase: counts of phases by work

  void state(State& s) { s(speedup, speedup_low, speedups, scatter, between_runs, seconds, work); }
};

struct ClusterState {
  ClusterView cluster;
  ClusterJobsView jobs;
  double now = 0.0;
  // [s] tasks start only at decisions, which are this far apart; 0: at any time
  double period = 0.0;
  bool offered = false;  // a node's free slots can be used only when it offers them
  double epoch = 0.0;  // [s] least time between decisions; meanwhile free slots go by the last one
  std::vector<PhaseState> phases;  // 2 * job + phase
  // 2 * job + phase: sum of squared deviations of the reported seconds of finished tasks from their
  // mean.
  std::vector<double> deviation;
  // With learning, 2 * job + phase: the variance of the logarithm of `estimate`.
  std::vector<double> doubt;
  std::vector<double> size;         // original work of the whole job, as estimated when it came
  std::vector<Index> present;       // jobs in the system, by arrival
  std::vector<std::uint64_t> came;  // by job: its number in the order of becoming present
  // For all known jobs, present or not: place in the order of arrivals, which breaks ties;
  // estimated seconds of a task before the job comes (2 * job + phase); the jobs that it waits for.
  std::vector<Index> rank;
  std::vector<double> believed;
  std::vector<std::vector<Index>> parents;
  // By pool: jobs whose counts or estimates changed since the last decision, each once; and jobs
  // that left the pool.
  std::vector<Index> changed[2];
  std::int64_t slots[2] = {0, 0};  // slots of nodes that are up
  std::int64_t free[2] = {0, 0};
  std::vector<std::int64_t> free_on[2];    // by node
  std::vector<std::int64_t> user_running;  // by user: running tasks
  Learned learned;
  // By job, if programs are given: the mean of p from its program's tasks; and for all present jobs
  // together the chances of p on the grid. Kept only for policies that read them.
  std::vector<double> exponent;
  SpeedupCurve exponents = {};
  mutable LocalTasks blocks;  // of map tasks

  const PhaseState& phase(Index job, Phase p) const { return phases[2 * job + p]; }

  // The variance of the estimated mean of a phase's tasks, and of a single task around that mean;
  // infinite if unknown. With learning, logarithms of seconds are normal.
  struct Variance {
    double mean, task;
  };
  Variance variance(Index job, Phase p) const {
    const PhaseState& s = phase(job, p);
    if (!doubt.empty()) {
      const auto square = [&](double log) {
        return s.estimate * s.estimate * std::expm1(std::min(log, 100.0));
      };
      return {square(doubt[2 * job + p]), square(learned.scatter[p] * learned.scatter[p])};
    }
    const auto timed = static_cast<double>(s.timed);
    if (timed < 2.0) return {kInfinity, kInfinity};
    const double square = deviation[2 * job + p] / (timed - 1.0);
    return {square / timed, square};
  }

  // p of a job, if s of its tasks do s^p; and the chances of p for all present jobs.
  double exponent_of(Index job) const { return exponent.empty() ? learned.speedup : exponent[job]; }
  const SpeedupCurve& exponents_here() const {
    return exponent.empty() ? learned.speedups : exponents;
  }

  // The expected slot-seconds that `work` holds if slots idle from a task's end until the next
  // decision, for tasks of `seconds` on average. Times of tasks count as exponential, so each task
  // holds its slot for P / (1 - exp(-P / mean)), P being the period.
  double held(double work, double seconds) const {
    if (period == 0.0 || !(seconds > 0.0)) return work;
    const double periods = period / seconds;
    return work * (periods / -std::expm1(-periods));
  }

  // A job's demand for slots of a pool.
  struct Demand {
    std::int64_t running = 0;  // the job's tasks that run on this pool's slots
    std::int64_t most = 0;     // slots that the job could use: tasks running or ready to run
    double work =
        0.0;  // estimated slot-seconds left of its ready phases, until slots are free again
    std::int64_t minimum = 0;
  };
  Demand demand(Index job, int pool) const {
    Demand d;
    for (const Phase p : {kMap, kReduce}) {
      if (cluster.generic ? pool != 0 : p != pool) continue;
      const PhaseState& s = phase(job, p);
      d.running += s.running;
      d.minimum += jobs.minimum_of(p, job);
      const std::int64_t tasks = s.ready ? s.unfinished() : s.running;
      if (tasks == 0) continue;
      d.most += s.running + (s.ready ? s.waiting : 0);
      d.work += held(s.estimate * static_cast<double>(tasks), s.estimate);
    }
    d.most = std::min(d.most, jobs.maximum_of(job));
    return d;
  }
  // The state without the views.
  void state(State& s) {
    s(now, phases, deviation, doubt, size, present, came, rank, believed, parents, changed, slots,
      free, free_on, user_running, learned, exponent, exponents, blocks);
  }
  // How many more tasks of the job may run on slots of a pool.
  std::int64_t room(Index job, int pool) const {
    if (jobs.max_slots.empty()) return kMostSlots;
    std::int64_t running = phase(job, static_cast<Phase>(pool)).running;
    if (cluster.generic) running += phase(job, kReduce).running;
    return std::max<std::int64_t>(0, jobs.max_slots[job] - running);
  }
  // True if the phase may start a task now.
  bool eligible(Index job, Phase p) const {
    const PhaseState& s = phase(job, p);
    return s.ready && s.waiting > 0 && room(job, cluster.generic ? 0 : p) > 0;
  }
};

class ClusterPolicy {
 public:
  // the four kinds of answer, see above
  enum class Style : std::uint8_t { kTargets, kRanks, kNode, kStarts };

  virtual ~ClusterPolicy() = default;
  virtual Style style() const = 0;
  // Decisions are requested only when something changed, unless this is true.
  virtual bool depends_on_time() const { return false; }
  // Whether a decision for one pool looks at counts of the other one, too.
  virtual bool looks_at_both() const { return false; }
  // Whether it reads the estimate of a phase with these counts; only then the estimate follows the
  // phase's tasks.
  virtual bool reads_estimate(const PhaseState&) const { return true; }
  // Whether it reads exponents.
  virtual bool reads_exponents() const { return false; }
  // Whether task_finished is to be called.
  virtual bool listens() const { return false; }

  // The name of the rule that it follows now; empty if it has only one.
  virtual std::string_view rule(const ClusterState&) const { return {}; }

  // Called once, before the first job.
  virtual void begin(const ClusterState&) {}
  // These rows are jobs that will come: new rows, or rows of jobs that left. Users may be new or
  // may have changed.
  virtual void added(const ClusterState&, std::span<const Index> /*jobs*/) {}
  virtual void job_arrived(const ClusterState&, Index /*job*/) {}
  virtual void job_finished(const ClusterState&, Index /*job*/) {}
  // The stated time of a task of a present job has changed; the estimate was `before`.
  virtual void stated_time_changed(const ClusterState&, Index /*job*/, Phase, double /*before*/) {}
  // Checks the node_rates of jobs that will come, by job, phase and type of nodes. Throws if the
  // policy does not read rates, or if they differ between nodes that the policy treats as equal.
  virtual void check_node_rates(const ClusterState&, std::span<const double> /*rates*/) const {
    throw std::invalid_argument(
        "node_rates: the policy learns how fast nodes are, from tasks that "
        "end there; only auto and adaptive policies read rates of jobs");
  }
  // kNode: the slots of this pool on a node have changed by so many.
  virtual void slots_changed(const ClusterState&, Index /*node*/, int /*pool*/,
                             std::int64_t /*more*/) {}
  // A job belongs to another user from now on.
  virtual void user_changed(const ClusterState&, Index /*job*/, std::size_t /*before*/) {}
  virtual void task_finished(const ClusterState&, Index /*job*/, Phase, Index /*node*/,
                             double /*seconds*/) {}
  // kNode, kStarts, and kTargets in order: after tasks of a job became ready, started or ended on
  // slots of a pool, or their estimate changed though none of them has started.
  virtual void counts_changed(const ClusterState&, Index /*job*/, int /*pool*/) {}
  // Chooses nodes for the copies of a block; false: they go to random nodes. `node` has one entry
  // per copy.
  virtual bool place(const ClusterState&, Index /*job*/, Index /*task*/,
                     std::span<Index> /*node*/) {
    return false;
  }

  // The answer of a decision, one value a row of the table. A policy sets the values that change.
  // Targets are slots, at least 0; until it is set, a job has target 0 (rank: first_rank). kNode:
  // slots in addition to the job's present ones, for display; `choose` does not read them.
  class Answer {
   public:
    Answer(std::vector<double>& value, std::vector<Index>& moved, std::vector<double>& old)
        : value_(value), moved_(moved), old_(old) {}
    void set(Index job, double value) {
      if (value_[job] != value) move(job, value);
    }
    double get(Index job) const { return value_[job]; }
    // The job's precedence has changed.
    void reorder(Index job) { move(job, value_[job]); }

   private:
    void move(Index job, double value) {
      moved_.push_back(job);
      old_.push_back(std::exchange(value_[job], value));
    }

    std::vector<double>& value_;
    std::vector<Index>& moved_;
    std::vector<double>& old_;
  };
  virtual void decide(const ClusterState&, int /*pool*/, Answer&) {}
  // kRanks: the rank of a job that no decision has ranked yet. A policy returns the rank of the
  // next decision, so that a job that comes between two decisions need not wait; by default the job
  // comes after all ranked jobs.
  virtual double first_rank(const ClusterState&, Index /*job*/, int /*pool*/) { return kInfinity; }

  // kTargets: targets are to be filled in its order, the first job's before the next one's.
  virtual bool fills_in_order() const { return false; }
  // kTargets, if targets are filled in order: of the jobs below their targets, the job with the
  // least value above 0 gets the next slot of this pool. The value may depend on the number of the
  // job's running tasks. 0 for all jobs: there is no order.
  virtual double precedence(const ClusterState&, Index /*job*/, int /*pool*/,
                            std::int64_t /*running*/) const {
    return 0.0;
  }
  // kTargets: if true, a slot goes to the job with the least precedence, which may be any number;
  // targets then only show what the order leads to. Changes only in decisions.
  virtual bool order_decides() const { return false; }

  // Whether the job keeps its slots of the pool because a change costs more than it gains.
  virtual bool keeps(const ClusterState&, Index /*job*/, int /*pool*/) const { return false; }

  // Whether a slow node's slot may idle because faster slots would end the waiting tasks earlier.
  virtual bool waits_for_speed() const { return false; }

  // kNode: a node has a free slot of this pool. job == kNone: leave it idle until the next event
  // or heartbeat.
  struct Choice {
    Index job = kNone;
    Phase phase = kMap;
    Index node = kNone;  // another node with a free slot, if the policy knows all slots
  };
  virtual Choice choose(const ClusterState&, Index /*node*/, int /*pool*/) { return {}; }
  // Whether a choice looks at the free slots of all nodes (unless nodes offer theirs): if it leaves
  // one idle, it leaves all idle.
  virtual bool knows_all_slots() const { return false; }
  // kStarts: tasks that start now on the free slots of a pool; node kNone: on any node.
  struct Start {
    Index job;
    Phase phase;
    std::int64_t tasks;
    Index node;
  };
  virtual void starts(const ClusterState&, int /*pool*/, std::vector<Start>& /*found*/) {}
  // The time at which it may give a slot that it left idle, though nothing happened; infinity:
  // never.
  virtual double reconsiders(int /*pool*/) const { return kInfinity; }

  // The policy's state between calls. It is read into a policy for which begin() was called with
  // the cluster state that was saved with it.
  virtual void keep(const ClusterState&, State&) {}

  // The policy that replaces it in a scheduler when a rigid job comes, or a job with node_rates;
  // null: none.
  ClusterPolicy* queue() const { return queue_.get(); }
  ClusterPolicy* for_node_rates() const { return for_node_rates_.get(); }
  void set_queue(std::unique_ptr<ClusterPolicy> queue) { queue_ = std::move(queue); }
  void set_for_node_rates(std::unique_ptr<ClusterPolicy> policy) {
    for_node_rates_ = std::move(policy);
  }

 private:
  std::unique_ptr<ClusterPolicy> queue_, for_node_rates_;
};

}  // namespace malleable
