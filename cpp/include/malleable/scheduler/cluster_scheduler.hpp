// The layer between a policy and the engine or simulation that runs tasks: it keeps counts of jobs
// by events, estimates, and decisions, and chooses the tasks that free slots start (FLEX: Wolf et
// al. 2010, sections 1 and 4.2: allocation layer above assignment layer).
//
// The cluster simulation drives it with simulated time, `Scheduler` with events of an engine. It
// does not know how long tasks will run. Jobs are rows of a table; calls must be right (Scheduler
// checks them). A *pool* is the slots of one kind: 0 those of maps, 1 those of reduces; generic
// slots, which run both, are all in pool 0. A *target* is the number of slots that the policy wants
// a job to have; a policy may instead give jobs ranks, or choose a job for each node
// (ClusterPolicy::Style in policy/cluster_policy.hpp). A *gang* is a phase whose minimum of tasks
// starts together.
//
// Events change counts at once. A decision is due (see `due`) when something changed, at most once
// an epoch. It changes which jobs get the slots that become free; tasks are never taken back. Free
// slots are given away by `assign`, all at once, or by `offer`, one node's: to the job with the
// least running / target, to the least rank, or as the policy chooses for the node. If the policy
// says so, the fastest free slot goes first, and a job leaves a slow slot to the next job if faster
// slots would end its tasks earlier. A slot that all jobs leave idles, unless so many tasks wait
// that the last job should take it (the slow server problem, Larsen and Agrawala 1983). With delay
// scheduling a job leaves a slot to others while it waits for a node with its blocks; gangs start
// together (cluster_scheduler_gangs.cpp); reduce tasks wait for the maps of their job
// (cluster_scheduler_reduces.cpp); a job that starves for `ageing` goes first, once, by longest
// wait. Such jobs hold at most one slot in twenty, and in the long run one slot-second in a
// thousand, so that the policy's order holds even if most jobs wait for longer than `ageing`.
//
// An event takes O(log jobs), and O(1) a task; a decision costs as much as the policy's and O(log
// jobs) for each job whose target changed; a task that starts O(log jobs) at most, and O(speeds +
// log jobs) for each of at most 256 jobs that leave a slow slot. Memory: O(jobs + slots).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "malleable/kernel/backup_gain.hpp"
#include "malleable/kernel/early_reduces.hpp"
#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/scheduler/job_estimates.hpp"
#include "malleable/scheduler/scheduler_options.hpp"
#include "malleable/scheduler/slot_queue.hpp"

namespace malleable {

struct TaskStart {
  Index job;
  Phase phase;
  Index task;
  Index node;
};

// Beyond this number of periods, rounding confuses neighbouring multiples.
inline constexpr double kFinest = 0x1p50;

// The first time first + k period, k a whole number, at or after `time` (or, with `after`, after
// it). If doubles cannot tell such times apart: `time` itself, or the next double.
inline double next_tick(double period, double first, double time, bool after) {
  double k = std::max(0.0, std::floor((time - first) / period));
  if (!(k < kFinest)) return after ? std::nextafter(time, kInfinity) : time;
  while (first + k * period < time || (after && first + k * period == time)) k += 1.0;
  return first + k * period;
}

class ClusterScheduler {
 public:
  // The views and the policy belong to the caller and must outlive the scheduler. `rank`: the jobs'
  // places in the order of arrivals, which break ties; `believed[2 * job + phase]`: the stated
  // seconds of a task, before any has run.
  ClusterScheduler(const ClusterView& cluster, const ClusterJobsView& jobs, std::vector<Index> rank,
                   std::vector<double> believed, const SchedulerOptions& options,
                   ClusterPolicy& policy);

  // These rows are jobs that will come: new rows, or rows of jobs that left. The memory behind the
  // views may have moved. `believed` has two entries a job; `parents` has one, or is empty.
  void add(std::span<const Index> jobs, const ClusterView& cluster, const ClusterJobsView& table,
           std::span<const Index> rank, std::span<const double> believed,
           std::span<const std::vector<Index>> parents);
  // The memory behind the views has moved.
  void set_views(const ClusterView& cluster, const ClusterJobsView& table) {
    state_.cluster = cluster;
    state_.jobs = table;
  }

  const ClusterState& state() const { return state_; }
  const SchedulerOptions& options() const { return options_; }
  ClusterPolicy::Style style() const { return style_; }
  int pool_of(Phase p) const { return state_.cluster.generic ? 0 : p; }
  // Never falls.
  void set_now(double now) { state_.now = now; }

  // A job comes in two steps, between which its blocks may be placed: announce() sets its tasks and
  // their estimates, the second call makes it present.
  void announce(Index job);
  bool place(Index job, Index task, std::span<Index> node) {
    return policy_->place(state_, job, task, node);
  }
  void check_node_rates(std::span<const double> rates) const {
    if (queues_) return;  // the queue of rigid jobs ignores rates
    const ClusterPolicy* other = policy_->for_node_rates();
    (other == nullptr ? policy_ : other)->check_node_rates(state_, rates);
  }
  // node[task * copies + c]: the node of copy c of a task's block.
  void set_blocks(Index job, std::size_t copies, std::span<const Index> node);
  // A job comes; a job whose tasks have all ended leaves.
  void arrive(Index job);
  void leave(Index job);
  // A job is done, even if some of its tasks were not reported: learns from its tasks.
  void completed(Index job);
  // A job leaves although tasks of it wait or run; they then belong to no job.
  void drop(Index job);

  // Lets tasks of a phase start.
  void make_ready(Index job, Phase p);
  // Frees a slot.
  void release(Index node, int pool) {
    ++state_.free_on[pool][node];
    ++state_.free[pool];
    if (!options_.offered) queue_[pool].push(node);
  }
  // Prefetches, in two steps, the data that coming events of a phase will read.
  MALLEABLE_INLINE void fetch_phase(Index job, Phase p) const {
    fetch(&state_.phases[2 * job + p]);
    if (estimates_.used()) estimates_.fetch(2 * job + p);
  }
  MALLEABLE_INLINE void fetch_rest(Index job, Phase p) const {
    if (estimates_.used()) estimates_.fetch_rest(2 * job + p);
  }
  // Whether the policy wants to know the nodes of ended tasks; the rule that it follows now.
  bool listens() const { return policy_->listens(); }
  std::string_view rule() const { return policy_->rule(state_); }
  // `count` tasks have finished after `seconds` each; `nodes`: where they ran, for policies that
  // listen. Release their slots separately.
  void ended(Index job, Phase p, std::int64_t count, double seconds, std::span<const Index> nodes);
  // `count` tasks started that this scheduler did not start.
  void started(Index job, Phase p, std::int64_t count);
  // Sets counts and estimates.
  void set_counts(Index job, Phase p, std::int64_t waiting, std::int64_t running,
                  std::int64_t finished);
  // Changes the stated time of a task.
  void set_estimate(Index job, Phase p, double seconds);
  // `count` tasks have ended in all, after `seconds` on average (engines that show counts; with
  // `learn`).
  void set_ended(Index job, Phase p, std::int64_t count, double seconds);
  // The estimated mean seconds of a phase's tasks from all events so far, which the next decision
  // will use, and their standard deviation.
  struct Estimate {
    double seconds, deviation;
  };
  Estimate estimate_of(Index job, Phase p) const;
  // The estimate of a job that has not come, with learning.
  Estimate estimate_before(Index job, Phase p) const;
  bool learns() const { return estimates_.used(); }
  // Sets how tasks probably slow each other down.
  void begin_with(SpeedupPrior prior) {
    if (!estimates_.used()) return;
    estimates_.begin_with(prior);
    state_.learned = estimates_.learned();
    mark_all();
  }
  // The running tasks have run for `seconds` together.
  void set_running_seconds(Index job, Phase p, double seconds) {
    if (!estimates_.used()) return;
    const auto running = static_cast<double>(state_.phase(job, p).running);
    estimates_.set_began(2 * job + p, running * state_.now - seconds);
  }
  // How much slower the ended tasks were than a task that runs alone.
  double slowed(Index job, Phase p) const {
    return estimates_.used() ? estimates_.slowed(2 * job + p) : 1.0;
  }
  // The mean of p for a job's tasks, if s running tasks together do s^p.
  double speedup(Index job) const {
    return estimates_.used() ? estimates_.speedup_of(group(job)) : state_.learned.speedup;
  }
  // What is left of a phase, as estimated.
  LeftPhase left(Index job, Phase p) const {
    return estimates_.left(2 * job + p, stated(job, p), state_.phases[2 * job + p], state_.now,
                           working(job, p));
  }
  // What was learnt; and replaces it by what another scheduler has learnt, before any job came.
  TaskEstimates::History history() const { return estimates_.history(); }
  void recall(const TaskEstimates::History& history) {
    estimates_.recall(history);
    if (estimates_.used()) state_.learned = estimates_.learned();
  }
  // Data of the job, such as its weight, have changed.
  void mark(Index job, Phase p);
  // The job's user has changed; it was `before`.
  void user_changed(Index job, std::size_t before);
  // A reduce task of the job has shown how long it copies in all.
  void copied(Index job, double seconds);
  // A task that ran will run again; then: `count` tasks wait again.
  void put_back(Index job, Phase p, Index task);
  void returned(Index job, Phase p, std::int64_t count);
  // `count` finished maps must run again (put_back() was called for each).
  void lost(Index job, std::int64_t count);
  void node_left(Index node);
  void node_came(Index node);
  // Adds slots to a node, or removes them.
  void add_slots(Index node, int pool, std::int64_t more) {
    state_.slots[pool] += more;
    state_.free_on[pool][node] += more;
    if (!speeds_.of.empty()) speeds_.slots[pool][speeds_.of[node]] += more;
    policy_->slots_changed(state_, node, pool, more);
  }
  // Sets the free slots, independent of events of tasks.
  void set_free(int pool, std::span<const std::int64_t> free);
  // Marks all jobs as changed, because targets depend on the slots.
  void mark_all();

  // The time of the next decision; infinity while nothing changed. event(): the time of the next
  // other event. If the policy depends on time, up to 1,000 epochs in a row without events have a
  // decision; after these only the last epoch before an event has one.
  template <typename Event>
  double due(const Event& event) const;
  // Decides; appends to `latency` the seconds that the policy took for each pool.
  void decide(std::vector<float>& latency);
  // The next time at which some wait ends without an event.
  double next_timer() const {
    const double check = checks_.empty() ? kInfinity : checks_.front().first;
    return timers_.empty() ? check : std::min(check, timers_.front().first);
  }
  // Makes the waits end whose time has come.
  void expire();
  // The time at which a policy that chooses for nodes reconsiders slots that it refused.
  double reconsiders() const { return std::min(policy_->reconsiders(0), policy_->reconsiders(1)); }
  // Whether a gang collects slots; whether something changed since the last decision.
  bool gathers() const { return gathering_[0].job != kNone || gathering_[1].job != kNone; }
  bool undecided() const { return !state_.changed[0].empty() || !state_.changed[1].empty(); }
  // A job's slots, or its rank; and its place among waiting jobs, the least first.
  double value(Index job, int pool) const { return value_[pool][job]; }
  double order(Index job, int pool) const { return key(job, pool, 0); }
  bool keeps(Index job, int pool) const { return policy_->keeps(state_, job, pool); }
  // Jobs, also jobs that left, whose counts, targets or places changed since this was last
  // forgotten, each once.
  std::span<const Index> changed_jobs() const { return changed_jobs_; }
  bool has_changed(Index job) const { return has_changed_[job] != 0; }
  void note_change(Index job) {
    if (has_changed_[job]) return;
    has_changed_[job] = 1;
    changed_jobs_.push_back(job);
  }
  void forget_changes() {
    for (const Index job : changed_jobs_) has_changed_[job] = 0;
    changed_jobs_.clear();
  }
  // Returns whether tasks became able to start, and forgets it.
  bool take_news() { return std::exchange(news_, false); }

  // Whether slots are free and tasks wait for them.
  bool may_start(int pool) const { return state_.free[pool] > 0 && ready_[pool] > 0; }
  // Gives free slots away; appends the tasks that start.
  void assign(int pool, std::vector<TaskStart>& starts);
  // Gives one node's slots away; true if any was taken, also by a gang that gathers slots.
  bool offer(Index node, int pool, std::vector<TaskStart>& starts);
  // Starts `count` tasks on a node, or (kNone) on the first free slots, independent of decisions.
  void start(Index job, Phase p, std::int64_t count, Index node, std::vector<TaskStart>& starts);
  // Call it after start(): counts the slots that the job lacks again; its place among waiting jobs
  // is updated when next read.
  void refresh(Index job, int pool);
  // How many free slots the job needs until a task of the phase may start, beyond those it has
  // gathered.
  std::int64_t least(Index job, Phase p) const;
  std::int64_t gathered(Index job, Phase p) const;
  // Makes the gang that gathers release its slots; returns their nodes.
  std::vector<Index> give_up(int pool);

  // The distribution of the phase's seconds, if running tasks may get backup tasks: none waits, one
  // has ended, and the scatter is known.
  std::optional<LogTimes> times_for_backups(Index job, Phase p) const;
  // The gain for a task that has run for `age`, without its waiting for maps (kernel/backup_gain).
  BackupGain backup_gain(Phase p, double age, const LogTimes& times) const {
    return malleable::backup_gain(age, times, p == kReduce ? copying_.low() : 0.0);
  }
  // Reduce tasks that start before all maps of their job have ended, if tasks can be ended
  // (cluster_scheduler_reduces.cpp). The first function starts them in slots that no ready task
  // wants. The second returns the job whose youngest reduce task that waits for maps must give up
  // its slot to a ready task, or kNone; `freed` slots are free in addition to the known ones.
  void start_early(int pool, std::vector<TaskStart>& starts);
  Index to_take_back(int pool, std::int64_t freed = 0);
  // The engine says that tasks of a phase may start.
  void stated_ready(Index job, Phase p) {
    if (p == kReduce) jobs_[job].ready_early = false;
    make_ready(job, p);
  }

  // The number of slots that ready tasks could use, at most `most`.
  std::int64_t wanted(int pool, std::int64_t most);
  // Takes a free slot for an attempt that the scheduler does not count; release() gives it back.
  Index lend(int pool);

  // Numbers of tasks, and of slots that are held for the gang that gathers.
  std::int64_t running(int pool) const { return running_[pool]; }
  std::int64_t ready(int pool) const { return ready_[pool]; }
  std::int64_t ready_of_user(std::size_t user) const { return user_ready_[user]; }
  std::int64_t held(int pool) const {
    return static_cast<std::int64_t>(gathering_[pool].nodes.size());
  }
  // The sum of slots below targets although tasks are ready.
  double shortage(int pool) const { return all_lacking_[pool]; }
  // Call it before any event if shortage() will be read.
  void watch_shortage() { watches_ = style_ == ClusterPolicy::Style::kTargets; }

  // The state, with the policy's, but without options, views and the queue of free slots. It is
  // read into a scheduler with the same views.
  void state(State& s);
  // The number of slots that decisions took from jobs that could still use them.
  double moved() const { return taken_; }
  std::int64_t decisions() const { return decisions_; }

 private:
  // The estimate of row 2 * job + phase.
  Estimate estimate_of(Index row, const LogMean& mean) const;
  struct Job {
    // delay scheduling: the time since which the job leaves slots to others
    double skipped = -1.0;
    Index started[2] = {0, 0};  // tasks started at least once, in order
    std::vector<Index> again[2];
    // If reduce tasks may start before all maps have ended: start times of running maps, in order;
    // the time before which they are not looked at again; whether a timer is set, and whether a
    // reduce task has shown its copying.
    std::vector<double> began;
    double next_check = 0.0;
    bool check_timed = false, showed_copying = false;
    // Whether reduce tasks are ready because all maps will probably end soon; how many have started
    // early, and wait; the last computed chances that all maps end while a reduce task copies the
    // present outputs, or all outputs; whether the job is in early_, and in candidates_.
    bool ready_early = false;
    std::int64_t early = 0;
    double chance_soon = 0.0, chance_all = 0.0;
    bool is_early = false, is_candidate = false;

    void state(State& s) {
      s(skipped, started, again, began, next_check, check_timed, showed_copying);
      s(ready_early, early, chance_soon, chance_all, is_early, is_candidate);
    }
  };
  struct Gathering {  // a gang that gathers slots, and the nodes of the slots held for it
    Index job = kNone;
    Phase phase = kMap;
    double since = 0.0;
    std::vector<Index> nodes;

    void state(State& s) { s(job, phase, since, nodes); }
  };
  enum : std::uint8_t { kFirst = 1, kHelped = 2 };  // values of aged_
  using Timer = std::pair<double, Index>;           // (time, kNone or 2 * job + pool that ages)

  // Speeds of nodes, fastest first, if tasks may wait for faster nodes: by node the place of its
  // speed, and by pool and place the slots of nodes that are up.
  struct Speeds {
    std::vector<Index> of;
    std::vector<double> rate;
    std::vector<std::int64_t> slots[2];
  };
  void grow();  // makes room for all rows and users of the table
  // Takes over properties of the policy; the second function also makes it decide about all jobs.
  void follow(ClusterPolicy& policy);
  void hand_over(ClusterPolicy& policy);
  void group_by_speed();
  // Jobs that have left a slow slot: their work together, the last job, their number.
  struct LeftSlot {
    double ahead = 0.0;
    Index last = kNone;
    std::int64_t jobs = 0;
  };
  // The work that busy faster slots can do before it is better to start on the free slot.
  double patience(Index job, Phase p) const;
  // Whether the job leaves the free slot to the next one; the job that takes it after all.
  bool leaves_slow_slot(Index job, Phase p, LeftSlot& left) const;
  Index takes_slow_slot(int pool, const LeftSlot& left) const;
  // How many of its tasks may start on the free slots.
  std::int64_t usable(Index job, Phase p) const;
  // How many of its tasks start before the next job's turn.
  std::int64_t at_once(Index job, int pool, std::int64_t most) const;
  // A job's slots, or its rank, before the first decision about it.
  double initial_value() const { return style_ == ClusterPolicy::Style::kRanks ? kInfinity : 0.0; }
  // Whether there is something to decide.
  bool is_due(int pool) const;
  // Gives a rank to a job that came after the last decision.
  void set_first_rank(Index job, int pool);
  void clear_changes();
  // Makes reduces ready once enough maps have ended, or will probably end in time.
  void start_slowly(Index job);
  // Maps have begun, or (below 0) ended that began about `when`.
  void map_began(Index job, std::int64_t count, double when);
  // Computes the chances that all maps end in time, and applies them to the reduces.
  void check_maps(Index job);
  void compute_chances(Index job);
  void apply_chances(Index job);
  void time_next_check(Index job);
  // Whether its reduces may start in slots that no ready task wants.
  bool may_start_early(Index job) const;
  // How many of its reduces may start so; its own maps come first.
  std::int64_t most_early(Index job) const;
  // Looks again at the maps of jobs whose time has come; makes waiting reduces not ready again.
  void make_due_checks();
  void make_unready(Index job);
  // Counts reduces that started before all maps have ended; takes off the ones that ended.
  void started_early(Index job, std::int64_t tasks);
  void ended_early(Index job, std::int64_t tasks) {
    jobs_[job].early = std::max<std::int64_t>(0, jobs_[job].early - tasks);
  }
  // Whether ready tasks need more slots than are free.
  bool tasks_lack_slots(int pool, std::int64_t freed);
  bool placed(Index job, Phase p) const {
    return p == kMap && options_.replicas > 0 && state_.blocks.has_blocks(job);
  }
  // Changes the counts of a phase by these numbers.
  void count(Index job, Phase p, std::int64_t waiting, std::int64_t running);
  // The group of a job: runs of one program for one user.
  std::int64_t group(Index job) const { return state_.jobs.group_of(job); }
  TaskEstimates::Stated stated(Index job, Phase p) const {
    return {state_.believed[2 * job + p], group(job), state_.jobs.user_of(job)};
  }
  // Sets the prior of a phase's tasks.
  void expect(Index job, Phase p);
  // Takes over an estimate.
  void believe(Index row, const LogMean& mean);
  // Running tasks without reduces that wait for maps.
  std::int64_t working(Index job, Phase p) const;
  LogMean mean_now(Index job, Phase p) const;
  LogTimes times_now(Index job, Phase p) const;
  // Updates the estimate of a phase's tasks; of all jobs that the next decision looks at.
  void estimate(Index job, Phase p);
  void estimate_changed();
  // Sets the priors again of phases that have shown no time.
  void expect_again();
  // Updates p of all present jobs, program by program (programs are runs of the same code).
  void update_exponents();
  // Learns from a phase that is done.
  void learn(Index job, Phase p);
  // The phase has no more tasks.
  void close(Index job, Phase p);
  void add_timer(double time, Index what);
  // Its place among waiting jobs if `more` of its tasks ran, the least first.
  double key(Index job, int pool, std::int64_t more) const;
  std::int64_t running_of(Index job, int pool) const;
  // How many tasks must start at once.
  std::int64_t needs(Index job, Phase p) const;
  bool starts_together(Index job) const;
  // How many tasks a gang lacks of its minimum.
  std::int64_t lacks(Index job, Phase p) const;
  // Rounds down to whole bundles of tasks that start together.
  std::int64_t bundled(Index job, Phase p, std::int64_t tasks) const;
  // Whether a running gang lacks tasks.
  bool ran_short(Index job, int pool) const;
  bool aged(Index job, int pool) const { return pooled_[pool][job].aged == kFirst; }
  // Notes whether it has ready tasks and no running one.
  void watch_age(Index job, int pool, bool starves);
  // Whether that has lasted for `ageing` seconds.
  bool starves_for_long(Index job, int pool);
  // Sets aged_; slot-seconds of aged jobs so far; whether one more job may go first.
  void mark_aged(Index job, int pool, std::uint8_t how);
  double aged_seconds(int pool) const;
  bool may_help(int pool) const;
  void let_aged_go_first(int pool);
  // Tasks of a job that a slot of the pool could start now.
  std::int64_t startable(Index job, int pool) const;
  // Moves jobs whose counts or values changed to their places among waiting jobs.
  void settle_places(int pool);
  // Whether the policy may decide differently as time passes.
  bool goes_by_clock() const {
    return policy_->depends_on_time() && !state_.present.empty() &&
           (ready_[0] > 0 || ready_[1] > 0);
  }
  // Delay scheduling: whether the job leaves the node's slot to others.
  bool waits_for_block(Index job, Index node);
  // Give free slots away: the fastest first; as the policy chooses; node by node.
  void assign_queue(int pool, std::vector<TaskStart>& starts);
  void assign_chosen(int pool, std::vector<TaskStart>& starts);
  void assign_nodes(int pool, std::vector<TaskStart>& starts);
  // Offer a node's slot: to any job; to the job that the policy chooses.
  bool offer_one(Index node, int pool, std::vector<TaskStart>& starts);
  bool offer_to_chosen(Index node, int pool, std::vector<TaskStart>& starts);
  // Whether an entry of the queue is for a slot that has been taken.
  bool is_stale(Index node);
  bool offer_to_first(Index node, int pool, bool first, std::vector<TaskStart>& starts);
  Phase next_phase(Index job, int pool) const;
  Index free_node(int pool);
  // Takes a job that cannot use the offered slot out of the waiting ones, until unskip().
  void skip(Index job, int pool);
  void unskip(int pool);
  // Lets a gang begin to gather slots; holds a slot for it (false: it waits for another node).
  void gather(Index job, Phase p, int pool);
  bool hold_slot(Index node, int pool, std::vector<TaskStart>& starts);
  // The next task: one with a block on the node; any one.
  Index task_near(Index job, Index node);
  Index next_task(Index job, Phase p);

  ClusterState state_;
  SchedulerOptions options_;
  ClusterPolicy* policy_;
  ClusterPolicy::Style style_ = ClusterPolicy::Style::kTargets;
  // the policy that replaces it for rigid jobs, or for node_rates, decides
  bool queues_ = false, for_node_rates_ = false;
  bool by_node_ = false;   // slots are offered node by node: nodes or blocks matter
  bool in_order_ = false;  // targets are filled in the policy's order
  bool watches_ = false;   // shortage() is updated
  bool predicts_maps_;     // reduce tasks may start before all maps have ended
  bool takes_back_;        // and can be ended again
  std::vector<Job> jobs_;
  Speeds speeds_;
  SlotQueue queue_[2];  // free slots, unless nodes offer theirs
  IndexedHeap waiting_[2];
  struct Pooled {               // what is kept of a job in a pool
    double starving = -1.0;     // ageing: the time since which it starves
    double lacking = 0.0;       // slots below its target
    std::uint8_t aged = 0;      // kFirst: goes first; kHelped: its task that went first runs
    bool timed = false;         // a timer is set for it, or it is overdue
    bool marked = false;        // it is in state_.changed
    bool is_displaced = false;  // it is in displaced_

    void state(State& s) { s(starving, lacking, aged, timed, marked); }
  };
  std::vector<Pooled> pooled_[2];    // by job
  std::vector<Index> displaced_[2];  // jobs whose places among waiting jobs must be updated
  std::vector<double> value_[2];     // targets or ranks
  std::vector<Index> moved_;         // jobs whose value a decision changed
  std::vector<ClusterPolicy::Start> chosen_;
  std::vector<double> old_;  // their values before
  std::vector<Index> changed_jobs_;
  std::vector<std::uint8_t> has_changed_;
  std::uint64_t arrivals_ = 0;
  // heap: jobs that starved for long enough, by start of starving
  std::vector<Timer> overdue_[2];
  std::int64_t helped_[2] = {0, 0};  // aged jobs
  // slot-seconds of aged jobs, and the time until which they are counted
  double aged_seconds_[2] = {0.0, 0.0}, aged_until_[2] = {0.0, 0.0};
  double all_lacking_[2] = {0.0, 0.0};                    // slots of all jobs below their targets
  std::int64_t running_[2] = {0, 0}, ready_[2] = {0, 0};  // tasks
  std::vector<std::int64_t> user_ready_;
  double last_decision_ = -1.0;  // number of the epoch
  std::size_t by_clock_ = 0;     // decisions in a row without any event between
  double taken_ = 0.0;           // see moved()
  std::int64_t decisions_ = 0;
  Gathering gathering_[2];
  std::vector<Timer> timers_;           // heap
  std::vector<Index> skipped_;          // in the present pass: jobs that left slots to others
  std::vector<std::uint64_t> refused_;  // by node: the last pass in which its slot was left
  std::uint64_t passes_ = 0;
  // In the present pass: whether a policy that knows all slots leaves them idle; the entries of the
  // queue whose slots were taken before their turn, by node and in total.
  bool idle_ = false;
  std::vector<std::int64_t> early_taken_;
  std::int64_t stale_ = 0;
  double reconsidered_[2] = {0.0, 0.0};  // the last time for which a policy was promised a call
  JobEstimates estimates_;
  CopySeconds copying_;
  std::vector<Timer> checks_;  // heap: when jobs' maps are looked at again
  std::vector<double> ages_;   // [s] of running maps (workspace)
  // Jobs whose reduce tasks hold slots and wait for maps, none of which is ended before
  // `take_back_after_`; jobs whose reduce tasks may start in slots that no task wants.
  std::vector<Index> early_, candidates_;
  double take_back_after_ = 0.0;
  // Programs of present jobs; by program + 1 the number of jobs, while they are counted, and p.
  struct Program {
    double jobs = 0.0, exponent = 1.0;
  };
  std::vector<std::int64_t> programs_here_;
  std::vector<Program> programs_;
  bool news_ = false;
};

template <typename Event>
double ClusterScheduler::due(const Event& event) const {
  const bool changed = undecided();
  if (style_ >= ClusterPolicy::Style::kNode || !(changed || goes_by_clock())) return kInfinity;
  const double epoch = options_.epoch;
  // Epochs too short for doubles to tell apart do not count.
  if (epoch <= 0.0 || state_.now >= kFinest * epoch) return changed ? state_.now : kInfinity;
  const double next = (last_decision_ + 1.0) * epoch;
  const double time =
      next >= state_.now ? next : next_tick(epoch, /*first=*/0.0, state_.now, /*after=*/false);
  constexpr std::size_t kMostByClock = 1'000;  // in a row
  if (changed || by_clock_ < kMostByClock) return time;
  const double then = event();
  return then < kInfinity ? std::max(time, std::floor(then / epoch) * epoch) : kInfinity;
}

}  // namespace malleable
