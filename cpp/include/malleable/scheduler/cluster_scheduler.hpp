// What stands between a policy and whatever runs tasks: counts of jobs kept by events, estimates,
// decisions, and which tasks free slots start (FLEX, sections 1 and 4.2: allocation layer above
// assignment layer).
//
// The cluster simulation drives it with simulated time, `Scheduler` with events of an engine. It
// knows nothing of how long tasks will run, only what it was told. Jobs are rows of a table; calls
// are taken to be right (Scheduler checks them).
//
// Events change counts at once. A decision is due (see `due`) when something changed, not more
// often than once an epoch; it changes who gets the slots that become free, tasks are never taken
// back. Free slots are given away by `assign`, all at once, or by `offer`, one node's: to the job
// with the least running / target, to the least rank, or as the policy chooses for the node. If the
// policy says so, the fastest free slot goes first, and a job leaves a slow slot to the next one if
// faster slots would end its tasks before. A slot that all jobs leave idles, unless so many wait
// that the last one had better take it (the slow server problem, Larsen and Agrawala 1983). With
// delay scheduling a job leaves a slot to others while it waits for a block of its own; gangs start
// together (cluster_scheduler_gangs.cpp); reduce tasks wait for the maps of their job
// (cluster_scheduler_reduces.cpp); a job that starves for `ageing` goes first, once, the longest
// wait before others. Such jobs hold one slot in twenty at most, and in the long run one
// slot-second in a thousand, so that the policy's order stays what it is where most jobs wait for
// longer than `ageing`.
//
// An event takes O(log jobs), and O(1) a task; a decision what the policy takes and O(log jobs) for
// each job whose target moved; a task that starts O(log jobs) at most, and O(speeds + log jobs)
// for each of at most 256 jobs that leave a slow slot. Memory: O(jobs + slots).
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

// Beyond, rounding takes one multiple of a period for another.
inline constexpr double kFinest = 0x1p50;

// The first instant first + k period, k a whole number, at or after `time`, or after it; where the
// clock cannot tell such instants apart, `time` itself, or the next that there is.
inline double next_tick(double period, double first, double time, bool after) {
  double k = std::max(0.0, std::floor((time - first) / period));
  if (!(k < kFinest)) return after ? std::nextafter(time, kInfinity) : time;
  while (first + k * period < time || (after && first + k * period == time)) k += 1.0;
  return first + k * period;
}

class ClusterScheduler {
 public:
  // The views and the policy stay the caller's and must outlive the scheduler. `rank`: the jobs'
  // places in the order of their arrivals, by which ties are broken; `believed[2 * job + phase]`:
  // seconds of a task before anything of it is known.
  ClusterScheduler(const ClusterView& cluster, const ClusterJobsView& jobs, std::vector<Index> rank,
                   std::vector<double> believed, const SchedulerOptions& options,
                   ClusterPolicy& policy);

  // These rows are jobs that will come: more rows, or rows of others that left. What the views
  // point to may have moved. `believed` has two entries a job, `parents` one or is empty.
  void add(std::span<const Index> jobs, const ClusterView& cluster, const ClusterJobsView& table,
           std::span<const Index> rank, std::span<const double> believed,
           std::span<const std::vector<Index>> parents);
  void look(const ClusterView& cluster, const ClusterJobsView& table) {
    state_.cluster = cluster;
    state_.jobs = table;
  }

  const ClusterState& state() const { return state_; }
  const SchedulerOptions& options() const { return options_; }
  ClusterPolicy::Style style() const { return style_; }
  int pool_of(Phase p) const { return state_.cluster.generic ? 0 : p; }
  // Never falls.
  void set_now(double now) { state_.now = now; }

  // A job comes in two steps, between which its blocks may be placed: its numbers of tasks, whose
  // seconds are believed or estimated (`learn`), and that it is here.
  void announce(Index job);
  bool place(Index job, Index task, std::span<Index> node) {
    return policy_->place(state_, job, task, node);
  }
  void check_node_rates(std::span<const double> rates) const {
    const ClusterPolicy* other = policy_->unlike();
    (other == nullptr ? policy_ : other)->check_node_rates(state_, rates);
  }
  // node[task * copies + c]; copies of blocks.
  void set_blocks(Index job, std::size_t copies, std::span<const Index> node);
  void arrive(Index job);
  void leave(Index job);
  // A job that is done, whatever was told of its tasks: what they have shown is learnt.
  void completed(Index job);
  // A job that leaves although tasks of it wait or run: nobody's from now on.
  void drop(Index job);

  // Tasks of a phase may start.
  void make_ready(Index job, Phase p);
  // A slot is free again.
  void release(Index node, int pool) {
    ++state_.free_on[pool][node];
    ++state_.free[pool];
    if (!options_.offered) queue_[pool].push(node);
  }
  // Events of a phase come soon: what they look at is fetched meanwhile, in two steps.
  MALLEABLE_INLINE void fetch_phase(Index job, Phase p) const {
    fetch(&state_.phases[2 * job + p]);
    if (estimates_.used()) estimates_.fetch(2 * job + p);
  }
  MALLEABLE_INLINE void fetch_rest(Index job, Phase p) const {
    if (estimates_.used()) estimates_.fetch_rest(2 * job + p);
  }
  // So many tasks have finished after as many seconds each; `nodes` where they ran, for policies
  // that listen. Their slots are released apart.
  bool listens() const { return policy_->listens(); }
  std::string_view rule() const { return policy_->rule(state_); }
  void ended(Index job, Phase p, std::int64_t count, double seconds, std::span<const Index> nodes);
  // So many tasks started that nobody here had start.
  void started(Index job, Phase p, std::int64_t count);
  // Counts and seconds as they are.
  void set_counts(Index job, Phase p, std::int64_t waiting, std::int64_t running,
                  std::int64_t finished);
  // Its user says another time of a task.
  void set_estimate(Index job, Phase p, double seconds);
  // So many tasks have ended in all, after as many seconds on average, as far as counts tell
  // (`learn`).
  void saw(Index job, Phase p, std::int64_t count, double seconds);
  // Seconds of a phase's tasks on average as far as all that was told goes, which decisions are
  // made with from the next one on, and their standard deviation.
  struct Estimate {
    double seconds, deviation;
  };
  Estimate estimate_of(Index job, Phase p) const;
  // Of a job that has not come, where something is learnt.
  Estimate estimate_before(Index job, Phase p) const;
  bool learns() const { return estimates_.used(); }
  void begin_with(SpeedupPrior prior) {
    if (!estimates_.used()) return;
    estimates_.begin_with(prior);
    state_.learned = estimates_.learned();
    mark_all();
  }
  // Tasks that run have run for so many seconds, all together.
  void aged(Index job, Phase p, double seconds) {
    if (!estimates_.used()) return;
    const auto running = static_cast<double>(state_.phase(job, p).running);
    estimates_.aged(2 * job + p, running * state_.now - seconds);
  }
  double slowed(Index job, Phase p) const {
    return estimates_.used() ? estimates_.slowed(2 * job + p) : 1.0;
  }
  // What is believed of p of a job's tasks.
  double speedup(Index job) const {
    return estimates_.used() ? estimates_.speedup_of(group(job)) : state_.learned.speedup;
  }
  LeftPhase left(Index job, Phase p) const {
    return estimates_.left(2 * job + p, told(job, p), state_.phases[2 * job + p], state_.now,
                           working(job, p));
  }
  // What was learnt, and what was learnt elsewhere in place of it, before any job came.
  TaskEstimates::History history() const { return estimates_.history(); }
  void recall(const TaskEstimates::History& history) {
    estimates_.recall(history);
    if (estimates_.used()) state_.learned = estimates_.learned();
  }
  // Its weight, say, is another one.
  void mark(Index job, Phase p);
  // It was this user's until now.
  void user_changed(Index job, std::size_t before);
  // A reduce task of the job has shown how long it copies, all of it.
  void copied(Index job, double seconds);
  // One that ran will run again; then that so many wait again.
  void put_back(Index job, Phase p, Index task);
  void returned(Index job, Phase p, std::int64_t count);
  // So many finished maps have to run again (each was put back).
  void lost(Index job, std::int64_t count);
  void node_left(Index node);
  void node_came(Index node);
  // So many slots more or less on a node.
  void add_slots(Index node, int pool, std::int64_t more) {
    state_.slots[pool] += more;
    state_.free_on[pool][node] += more;
    if (!speeds_.of.empty()) speeds_.slots[pool][speeds_.of[node]] += more;
    policy_->slots_changed(state_, node, pool, more);
  }
  // These slots are free, whatever was told of tasks.
  void set_free(int pool, std::span<const std::int64_t> free);
  // Jobs' targets depend on the slots that there are.
  void mark_all();

  // When the next decision is due; infinity while nothing changed. event(): when something else
  // happens next. Of epochs in which nothing does, 1,000 in a row have a decision if the policy
  // depends on time, and then the last one before something does.
  template <typename Event>
  double due(const Event& event) const;
  // Appends to `latency` how long [s] the policy took for each pool that it decided for.
  void decide(std::vector<float>& latency);
  // The next time at which waiting for something ends though nothing happens.
  double next_timer() const {
    const double look = looks_.empty() ? kInfinity : looks_.front().first;
    return timers_.empty() ? look : std::min(look, timers_.front().first);
  }
  void expire();
  // When the policy, which chooses for nodes, reconsiders what it refused.
  double reconsiders() const { return std::min(policy_->reconsiders(0), policy_->reconsiders(1)); }
  bool gathers() const { return gathering_[0].job != kNone || gathering_[1].job != kNone; }
  bool undecided() const { return !state_.changed[0].empty() || !state_.changed[1].empty(); }
  // A job's slots, or its rank; and its place among those that wait, the least first.
  double value(Index job, int pool) const { return value_[pool][job]; }
  double order(Index job, int pool) const { return key(job, pool, 0); }
  // Jobs whose counts, targets or places are others than when this was last forgotten, each once;
  // those that left are among them.
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
  // Whether tasks could start that could not before; forgets it.
  bool take_news() { return std::exchange(news_, false); }

  // Slots are free and tasks wait for some.
  bool may_start(int pool) const { return state_.free[pool] > 0 && ready_[pool] > 0; }
  // Gives free slots away; tasks that start are appended.
  void assign(int pool, std::vector<TaskStart>& starts);
  // One node's slots; true if any was taken, by a gang that gathers, too.
  bool offer(Index node, int pool, std::vector<TaskStart>& starts);
  // Whatever was decided: `count` tasks on a node, or (kNone) on the first free slots.
  void start(Index job, Phase p, std::int64_t count, Index node, std::vector<TaskStart>& starts);
  // After start(): what a job lacks is counted again, and its place among those that wait is found
  // when somebody looks.
  void refresh(Index job, int pool);
  // How many free slots it takes until a task of the phase may start, beyond those it has gathered.
  std::int64_t least(Index job, Phase p) const;
  std::int64_t gathered(Index job, Phase p) const;
  // A gang that gathers lets its slots go; returns their nodes.
  std::vector<Index> give_up(int pool);

  // Seconds of the phase's tasks if one that runs may have a backup task: none waits, one has
  // ended, and what is learnt says how they scatter.
  std::optional<LogTimes> times_for_backups(Index job, Phase p) const;
  // Of one that has run so long, without what it waited for maps (kernel/backup_gain).
  BackupGain backup_gain(Phase p, double age, const LogTimes& times) const {
    return malleable::backup_gain(age, times, p == kReduce ? copying_.low() : 0.0);
  }
  // Reduce tasks that start before all maps of their job have ended, if tasks can be ended
  // (cluster_scheduler_reduces.cpp): tasks for slots that no ready task wants; and the job whose
  // youngest reduce task that waits for maps is to wait for a slot again, so that a task which
  // finds none has this one, `freed` more being free than is told. kNone: there is none.
  void start_early(int pool, std::vector<TaskStart>& starts);
  Index to_take_back(int pool, std::int64_t freed = 0);
  // Tasks of a phase may start, as somebody says who knows more.
  void said_ready(Index job, Phase p) {
    if (p == kReduce) jobs_[job].foreseen = false;
    make_ready(job, p);
  }

  // How many slots ready tasks could use, at most `most`.
  std::int64_t wanted(int pool, std::int64_t most);
  // Takes a free slot for what is no task of the scheduler's; release() gives it back.
  Index lend(int pool);

  std::int64_t running(int pool) const { return running_[pool]; }
  std::int64_t ready(int pool) const { return ready_[pool]; }
  std::int64_t ready_of_user(std::size_t user) const { return user_ready_[user]; }
  std::int64_t held(int pool) const {
    return static_cast<std::int64_t>(gathering_[pool].nodes.size());
  }
  // Slots below targets although tasks are ready.
  double shortage(int pool) const { return all_short_[pool]; }
  // Before anything happens: somebody will ask for it.
  void watch_shortage() { watches_ = style_ == ClusterPolicy::Style::kTargets; }

  // All but options, views and the queue of free slots, and what the policy keeps; read into one
  // that looks at the views that were there.
  void state(State& s);
  // Slots that decisions took from jobs that could still use them.
  double moved() const { return taken_; }
  std::int64_t decisions() const { return decisions_; }

 private:
  // Of row 2 * job + phase.
  Estimate estimate_of(Index row, const LogMean& mean) const;
  struct Job {
    double skipped = -1.0;      // delay scheduling: since when
    Index started[2] = {0, 0};  // tasks started at least once, in order
    std::vector<Index> again[2];
    // Where reduce tasks may start before all maps have ended: since when maps run, by time; not to
    // be looked at before; whether a timer is there, and a reduce task has shown its copying.
    std::vector<double> began;
    double look = 0.0;
    bool looked_for = false, told_copying = false;
    // Whether reduce tasks are ready as all maps will probably end soon; how many have started
    // early, and wait; chances that all maps end while one copies what is there, or everything, as
    // they were last looked at; whether the job is in early_, and in hopeful_.
    bool foreseen = false;
    std::int64_t early = 0;
    double soon = 0.0, hope = 0.0;
    bool is_early = false, is_hopeful = false;

    void state(State& s) {
      s(skipped, started, again, began, look, looked_for, told_copying);
      s(foreseen, early, soon, hope, is_early, is_hopeful);
    }
  };
  struct Gathering {  // a gang, and the nodes of slots that are held for it
    Index job = kNone;
    Phase phase = kMap;
    double since = 0.0;
    std::vector<Index> nodes;

    void state(State& s) { s(job, phase, since, nodes); }
  };
  enum : std::uint8_t { kFirst = 1, kHelped = 2 };
  using Timer = std::pair<double, Index>;  // kNone, or 2 * job + pool that ages

  // Speeds of nodes, the fastest first, if tasks may wait for faster ones: by node the place of its
  // speed, and by pool and place how many slots nodes have that are up.
  struct Speeds {
    std::vector<Index> of;
    std::vector<double> rate;
    std::vector<std::int64_t> slots[2];
  };
  void follow(ClusterPolicy& policy);
  void hand_over(ClusterPolicy& policy);
  void look_at_speeds();
  // Jobs that have left a slow slot: the work of all, the last one, how many.
  struct LeftSlot {
    double ahead = 0.0;
    Index last = kNone;
    std::int64_t jobs = 0;
  };
  double patience(Index job, Phase p) const;
  bool leaves_slow_slot(Index job, Phase p, LeftSlot& left) const;
  Index takes_slow_slot(int pool, const LeftSlot& left) const;
  std::int64_t usable(Index job, Phase p) const;
  std::int64_t at_once(Index job, int pool, std::int64_t most) const;
  // A job's slots, or its rank, before anybody said anything of it.
  double untold() const { return style_ == ClusterPolicy::Style::kRanks ? kInfinity : 0.0; }
  bool is_due(int pool) const;
  void look_for_rank(Index job, int pool);
  void clear_changes();
  void start_slowly(Index job);
  void map_began(Index job, std::int64_t count, double when);
  void foresee(Index job);
  void look_at_chances(Index job);
  void follow_chances(Index job);
  void look_again(Index job);
  bool hopes(Index job) const;
  std::int64_t early_room(Index job) const;
  void look_at_maps();
  void hold_back(Index job);
  void started_early(Index job, std::int64_t tasks);
  void ended_early(Index job, std::int64_t tasks) {
    jobs_[job].early = std::max<std::int64_t>(0, jobs_[job].early - tasks);
  }
  bool tasks_lack_slots(int pool, std::int64_t freed);
  bool placed(Index job, Phase p) const {
    return p == kMap && options_.replicas > 0 && state_.blocks.has_blocks(job);
  }
  void count(Index job, Phase p, std::int64_t waiting, std::int64_t running);
  // Jobs of one group ran the same program for the same user.
  std::int64_t group(Index job) const {
    const ClusterJobsView& jobs = state_.jobs;
    return jobs.group.empty() ? TaskEstimates::kNoGroup : jobs.group[job];
  }
  TaskEstimates::Stated told(Index job, Phase p) const {
    return {state_.believed[2 * job + p], group(job), state_.jobs.user_of(job)};
  }
  void expect(Index job, Phase p);
  void believe(Index row, const LogMean& mean);
  std::int64_t working(Index job, Phase p) const;
  LogMean mean_now(Index job, Phase p) const;
  LogTimes times_now(Index job, Phase p) const;
  void estimate(Index job, Phase p);
  void estimate_changed();
  void expect_again();
  void look_at_exponents();
  void learn(Index job, Phase p);
  void close(Index job, Phase p);
  void add_timer(double time, Index what);
  double key(Index job, int pool, std::int64_t more) const;
  std::int64_t running_of(Index job, int pool) const;
  std::int64_t needs(Index job, Phase p) const;
  bool starts_together(Index job) const;
  std::int64_t lacks(Index job, Phase p) const;
  std::int64_t bundled(Index job, Phase p, std::int64_t tasks) const;
  bool ran_short(Index job, int pool) const;
  bool aged(Index job, int pool) const {
    return !aged_[pool].empty() && aged_[pool][job] == kFirst;
  }
  void watch_age(Index job, int pool, bool starves);
  bool starves_for_long(Index job, int pool);
  void mark_aged(Index job, int pool, std::uint8_t how);
  double aged_seconds(int pool) const;
  bool may_help(int pool) const;
  void let_aged_go_first(int pool);
  std::int64_t startable(Index job, int pool) const;
  void settle_places(int pool);
  bool goes_by_clock() const {
    return policy_->depends_on_time() && !state_.present.empty() &&
           (ready_[0] > 0 || ready_[1] > 0);
  }
  bool waits_for_block(Index job, Index node);
  void assign_queue(int pool, std::vector<TaskStart>& starts);
  void assign_chosen(int pool, std::vector<TaskStart>& starts);
  void assign_nodes(int pool, std::vector<TaskStart>& starts);
  bool offer_one(Index node, int pool, std::vector<TaskStart>& starts);
  bool offer_to_chosen(Index node, int pool, std::vector<TaskStart>& starts);
  bool offer_to_first(Index node, int pool, bool first, std::vector<TaskStart>& starts);
  Phase next_phase(Index job, int pool) const;
  Index free_node(int pool);
  void skip(Index job, int pool);
  void unskip(int pool);
  void gather(Index job, Phase p, int pool);
  bool hold(Index node, int pool, std::vector<TaskStart>& starts);
  Index task_near(Index job, Index node);
  Index next_task(Index job, Phase p);

  ClusterState state_;
  SchedulerOptions options_;
  ClusterPolicy* policy_;
  ClusterPolicy::Style style_ = ClusterPolicy::Style::kTargets;
  bool queues_ = false, unlike_ = false;  // what takes its place for rigid jobs, or rates, does
  bool by_node_ = false;
  bool in_order_ = false;  // targets are filled in the policy's order
  bool watches_ = false;   // shortage() counts
  bool foresees_;          // reduce tasks may start before all maps have ended
  bool takes_back_;        // and can be ended
  std::vector<Job> jobs_;
  Speeds speeds_;
  SlotQueue queue_[2];  // free slots, unless they are offered
  IndexedHeap waiting_[2];
  // Whose places among those that wait are to be found.
  std::vector<Index> displaced_[2];
  std::vector<std::uint8_t> is_displaced_[2];
  std::vector<double> value_[2];  // targets or ranks
  std::vector<Index> moved_;
  std::vector<ClusterPolicy::Start> chosen_;
  std::vector<double> old_;
  std::vector<Index> changed_jobs_;
  std::vector<std::uint8_t> has_changed_;
  std::uint64_t arrivals_ = 0;
  std::vector<std::uint8_t> marked_[2];
  std::vector<double> starving_[2];     // ageing: since when, by job
  std::vector<std::uint8_t> timed_[2];  // a timer will look at that, or it is overdue
  std::vector<std::uint8_t> aged_[2];  // kFirst: goes first; kHelped: its task that went first runs
  std::vector<Timer> overdue_[2];      // heap: jobs that starved for long enough, by since when
  std::int64_t helped_[2] = {0, 0};    // jobs that aged_ marks
  double aged_seconds_[2] = {0.0, 0.0}, aged_until_[2] = {0.0, 0.0};  // slot-seconds, until when
  std::vector<double> short_[2];  // by job: slots below its target
  double all_short_[2] = {0.0, 0.0};
  std::int64_t running_[2] = {0, 0}, ready_[2] = {0, 0};
  std::vector<std::int64_t> user_ready_;
  double last_decision_ = -1.0;  // number of the epoch
  std::size_t by_clock_ = 0;     // decisions in a row for which nothing but time had passed
  double taken_ = 0.0;
  std::int64_t decisions_ = 0;
  Gathering gathering_[2];
  std::vector<Timer> timers_;  // heap
  std::vector<Index> skipped_;
  std::vector<std::uint64_t> refused_;  // by node: the last pass in which its slot was left
  std::uint64_t passes_ = 0;
  double reconsidered_[2] = {0.0, 0.0};  // the last time a policy was promised to be asked again
  JobEstimates estimates_;
  CopySeconds copying_;
  std::vector<Timer> looks_;  // heap: when jobs' maps are looked at again
  std::vector<double> ages_;
  // Jobs whose reduce tasks wait for maps on slots, none of which is to be ended before `calm_`;
  // jobs whose reduce tasks may start in slots that nobody wants.
  std::vector<Index> early_, hopeful_;
  double calm_ = 0.0;
  // Programs of jobs that are here; by program + 1, how many jobs, while they are counted.
  std::vector<std::int64_t> programs_here_;
  std::vector<double> jobs_of_program_;
  bool news_ = false;
};

template <typename Event>
double ClusterScheduler::due(const Event& event) const {
  const bool changed = undecided();
  if (style_ >= ClusterPolicy::Style::kNode || !(changed || goes_by_clock())) return kInfinity;
  const double epoch = options_.epoch;
  // Epochs that the clock cannot tell apart are none.
  if (epoch <= 0.0 || state_.now >= kFinest * epoch) return changed ? state_.now : kInfinity;
  const double next = (last_decision_ + 1.0) * epoch;
  const double time = next >= state_.now ? next : next_tick(epoch, 0.0, state_.now, false);
  constexpr std::size_t kMostByClock = 1'000;  // in a row
  if (changed || by_clock_ < kMostByClock) return time;
  const double then = event();
  return then < kInfinity ? std::max(time, std::floor(then / epoch) * epoch) : kInfinity;
}

}  // namespace malleable
