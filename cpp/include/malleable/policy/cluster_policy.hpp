// How a scheduler is asked what to run on a cluster: the interface between policies and whatever
// runs tasks (FLEX, sections 1 and 2: allocation layer above assignment layer).
//
// Four kinds of answer. *Targets*: slots for each job; the assignment layer starts tasks of the
// job that is relatively most below its target. *Ranks*: a number for each job; the least that can
// use a free slot gets it. *Node*: for a node with a free slot, choose a job (Hadoop's heartbeat).
// *Starts*: how many tasks of whom start now, given all free slots (backfill).
//
// A policy sees counts, estimates and what finished tasks took, never the truth. All columns are
// indexed by the job's row in its table, phases by 2 * job + phase. A pool is a set of slots: 0 has
// those of maps, 1 those of reduces; with generic slots there is only pool 0, and the ready tasks
// of both phases of a job count together (FlowFlex, section 5.2).
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

struct PhaseState {
  std::int64_t total = 0;    // tasks
  std::int64_t waiting = 0;  // not started yet, or to be run again; whether ready or not
  std::int64_t running = 0;
  std::int64_t finished = 0;
  double estimate = 0.0;   // seconds of a task, as known now
  double measured = 0.0;   // seconds that finished tasks took together, as far as they were told:
  std::int64_t timed = 0;  // of so many
  bool ready = false;      // its tasks may start

  // Tasks of it run, or may start.
  bool open() const { return ready || running > 0; }
  std::int64_t unfinished() const { return total - finished; }
  double remaining() const { return estimate * static_cast<double>(unfinished()); }

  void state(State& s) { s(total, waiting, running, finished, estimate, measured, timed, ready); }
};

// What finished phases say of all (scheduler/job_estimates); where nothing is learnt, what is told
// counts.
struct Learned {
  double speedup = 1.0;        // p, as tasks' times show it
  double speedup_low = 1.0;    // less its standard deviation: it is hardly below
  SpeedupCurve speedups = {};  // chances of each p of the grid, for any program
  // By phase, of logarithms of seconds: their standard deviation within a phase.
  double scatter[2] = {0.0, 0.0};
  // By phase: of a task of which nobody said anything.
  double seconds[2] = {0.0, 0.0};
  WorkCounts work[2] = {};  // by phase: how many took how much

  void state(State& s) { s(speedup, speedup_low, speedups, scatter, seconds, work); }
};

struct ClusterState {
  ClusterView cluster;
  ClusterJobsView jobs;
  double now = 0.0;
  double period = 0.0;  // [s] between decisions, at which alone tasks start; 0: at any time
  double epoch = 0.0;   // [s] decisions come so seldom at most; free slots go by the last one
  std::vector<PhaseState> phases;  // 2 * job + phase
  // 2 * job + phase: squares of what finished tasks took beyond or below their mean, as far as
  // told.
  std::vector<double> deviation;
  // Learning, 2 * job + phase: the variance of the logarithm of what `estimate` is believed to be.
  std::vector<double> doubt;
  std::vector<double> size;         // original work of the whole job, as estimated when it came
  std::vector<Index> present;       // jobs in the system, by arrival
  std::vector<std::uint64_t> came;  // by job: when it became present, counted
  // Of all jobs that are known, here or not: place in the order of arrivals, by which ties are
  // broken; seconds of a task as believed before it comes (2 * job + phase); whom it waits for.
  std::vector<Index> rank;
  std::vector<double> believed;
  std::vector<std::vector<Index>> parents;
  // By pool: jobs whose counts or estimates moved since the last decision, each once; and those
  // that left it.
  std::vector<Index> changed[2];
  std::int64_t slots[2] = {0, 0};  // of nodes that are up
  std::int64_t free[2] = {0, 0};
  std::vector<std::int64_t> free_on[2];  // by node
  std::vector<std::int64_t> user_running;
  Learned learned;
  // By job, if programs are told: p, as its program's tasks show it, and of all that are present
  // the chances on the grid. Checkpointed up for policies that read them.
  std::vector<double> exponent;
  SpeedupCurve exponents = {};
  mutable LocalTasks blocks;  // of map tasks

  const PhaseState& phase(Index job, Phase p) const { return phases[2 * job + p]; }

  // Of what a phase's tasks take on average, as estimated, and of one of them around that; infinite
  // while nothing tells. Logarithms of seconds are normal where something is learnt.
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
    const auto told = static_cast<double>(s.timed);
    if (told < 2.0) return {kInfinity, kInfinity};
    const double square = deviation[2 * job + p] / (told - 1.0);
    return {square / told, square};
  }

  double exponent_of(Index job) const { return exponent.empty() ? learned.speedup : exponent[job]; }
  const SpeedupCurve& exponents_here() const {
    return exponent.empty() ? learned.speedups : exponents;
  }

  // What tasks take whose slots idle until the next decision, as expected for tasks of so many
  // seconds on average: times spread as waiting times do, P / (1 - exp(-P / mean)) each.
  double held(double work, double seconds) const {
    if (period == 0.0 || !(seconds > 0.0)) return work;
    const double periods = period / seconds;
    return work * (periods / -std::expm1(-periods));
  }

  // What a pool's decision is about.
  struct Demand {
    std::int64_t running = 0;  // of the job's tasks, on this pool's slots
    std::int64_t most = 0;     // slots that it could use: running or ready to run
    double work =
        0.0;  // slot-seconds left of its ready phases, as estimated, until slots are free again
    std::int64_t minimum = 0;
  };
  Demand demand(Index job, int pool) const {
    Demand d;
    for (const Phase p : {kMap, kReduce}) {
      if (!cluster.generic && p != pool) continue;
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
  // All but the views.
  void state(State& s) {
    s(now, phases, deviation, doubt, size, present, came, rank, believed, parents, changed, slots,
      free, free_on, user_running, learned, exponent, exponents, blocks);
  }
  // So many more of its tasks may run on slots of a pool.
  std::int64_t room(Index job, int pool) const {
    if (jobs.max_slots.empty()) return kMostSlots;
    std::int64_t running = phase(job, static_cast<Phase>(pool)).running;
    if (cluster.generic) running += phase(job, kReduce).running;
    return std::max<std::int64_t>(0, jobs.max_slots[job] - running);
  }
  // May start a task now.
  bool eligible(Index job, Phase p) const {
    const PhaseState& s = phase(job, p);
    return s.ready && s.waiting > 0 && room(job, cluster.generic ? 0 : p) > 0;
  }
};

class ClusterPolicy {
 public:
  enum class Style : std::uint8_t { kTargets, kRanks, kNode, kStarts };

  virtual ~ClusterPolicy() = default;
  virtual Style style() const = 0;
  // Decisions are asked for only when something changed, unless they depend on time itself.
  virtual bool depends_on_time() const { return false; }
  // Whether a decision for one pool looks at counts of the other one, too.
  virtual bool looks_at_both() const { return false; }
  // Whether it looks at the estimate of a phase with these counts: only then it follows its tasks.
  virtual bool reads_estimate(const PhaseState&) const { return true; }
  // Whether it looks at exponents.
  virtual bool reads_exponents() const { return false; }
  // Whether task_finished is to be called.
  virtual bool listens() const { return false; }

  // Which of its rules it follows now; empty where it has one alone.
  virtual std::string_view rule(const ClusterState&) const { return {}; }

  // Once, before the first job.
  virtual void begin(const ClusterState&) {}
  // These rows are jobs that will come: more rows, or rows of others that left. Users may be new or
  // others than before.
  virtual void added(const ClusterState&, std::span<const Index> /*jobs*/) {}
  virtual void job_arrived(const ClusterState&, Index /*job*/) {}
  virtual void job_finished(const ClusterState&, Index /*job*/) {}
  // Another time of a task of a job that has come is said; the estimate was this before.
  virtual void estimate_said(const ClusterState&, Index /*job*/, Phase, double /*before*/) {}
  // Rates of their own that jobs which come will have, by job, phase and type of nodes. Throws if
  // the policy does not read rates, or takes nodes for alike that the rates tell apart.
  virtual void check_node_rates(const ClusterState&, std::span<const double> /*rates*/) const {
    throw std::invalid_argument(
        "node_rates: the policy learns how fast nodes are, from tasks that "
        "end there; only auto and adaptive policies read rates of jobs");
  }
  // kNode: a node has so many slots of this pool more or less.
  virtual void slots_changed(const ClusterState&, Index /*node*/, int /*pool*/,
                             std::int64_t /*more*/) {}
  // A job is another user's from now on.
  virtual void user_changed(const ClusterState&, Index /*job*/, std::size_t /*before*/) {}
  virtual void task_finished(const ClusterState&, Index /*job*/, Phase, Index /*node*/,
                             double /*seconds*/) {}
  // kNode, kStarts: after tasks of a job became ready, started or ended on slots of a pool.
  virtual void counts_changed(const ClusterState&, Index /*job*/, int /*pool*/) {}
  // Where copies of a block go; false: at random. `node` has room for as many as there are copies.
  virtual bool place(const ClusterState&, Index /*job*/, Index /*task*/,
                     std::span<Index> /*node*/) {
    return false;
  }

  // Overwrite the values of jobs (rows of the whole table) that change, and call `moved` for each.
  // Targets are slots, at least 0. Jobs have target 0 (rank: first_rank) until told. kNode: slots
  // beyond those that a job holds, 0 until told, which `choose` does not look at.
  class Answer {
   public:
    Answer(std::vector<double>& value, std::vector<Index>& moved, std::vector<double>& old)
        : value_(value), moved_(moved), old_(old) {}
    void set(Index job, double value) {
      if (value_[job] != value) move(job, value);
    }
    double get(Index job) const { return value_[job]; }
    // Its precedence is another one.
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
  // kRanks: of a job that no decision has ranked yet. What the next one would say, so that a job
  // that comes between two decisions waits for none; by default after all that have a rank.
  virtual double first_rank(const ClusterState&, Index /*job*/, int /*pool*/) { return kInfinity; }

  // kTargets: targets are to be filled in its order, the first job's before the next one's.
  virtual bool fills_in_order() const { return false; }
  // kTargets, where targets are filled in order: who below its target gets a slot of this pool
  // first where so many of its tasks run, the least value above 0; 0 for all: there is no order.
  virtual double precedence(const ClusterState&, Index /*job*/, int /*pool*/,
                            std::int64_t /*running*/) const {
    return 0.0;
  }
  // kTargets: a slot goes to the job with the least precedence, any number, whatever jobs have of
  // their targets, which then only say what the order comes to. Changes in decisions alone.
  virtual bool order_decides() const { return false; }

  // Whether tasks leave a slow node's slot idle that faster slots would end earlier.
  virtual bool waits_for_speed() const { return false; }

  // kNode: a node has a free slot of this pool. job == kNone: leave it idle until the next event
  // or heartbeat.
  struct Choice {
    Index job = kNone;
    Phase phase = kMap;
  };
  virtual Choice choose(const ClusterState&, Index /*node*/, int /*pool*/) { return {}; }
  // kStarts: what starts now on the free slots of a pool, no more than there are; kNone: anywhere.
  struct Start {
    Index job;
    Phase phase;
    std::int64_t tasks;
    Index node;
  };
  virtual void starts(const ClusterState&, int /*pool*/, std::vector<Start>& /*found*/) {}
  // When it may choose where it left idle though nothing happened; infinity: never.
  virtual double reconsiders(int /*pool*/) const { return kInfinity; }

  // What it keeps between calls; read into one that has begun with the state beside it.
  virtual void keep(const ClusterState&, State&) {}

  // What takes its place in a scheduler to which a rigid job comes, or one with rates of its own;
  // null: nothing.
  ClusterPolicy* queue() const { return queue_.get(); }
  ClusterPolicy* unlike() const { return unlike_.get(); }
  void set_queue(std::unique_ptr<ClusterPolicy> queue) { queue_ = std::move(queue); }
  void set_unlike(std::unique_ptr<ClusterPolicy> unlike) { unlike_ = std::move(unlike); }

 private:
  std::unique_ptr<ClusterPolicy> queue_, unlike_;
};

}  // namespace malleable
