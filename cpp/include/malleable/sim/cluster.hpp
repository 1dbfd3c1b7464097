// Tasks on the nodes of a cluster, event by event (FLEX: Wolf et al. 2010, sections 1 and 4.2;
// Rasooli and Down 2011, section 4).
//
// A physical model that drives a scheduler (scheduler/cluster_scheduler), which keeps all counts
// and says which tasks start where. The model says how long tasks take (sim/task_times; below
// linear speed-up sim/phase_clocks), when outputs have been copied (sim/map_outputs), how long
// blocks take over disks and links (sim/block_reads), when nodes report (sim/heartbeats), when jobs
// come (sim/arrivals), what is lost with a node (cluster_losses.cpp), and which tasks get a second
// attempt (cluster_backups.cpp).
//
// A job's map tasks may run from its arrival on, its reduce tasks once the given part of its maps
// has finished (slow start); they copy as maps finish. With copy-compute splitting, copying takes
// no slot and reduce tasks are ready when it has ended. A decision takes no task back; it changes
// which jobs get the slots that become free. Only reduce tasks that wait for maps, and backup
// tasks, may be ended early. If disks or links are limited, a map task reads its block first. A
// node that leaves kills its running tasks, and maps that finished there run again as long as a
// reduce task of their job has not started or not copied everything.
//
// Phase p of a job has the number 2 * job + p; a pool is the slots of one kind (0: maps, 1:
// reduces; generic slots, which run both: all in pool 0). A reduce task is *parked* while it holds
// a slot and waits for maps.
//
// At one instant: tasks end, nodes leave or return, jobs arrive, the policy decides if it is time
// and anything changed, then free slots are given away. Tasks of one phase that start together and
// end together on nodes of one type are a *group* and share an event. A task costs at most O(log
// events + log jobs), and less in batches; a decision costs as much as the policy's. Memory: O(jobs
// + slots + task times given).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "malleable/kernel/event_heap.hpp"
#include "malleable/scheduler/cluster_scheduler.hpp"
#include "malleable/sim/arrivals.hpp"
#include "malleable/sim/block_reads.hpp"
#include "malleable/sim/cluster_options.hpp"
#include "malleable/sim/heartbeats.hpp"
#include "malleable/sim/map_outputs.hpp"
#include "malleable/sim/phase_clocks.hpp"
#include "malleable/sim/task_groups.hpp"
#include "malleable/sim/task_times.hpp"
#include "malleable/sim/user_watch.hpp"

namespace malleable {

// Times at which nodes leave (up = 0) or return.
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
  std::int64_t killed = 0;        // tasks killed with their node
  std::int64_t outputs_lost = 0;  // finished maps that had to run again
  // reduce tasks that waited for maps and were ended to free their slots
  std::int64_t preempted = 0;
  std::int64_t backups = 0;      // second attempts
  std::int64_t backups_won = 0;  // second attempts that ended first
  double wasted = 0.0;           // slot-seconds of attempts in vain, until now
  std::int64_t local = 0;        // maps with a block that ran beside it
  std::int64_t remote = 0;       // maps with a block that ran elsewhere
  std::int64_t events = 0;
  std::int64_t decisions = 0;
  double moved = 0.0;              // slots that decisions took from jobs that could still use them
  double jobs_seconds = 0.0;       // integral of the number of jobs
  double busy[2] = {0.0, 0.0};     // slot-seconds in use, by pool
  double offered[2] = {0.0, 0.0};  // slot-seconds of all nodes that are up
  double lost[2] = {0.0, 0.0};     // slot-seconds below targets although tasks were ready
  double idle[2] = {0.0, 0.0};     // slot-seconds idle although tasks were ready
  // integrals over time of what sim/user_watch.hpp measures: how far users are below their minima,
  // and how unequal users of one priority are
  double dissatisfaction = 0.0;
  double fairness = 0.0;
};

class ClusterSimulation {
 public:
  // The views, the policy and the estimates belong to the caller, must outlive the simulation, and
  // must be valid (see validate()). `estimate[2 * job + phase]`: seconds of a task that policies
  // see (empty: the true mean).
  ClusterSimulation(const ClusterView& cluster, const ClusterJobsView& jobs,
                    const ClusterOptions& options, const ClusterChanges& changes,
                    std::span<const double> estimate, ClusterPolicy& policy);

  // Runs up to and including a time; infinity: until nothing more can happen.
  void advance(double until);

  const ClusterTotals& totals() const { return totals_; }
  const ClusterState& state() const { return scheduler_.state(); }
  // What was learnt; and takes over what was learnt elsewhere, before the first advance.
  TaskEstimates::History history() const { return scheduler_.history(); }
  void recall(const TaskEstimates::History& history) { scheduler_.recall(history); }
  // Bytes of blocks that moved between nodes, if bytes take time.
  bool moves_bytes() const { return moves_; }
  double remote_bytes() const { return reads_.remote(); }

  // By job; NaN: not yet.
  std::vector<double> came, start, map_completion, completion;
  std::vector<std::int64_t> most_slots;  // at once
  std::vector<float> latency;            // wall-clock seconds of decisions
  // The trace. kind 0: start, 1: end, 2: failed, 3: killed, 4: output lost; 5: a backup task
  // starts, 6: an attempt has ended in vain.
  std::vector<double> trace_time;
  std::vector<std::uint8_t> trace_kind, trace_phase;
  std::vector<std::int64_t> trace_job, trace_task, trace_node;
  std::vector<std::int64_t> trace_attempt;  // 0 without backup tasks; else its number, from 1

 private:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // an attempt ends; maps are copied, so reduces may run; a node leaves or returns; a node reports
  enum class Kind : std::uint8_t { kFinish, kReady, kNode, kHeartbeat };
  struct Event {
    std::int64_t at;     // the time's bits, so that they compare as the times do
    std::uint64_t turn;  // by kind, then in the order in which they were pushed
    Index what;          // group, job or node

    double time() const { return std::bit_cast<double>(in_order(at)); }
    Kind kind() const { return static_cast<Kind>(turn >> kKindAt); }
  };
  static constexpr int kKindAt = 56;  // no simulation pushes 2^56 events
  // Maps a double's bits to integers of the same order, and back.
  static constexpr std::int64_t in_order(std::int64_t bits) {
    return bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());
  }
  // Compares integers without branches, because heaps spend most of their time in comparisons.
  struct Earlier {
    bool operator()(const Event& a, const Event& b) const {
      return (a.at < b.at) | ((a.at == b.at) & (a.turn < b.turn));
    }
  };
  struct Job {
    bool copies = false;        // with copy-compute splitting: copying has begun
    std::vector<Index> parked;  // groups of reduces that wait for maps
    // Slots of tasks that ended at this time, which next tasks of the job take over.
    double freed_at = -kInfinity;
    std::int64_t freed = 0;
  };

  const PhaseState& phase(Index phase) const { return state().phases[phase]; }
  void push(double time, Kind kind, Index what) {
    const auto bits = std::bit_cast<std::int64_t>(time + 0.0);  // -0 is 0
    events_.push({in_order(bits), static_cast<std::uint64_t>(kind) << kKindAt | sequence_++, what});
  }
  Event pop();  // the next event
  double next_event() const;
  void integrate(double until);  // adds to the totals that are integrals over time
  bool end_tasks_and_reads();
  void admit_arrivals();
  // Starts tasks in free slots; `happened`: there was an event or a decision.
  void give_slots(bool happened);
  // Lets all nodes that report now ask for tasks.
  void take_heartbeats(bool news, bool happened);
  // Kinds of rows in the trace; in vain: the other attempt at the task has ended.
  enum : std::uint8_t { kStarted, kEnded, kFailed, kKilled, kOutputLost, kBackup, kInVain };
  void record(std::uint8_t kind, Index phase, Index task, Index node, Index attempt = 0) {
    if (options_.trace) write(kind, phase, task, node, attempt);
  }
  void write(std::uint8_t kind, Index phase, Index task, Index node, Index attempt);

  // Tasks: cluster_tasks.cpp.
  void arrive(Index job);
  void leave(Index job);
  // All maps have ended: the reduces go on, or the job is done.
  void maps_done(Index job);
  // With copy-compute splitting: copying begins once enough maps have ended.
  void maps_ended(Index job);
  void begin(std::span<const TaskStart> starts);
  void begin(const TaskStart& task);
  struct StartedTask {  // a task that starts
    Index job;
    Phase p;
    Index task, node, phase, type;
    double seconds, copying;
    bool fails;
    // a map: it runs beside its block; reading its block takes time
    bool local = false, reads = false;
    bool parks = false;  // a reduce: it waits for maps
    // seconds that its slot does nothing first, because it worked for another job
    double restart = 0.0;
  };
  StartedTask started_task(const TaskStart& task, double seconds, double copying, bool fails);
  // Notes whether a map's block is on its node, and whether reading it takes time.
  void note_block(StartedTask& task);
  // Whether a task starts and ends together with a group.
  bool joins(const StartedTask& task, Index group) const;
  Index make_group(const StartedTask& task);
  // Frees the slots of a group that ends; returns its last task.
  Index free_slots_of(Index group);
  // The restart of the job's next task: 0 if it takes over a slot that the job frees now.
  double restart_now(Index job);
  // Tasks have ended well, after so many seconds.
  void succeed(Index job, Phase p, std::int64_t tasks, double seconds, double copying);
  // Makes the group's end an event.
  void schedule(Index group);
  void finish(Index group);
  void change_node(Index change);
  void kill(Index group, Index node);  // the tasks of a group on a node that leaves
  void free_slot(Index node, int pool) {
    scheduler_.release(node, pool);
    if (heartbeats_.used()) schedule_heartbeat(node);
  }
  void heartbeat(Index node);
  void schedule_heartbeat(Index node);

  // The group's reduces hold slots and wait for maps.
  void park(Index group);
  void unpark(Index group);
  void drop_group(Index group);  // a group without tasks
  void begin_copying(Index job);
  void end_read();  // the task begins to work
  // The node from which a task reads its block.
  Index source_of(Index job, Index task) const;

  // What is lost: cluster_losses.cpp. copies(): whether the group's reduces still copy.
  bool copies(Index group);
  bool needs_outputs(Index job);  // a reduce task has not started or still copies
  void run_maps_again(Index job);
  void park_again(Index group);  // its reduces wait for maps again
  // Whether waiting reduces hold all slots, so that nothing could start any more.
  bool stuck() const;
  // Gives slots of waiting reduces to maps.
  void make_room();
  // Ends a reduce that waits for maps.
  void evict(Index job);
  // Ends waiting reduces whose slots the scheduler wants for other tasks; true if there was one.
  bool take_back_reduces(int pool);
  // Starts reduces that will wait for maps, where the scheduler lets them take slots early.
  void start_early_reduces();

  // Second attempts: cluster_backups.cpp.
  struct Lone {  // an attempt that might get a second one
    Index phase, group;
    double began;
    BackupGain worth;
  };
  void end_backups(int pool);  // as many as ready tasks lack slots
  void begin_backups();        // in slots that no ready task wants
  void find_backups(int pool);
  // When an attempt began to work.
  double began(Index group) const;
  // Gives back the slot that an attempt has beside its task's slot.
  void end_beside(Index group);
  void begin_backup(const Lone& lone, Index node);
  // For an attempt that ends: whether its task had ended already.
  bool ends_beside(Index group);
  // Ends an attempt in vain.
  void drop_attempt(Index group);
  void drop_backups_of(Index phase);

  ClusterOptions options_;
  ClusterChanges changes_;
  Arrivals arrivals_;
  ClusterScheduler scheduler_;
  TaskTimes times_;
  TaskGroups groups_;
  PhaseClocks clocks_;
  MapOutputs outputs_;
  BlockReads reads_;
  bool moves_;  // reading a block from another node takes time
  Heartbeats heartbeats_;
  UserWatch users_;
  ClusterTotals totals_;
  std::vector<Job> jobs_;
  std::int64_t parked_ = 0;  // reduce tasks that hold a slot and wait for maps
  // Backup tasks beside running tasks, in the order of their starts; the number of slots in use
  // that the scheduler does not count as running.
  std::vector<Index> backups_[2];
  std::int64_t lent_[2] = {0, 0};
  std::int64_t in_vain_ = 0;  // of these: beside tasks that have ended already
  LeastGain least_gain_;
  Index attempts_ = 0;  // number of the last backup task
  // times of the last and the next look for backup tasks
  double last_search_ = -kInfinity, next_search_ = kInfinity;
  std::vector<Lone> lone_;
  EventHeap<Event, Earlier> events_;
  std::uint64_t sequence_ = 0;    // events pushed so far
  std::vector<std::uint8_t> up_;  // by node
  std::vector<TaskStart> starts_;
  std::vector<Index> nodes_;  // of the tasks that end now, if the policy listens
};

}  // namespace malleable
