// Tasks on the nodes of a cluster, event by event (FLEX, sections 1 and 4.2; adaptive, section 4).
//
// A job's map tasks may run from its arrival on, its reduce tasks once the given part of its maps
// has finished (slow start). A reduce task first copies: the k-th finished map of n releases one
// n-th of what each reduce task copies, so that a task that starts at s has copied everything at
//     max(s + shuffle, max_k (t_k + (n - k + 1) / n shuffle)),
// t_k being when k maps were done: exact, and one number a job. With copy-compute splitting,
// copying takes no slot and reduce tasks are ready when it has ended. Tasks are never taken back; a
// decision changes who gets the slots that become free. Where disks or links are limited, a map
// task reads its block first, and copying also takes until its bytes have come over the links
// (sim/cluster_network); a reduce task then works once both are over, its seconds and its bytes.
// A node that leaves kills what runs there, and maps that finished there run again as long as a
// reduce task of their job has not started or not copied everything (sim/cluster_losses.cpp).
//
// At one instant: tasks end, nodes leave or return, jobs arrive, the policy decides if it is time
// and anything changed, then free slots are given away. Tasks of one phase that start together and
// end together on nodes of one type share an event. A task costs O(log events + log jobs) at most,
// and less in batches; a decision what the policy takes. Memory: O(jobs + slots + task times
// given), and what the network takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/event_heap.hpp"
#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/sim/cluster_network.hpp"

namespace malleable {

struct ClusterOptions {
  double epoch = 0.5;                    // seconds between decisions; 0: at every event
  double heartbeat = 0.0;                // seconds; 0: free slots are offered at once
  std::int64_t tasks_per_heartbeat = 0;  // 0: as many as the node has free slots
  double slow_start = 0.05;
  bool split_copy = false;
  std::int64_t shuffle_steps = 64;  // in which reduce tasks hear of map output; 0: of every map
  double network_epoch = 0.0;       // seconds between changes of transfers' rates; 0: at once
  double delay = 0.0;               // seconds a job waits for a local slot
  double rack_delay = 0.0;          // then for one in the rack of a block
  std::int64_t replicas = 0;        // copies of each block; 0: tasks have no place
  double noise = 0.0;  // standard deviation of the logarithm of a task's time; its mean stays
  double straggler_share = 0.0;
  double straggler_factor = 1.0;
  double failure = 0.0;       // probability that an attempt fails
  double speedup = 1.0;       // s running tasks of a phase together do s^speedup
  std::vector<double> rates;  // what 1, 2 ... of them do, instead of that; empty: none given
  bool learn = false;         // estimates follow the tasks that finished, here and in earlier runs
  double prior = 1.0;         // learn: seconds of a task before anything is known
  std::uint64_t seed = 0;
  double ageing = 0.0;      // a job without a running task for so long goes first, once; 0: never
  bool in_order = false;    // targets are filled in the policy's order, not evenly
  bool gang = false;        // minima are gangs: none of a phase's tasks run, or at least that many
  bool lose_output = true;  // a node that leaves takes the outputs of finished maps along
  bool trace = false;
};

// When a node leaves (up = 0) or returns.
struct ClusterChanges {
  std::span<const double> time;
  std::span<const std::int64_t> node;
  std::span<const std::uint8_t> up;
};

struct ClusterTotals {
  double now = 0.0;
  std::int64_t arrived = 0;
  std::int64_t completed = 0;
  std::int64_t tasks = 0;  // finished
  std::int64_t failed = 0;
  std::int64_t killed = 0;        // with their node
  std::int64_t outputs_lost = 0;  // finished maps that had to run again
  std::int64_t preempted = 0;     // reduce tasks that waited for maps which had no slot
  std::int64_t local = 0;         // of maps that have a block
  std::int64_t remote = 0;
  std::int64_t rack = 0;  // of the remote ones: with a copy in their rack
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  double moved = 0.0;              // slots that decisions took from jobs that could still use them
  double jobs_seconds = 0.0;       // integral of the number of jobs
  double busy[2] = {0.0, 0.0};     // slot-seconds in use, by pool
  double offered[2] = {0.0, 0.0};  // slot-seconds there
  double lost[2] = {0.0, 0.0};     // slot-seconds below targets although tasks were ready
  double idle[2] = {0.0, 0.0};     // slot-seconds idle although tasks were ready
  double dissatisfaction = 0.0;    // integrals of adaptive's section 5
  double fairness = 0.0;
};

class ClusterSimulation {
 public:
  // The views, the policy and the estimates stay the caller's and must outlive the simulation;
  // all are valid (see validate()). `estimate[2 * job + phase]`: seconds of a task as policies
  // shall believe (empty: the true mean).
  ClusterSimulation(const ClusterView& cluster, const ClusterJobsView& jobs,
                    const ClusterOptions& options, const ClusterChanges& changes,
                    std::span<const double> estimate, ClusterPolicy& policy);

  // Up to and including a time; infinity: until nothing more can happen.
  void advance(double until);

  const ClusterTotals& totals() const { return totals_; }
  const ClusterState& state() const { return state_; }
  bool has_network() const { return network_; }
  ClusterNetwork::Totals network_totals() const { return net_.totals(state_.now); }

  // By job; NaN: not yet.
  std::vector<double> came, start, map_completion, completion;
  std::vector<std::int64_t> most_slots;  // at once
  std::vector<float> latency;            // wall-clock seconds of decisions
  // The trace. kind 0: start, 1: end, 2: failed, 3: killed, 4: output lost.
  std::vector<double> trace_time;
  std::vector<std::uint8_t> trace_kind, trace_phase;
  std::vector<std::int64_t> trace_job, trace_task, trace_node;

 private:
  static constexpr Index kNone = ~Index{0};
  static constexpr Index kGone = Index{1} << 31;  // a bit: this node's, but it left
  enum class Kind : std::uint8_t { kFinish, kReady, kNode, kTimer, kAge, kHeartbeat };
  struct Event {
    double time;
    Kind kind;
    Index what;
    std::uint64_t sequence;
  };
  struct Earlier {
    bool operator()(const Event& a, const Event& b) const {
      return (a.time < b.time) |
             ((a.time == b.time) &
              ((a.kind < b.kind) | ((a.kind == b.kind) & (a.sequence < b.sequence))));
    }
  };
  struct Run {
    Index next;
    Index node;
    Index task;
  };
  struct Group {  // tasks of one phase with one start and one end
    double start = 0.0;
    double seconds = 0.0;  // on the node, copying included, waiting for maps not
    double copying = 0.0;  // of these
    double finish = 0.0;   // (virtual) end; meaningless while parked
    Index phase = 0;       // 2 * job + phase
    Index type = 0;
    Index first = kNone;
    Index count = 0;
    bool fails = false;
    bool parked = false;
    Index transfer = kNone;  // of a map task that reads or a reduce task that copies
  };
  // Of a job's phase with speed-up below linear: time runs at `speed` there.
  struct Clock {
    double at = 0.0, time = 0.0, speed = 1.0;
    std::vector<std::pair<double, Index>> ends;  // heap of groups
    bool touched = false;
  };
  struct Job {
    double copied = -kInfinity;  // latest end of copying that finished maps force
    double skipped = -1.0;       // delay scheduling: since when
    bool copies = false;         // with copy-compute splitting: copying has begun
    Index gone = 0;              // outputs that left with their node and that nobody needs
    std::vector<Index> output;   // by map task: the node that has its output, kGone if it left
    std::vector<Index> parked;   // reduces that wait for maps
    Index started[2] = {0, 0};   // tasks started at least once, in order
    std::vector<Index> again[2];
    std::vector<std::uint16_t> attempts[2];
    std::int64_t slots = 0;
    bool copying = false;  // outside of slots
  };

  void push(double time, Kind kind, Index what);
  int pool_of(Phase p) const { return state_.cluster.generic ? 0 : p; }
  void arrive(Index job);
  void leave(Index job);
  void make_ready(Index job, Phase p);
  void maps_done(Index job);
  void finish(Index group);
  void unpark(Index group, Index job);
  bool ends_transfer(double now) const;
  void end_transfer();
  void settle_transfers();
  void begin_copying(Index job);
  void end_copying(Index group, double moved);
  Index source_of(Index job, Index task, Index node) const;
  bool in_rack(Index job, Index task, Index node) const;
  Index task_near(Index job, Index node);
  bool waits_for_block(Index job, Index node);
  void change_node(Index change);
  void mark(Index job, Phase p);
  void refresh(Index job, int pool);
  double key(Index job, int pool, std::int64_t more) const;
  std::int64_t needs(Index job, Phase p) const;
  void watch_age(Index job, int pool, bool starves);
  void count(Index job, Phase p, std::int64_t waiting, std::int64_t running);
  void decide();
  double due() const;
  void integrate(double until);
  void watch_users();
  void put_back(Index job, Phase p, Index task);
  bool copies(Index group);
  bool needs_outputs(Index job);
  void lose_outputs(Index node);
  void run_maps_again(Index job);
  void park_again(Index group);
  void make_room();
  std::int64_t least(Index job, Phase p) const;
  void evict(Index job, std::int64_t slots);
  void free_slot(Index node, int pool);
  void gather(Index job, Phase p, int pool);
  bool hold(Index node, int pool);
  void give_up(int pool);
  void dispatch_queue(int pool);
  void dispatch_nodes(int pool);
  bool offer(Index node, int pool, std::int64_t most);
  void heartbeat(Index node);
  void schedule_heartbeat(Index node);
  void wake();
  void start_tasks(Index job, Phase p, std::int64_t count, Index node, int pool);
  void start_task(Index job, Phase p, Index task, Index node);
  Index next_task(Index job, Phase p);
  Index new_group();
  void release(Index group);
  void schedule(Index group);
  void touch(Index phase);
  void settle();
  void reschedule(Index phase);
  void end_of_phase(Index phase);
  double pace(Index phase) const;
  void record(std::uint8_t kind, Index phase, Index task, Index node);
  double uniform(Index phase, Index task, std::uint32_t attempt, std::uint32_t stream) const;

  ClusterState state_;
  ClusterOptions options_;
  ClusterChanges changes_;
  std::span<const double> estimate_;
  ClusterPolicy& policy_;
  ClusterPolicy::Style style_;
  bool by_node_, uniform_, users_, network_ = false;
  bool racks_ = false;  // more than one
  ClusterNetwork net_;
  double network_due_ = kInfinity;
  LocalTasks rack_blocks_;   // by rack what state_.blocks has by node
  bool outputs_;             // whether nodes may take outputs along
  std::int64_t parked_ = 0;  // reduce tasks that hold a slot and wait for maps
  struct Gathering {         // a gang, and the nodes of slots that are held for it
    Index job = kNone;
    Phase phase = kMap;
    double since = 0.0;
    std::vector<Index> nodes;
  };
  Gathering gathering_[2];
  ClusterTotals totals_;
  std::vector<Index> order_;  // by arrival
  std::size_t next_arrival_ = 0;
  // Precedence: who waits for whom, how many each still waits for, who has arrived, who may come.
  std::vector<std::size_t> follower_offset_;
  std::vector<Index> follower_, released_;
  std::vector<std::int64_t> missing_;
  std::vector<std::uint8_t> held_;
  std::vector<Job> jobs_;
  std::vector<Clock> clocks_;
  std::vector<Index> touched_;
  IndexedHeap phase_ends_;    // by phase: when its clock has its next end
  Index phase_order_ = 0;     // of those that end together: who was last set first
  std::vector<double> pace_;  // of each of so many running tasks of a phase
  EventHeap<Event, Earlier> events_;
  std::uint64_t sequence_ = 0;
  std::vector<Group> groups_;
  std::vector<Index> free_groups_;
  std::vector<Run> runs_;
  Index free_run_ = kNone;
  std::vector<Index> last_group_;  // by phase and node type
  std::size_t types_ = 1;
  // Free slots as a queue of nodes, by pool: a ring.
  std::vector<Index> queue_[2];
  std::size_t head_[2] = {0, 0}, queued_[2] = {0, 0};
  std::vector<std::uint8_t> up_, beating_;
  std::size_t fruitless_ = 0;  // heartbeats in a row while nothing ran
  IndexedHeap waiting_[2];
  std::vector<double> value_[2];  // targets or ranks
  std::vector<Index> moved_;
  std::vector<double> old_;
  std::vector<std::uint8_t> marked_[2];
  std::vector<double> starving_[2];  // ageing: since when, by job
  std::vector<std::uint8_t> aged_[2];
  std::vector<double> short_[2];  // by job: slots below its target
  double all_short_[2] = {0.0, 0.0};
  std::int64_t running_[2] = {0, 0}, ready_[2] = {0, 0};
  double last_decision_ = -1.0;  // number of the epoch
  std::vector<Index> skipped_;
  std::vector<double> learned_;  // by group of jobs and phase: seconds, tasks
  std::vector<std::int64_t> user_ready_;
  std::vector<std::size_t> priority_;  // of users: number of its value
  std::vector<double> priority_sum_, priority_count_;
  std::vector<std::uint64_t> refused_;
  std::uint64_t passes_ = 0;
  double users_now_[2] = {0.0, 0.0};
  bool news_ = false;
};

}  // namespace malleable
