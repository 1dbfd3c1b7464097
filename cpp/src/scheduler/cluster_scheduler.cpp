// Events, counts and decisions of a cluster's scheduler. Terms: a pool is the slots of one kind (0:
// maps, 1: reduces; generic slots: all in pool 0). Phase p of a job (0: maps, 1: reduces) is row 2
// * job + p. A job's value is what the policy answered: its number of slots, or its rank. A gang is
// a job whose tasks must start together; a job is aged if it has waited so long for a slot that it
// goes first.
//
// mark(): the policy decides about the job at the next decision. refresh(): its place among waiting
// jobs, and the slots it lacks, are counted again. note_change(): callers may read it in
// changed_jobs(). news_: tasks became able to start, so free slots are to be given away.
#include "malleable/scheduler/cluster_scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace malleable {
namespace {

// What is known of copying before any job has copied: a simulation has all its jobs at once, so it
// knows if none of them copies anything.
CopySeconds copying_known(const ClusterJobsView& jobs) {
  CopySeconds copying;
  const auto copies = [](double amount) { return amount > 0.0; };
  if (jobs.size() == 0 || std::ranges::any_of(jobs.shuffle, copies)) return copying;
  while (copying.unknown()) copying.learn(0.0);
  return copying;
}

}  // namespace

ClusterScheduler::ClusterScheduler(const ClusterView& cluster, const ClusterJobsView& jobs,
                                   std::vector<Index> rank, std::vector<double> believed,
                                   const SchedulerOptions& options, ClusterPolicy& policy)
    : options_(options),
      policy_(&policy),
      predicts_maps_(options.learn && !options.split_copy && !options.slow_start),
      takes_back_(predicts_maps_ && options.take_back && !options.start_together()),
      estimates_(options.learn, options.prior, options.processors) {
  follow(policy);
  // With heartbeats each node offers its slots alone.
  if (options.offered && style_ == ClusterPolicy::Style::kStarts) {
    throw std::invalid_argument("heartbeat: the policy looks at all free slots at once");
  }
  const std::size_t n = jobs.size();
  state_.cluster = cluster;
  state_.jobs = jobs;
  state_.period = options.period;
  state_.offered = options.offered;
  state_.epoch = options.epoch;
  copying_ = copying_known(jobs);
  state_.blocks.reset(n);
  refused_.assign(cluster.size(), 0);
  early_taken_.assign(cluster.size(), 0);
  group_by_speed();
  for (int pool = 0; pool < 2; ++pool) {
    const auto slots = pool == 0 ? cluster.map_slots : cluster.reduce_slots;
    state_.free_on[pool].assign(slots.begin(), slots.end());
    for (const std::int64_t count : slots) state_.slots[pool] += count;
    state_.free[pool] = state_.slots[pool];
    if (!options_.offered) queue_[pool].reset(slots);
    waiting_[pool].reset(rank);
  }
  if (estimates_.used()) {
    state_.learned = estimates_.learned();
  } else {
    state_.learned.speedups.back() = 1.0;  // tasks do not slow each other down: p is 1
  }
  state_.rank = std::move(rank);
  state_.believed = std::move(believed);
  for (std::size_t j = 0; !jobs.after_offset.empty() && j < n; ++j) {
    const auto first = jobs.after.begin() + jobs.after_offset[j];
    state_.parents.emplace_back(first, jobs.after.begin() + jobs.after_offset[j + 1]);
  }
  for (const std::int64_t user : jobs.user) {
    const auto users = static_cast<std::size_t>(user) + 1;
    if (users > state_.user_running.size()) state_.user_running.resize(users);
  }
  grow();
  policy_->begin(state_);
}

// Makes room for all rows and users of the table.
void ClusterScheduler::grow() {
  const std::size_t n = state_.jobs.size();
  state_.phases.resize(2 * n);
  state_.deviation.resize(2 * n);
  state_.size.resize(n);
  state_.came.resize(n);
  has_changed_.resize(n);
  jobs_.resize(n);
  estimates_.resize(n);
  if (estimates_.used()) state_.doubt.resize(2 * n);
  for (int pool = 0; pool < 2; ++pool) {
    value_[pool].resize(n, initial_value());
    pooled_[pool].resize(n);
  }
  const std::size_t known = std::max<std::size_t>(state_.user_running.size(), 1);
  state_.user_running.resize(std::max(known, state_.jobs.user_priority.size()));
  user_ready_.resize(state_.user_running.size());
}

// Takes over the properties of a policy.
void ClusterScheduler::follow(ClusterPolicy& policy) {
  policy_ = &policy;
  style_ = policy.style();
  by_node_ = options_.offered ||
             (options_.replicas > 0 && style_ != ClusterPolicy::Style::kStarts) ||
             style_ == ClusterPolicy::Style::kNode;
  in_order_ = policy.fills_in_order();
}

// Another policy decides from now on, about all present jobs.
void ClusterScheduler::hand_over(ClusterPolicy& policy) {
  follow(policy);
  policy_->begin(state_);
  for (const Index job : state_.present) {
    for (int pool = 0; pool < 2; ++pool) policy_->counts_changed(state_, job, pool);
  }
}

void ClusterScheduler::add(std::span<const Index> jobs, const ClusterView& cluster,
                           const ClusterJobsView& table, std::span<const Index> rank,
                           std::span<const double> believed,
                           std::span<const std::vector<Index>> parents) {
  set_views(cluster, table);
  const std::size_t n = table.size();
  grow();
  state_.rank.resize(n);
  state_.believed.resize(2 * n);
  state_.parents.resize(n);
  state_.blocks.grow(n);
  for (IndexedHeap& waiting : waiting_) waiting.grow(n);
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const Index job = jobs[k];
    state_.phases[2 * job] = state_.phases[2 * job + 1] = PhaseState{};
    state_.deviation[2 * job] = state_.deviation[2 * job + 1] = 0.0;
    state_.size[job] = 0.0;
    state_.rank[job] = rank[k];
    state_.believed[2 * job] = believed[2 * k];
    state_.believed[2 * job + 1] = believed[2 * k + 1];
    state_.parents[job] = parents.empty() ? std::vector<Index>() : parents[k];
    jobs_[job] = Job{};
    if (estimates_.used()) estimates_.forget(job);
    for (int pool = 0; pool < 2; ++pool) {
      waiting_[pool].erase(job);  // the job that had the row before
      waiting_[pool].set_rank(job, rank[k]);
      value_[pool][job] = initial_value();
      pooled_[pool][job].starving = -1.0;
      mark_aged(job, pool, 0);
    }
  }
  const auto together = [&](Index job) { return table.width_of(kMap, job) > 1; };
  // Rates of tasks on single nodes need a policy of their own, which then decides about all jobs.
  if (policy_->for_node_rates() != nullptr && !table.node_rates.empty()) {
    for_node_rates_ = true;
    hand_over(*policy_->for_node_rates());
    for (auto& values : value_) std::ranges::fill(values, initial_value());
    mark_all();
  }
  // Rigid jobs do, too: a policy with a queue.
  const bool may_queue = policy_->queue() != nullptr && !options_.offered;
  if (may_queue && std::ranges::any_of(jobs, together)) {
    queues_ = true;
    hand_over(*policy_->queue());
  }
  policy_->added(state_, jobs);
}

// Marks a job for the next decision.
void ClusterScheduler::mark(Index job, Phase p) {
  const int pool = pool_of(p);
  note_change(job);
  if (std::exchange(pooled_[pool][job].marked, true)) return;
  state_.changed[pool].push_back(job);
}

void ClusterScheduler::mark_all() {
  for (const Index job : state_.present) {
    for (const Phase p : {kMap, kReduce}) {
      if (state_.phases[2 * job + p].ready) mark(job, p);
    }
  }
  news_ = true;
}

// A job belongs to another user than `before`: its tasks count for the new one.
void ClusterScheduler::user_changed(Index job, std::size_t before) {
  const std::size_t user = state_.jobs.user_of(job);
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state_.phases[2 * job + p];
    if (!s.ready && s.running == 0) continue;
    state_.user_running[before] -= s.running;
    state_.user_running[user] += s.running;
    mark(job, p);
    if (!s.ready) continue;
    user_ready_[before] -= s.waiting;
    user_ready_[user] += s.waiting;
  }
  policy_->user_changed(state_, job, before);
}

// Changes counts of a phase, and all sums over them.
void ClusterScheduler::count(Index job, Phase p, std::int64_t waiting, std::int64_t running) {
  PhaseState& s = state_.phases[2 * job + p];
  const int pool = pool_of(p);
  if (estimates_.used()) {
    estimates_.moved(2 * job + p, s.running, running, state_.now, state_.jobs.restart_of(job));
  }
  s.waiting += waiting;
  s.running += running;
  running_[pool] += running;
  const std::size_t user = state_.jobs.user_of(job);
  state_.user_running[user] += running;
  if (in_order_) policy_->counts_changed(state_, job, pool);
  if (!s.ready) return;
  ready_[pool] += waiting;
  user_ready_[user] += waiting;
}

// Waiting tasks of the phase may start from now on.
void ClusterScheduler::make_ready(Index job, Phase p) {
  PhaseState& s = state_.phases[2 * job + p];
  if (s.ready || s.total == 0) return;
  s.ready = true;
  const std::int64_t waiting = s.waiting;
  s.waiting = 0;
  count(job, p, waiting, 0);
  mark(job, p);
  refresh(job, pool_of(p));
  news_ = true;
}

// The job is there: counts its tasks, none of which is ready yet.
void ClusterScheduler::announce(Index job) {
  const ClusterJobsView& jobs = state_.jobs;
  for (const Phase p : {kMap, kReduce}) {
    PhaseState& s = state_.phases[2 * job + p];
    s.total = s.waiting = jobs.tasks[p][job];
    if (s.total == 0) continue;
    expect(job, p);
    state_.size[job] += s.remaining();
  }
  state_.came[job] = arrivals_++;
  state_.present.push_back(job);
}

void ClusterScheduler::set_blocks(Index job, std::size_t copies, std::span<const Index> node) {
  state_.blocks.add(job, node.size() / copies, copies, node);
}

// The job's maps are ready.
void ClusterScheduler::arrive(Index job) {
  policy_->job_arrived(state_, job);
  make_ready(job, kMap);
  start_slowly(job);
}

void ClusterScheduler::leave(Index job) {
  const auto place =
      std::lower_bound(state_.present.begin(), state_.present.end(), state_.came[job],
                       [&](Index other, std::uint64_t came) { return state_.came[other] < came; });
  state_.present.erase(place);
  if (options_.replicas > 0) state_.blocks.remove(job);
  Job& own = jobs_[job];
  for (auto& again : own.again) std::vector<Index>().swap(again);
  std::vector<double>().swap(own.began);
  if (std::exchange(own.is_early, false)) std::erase(early_, job);
  if (std::exchange(own.is_candidate, false)) std::erase(candidates_, job);
  if (estimates_.used()) estimates_.forget(job);
  policy_->job_finished(state_, job);
}

// Takes all tasks of a job that leaves out of the counts.
void ClusterScheduler::drop(Index job) {
  for (const Phase p : {kMap, kReduce}) {
    PhaseState& s = state_.phases[2 * job + p];
    if (s.ready || s.running > 0) {
      count(job, p, -s.waiting, -s.running);
      mark(job, p);
    }
    s = PhaseState{};
    refresh(job, pool_of(p));
  }
  for (Gathering& gang : gathering_) {
    if (gang.job == job) gang = Gathering{};
  }
}

void ClusterScheduler::started(Index job, Phase p, std::int64_t tasks) {
  count(job, p, -tasks, tasks);
  if (p == kMap) {
    map_began(job, tasks, state_.now);
    start_slowly(job);
  } else {
    started_early(job, tasks);
  }
  refresh(job, pool_of(p));
}

// Sets the counts of a phase as an engine reports them.
void ClusterScheduler::set_counts(Index job, Phase p, std::int64_t waiting, std::int64_t running,
                                  std::int64_t finished) {
  PhaseState& s = state_.phases[2 * job + p];
  // Ended tasks made room for others, which are younger.
  const std::int64_t ended = std::clamp<std::int64_t>(finished - s.finished, 0, s.running);
  s.total = waiting + running + finished;
  s.finished = finished;
  // A phase that came without tasks, or whose tasks had all ended, has more after all.
  if (estimates_.used() && s.total > finished) {
    if (estimates_.begin_again(2 * job + p) || !estimates_.expects(2 * job + p)) expect(job, p);
  }
  if (running > s.running) make_ready(job, p);
  if (ended > 0) count(job, p, 0, -ended);
  count(job, p, waiting - s.waiting, running - s.running);
  if (p == kReduce) jobs_[job].early = std::min(jobs_[job].early, running);
  if (estimates_.used()) learn(job, p);
  if (p == kMap) {
    const std::int64_t more = running - static_cast<std::int64_t>(jobs_[job].began.size());
    map_began(job, more, more > 0 ? state_.now : 0.0);
    start_slowly(job);
  }
  mark(job, p);
  refresh(job, pool_of(p));
}

// `done` tasks have ended, each `seconds` after its start (NaN: not known).
void ClusterScheduler::ended(Index job, Phase p, std::int64_t done, double seconds,
                             std::span<const Index> nodes) {
  PhaseState& s = state_.phases[2 * job + p];
  count(job, p, 0, -done);
  s.finished += done;
  if (!std::isnan(seconds)) {
    const auto before = static_cast<double>(s.timed), more = static_cast<double>(done);
    if (before > 0.0) {
      const double off = seconds - s.measured / before;
      state_.deviation[2 * job + p] += off * off * (before * more / (before + more));
    }
    s.measured += seconds * more;
    s.timed += done;
    if (estimates_.used() &&
        estimates_.ended(2 * job + p, stated(job, p), done, seconds, s.running, state_.now)) {
      state_.learned = estimates_.learned();
    }
  }
  if (estimates_.used()) learn(job, p);
  if (policy_->listens() && !std::isnan(seconds)) {
    for (const Index node : nodes) policy_->task_finished(state_, job, p, node, seconds);
  }
  if (p == kMap) {
    // Without reported times, the oldest maps ended.
    map_began(job, -done, std::isnan(seconds) ? 0.0 : state_.now - seconds);
    start_slowly(job);
  } else {
    ended_early(job, done);
  }
  mark(job, p);
  refresh(job, pool_of(p));
}

// A task that has a number (and maybe blocks) will run again under it.
void ClusterScheduler::put_back(Index job, Phase p, Index task) {
  if (placed(job, p)) {
    state_.blocks.put_back(job, task);
  } else {
    jobs_[job].again[p].push_back(task);
  }
}

// Running tasks wait again, because they failed or were stopped.
void ClusterScheduler::returned(Index job, Phase p, std::int64_t tasks) {
  count(job, p, tasks, -tasks);
  if (p == kMap) {
    map_began(job, -tasks, 0.0);
  } else {
    ended_early(job, tasks);
  }
  mark(job, p);
  refresh(job, pool_of(p));
  news_ = true;
}

// Ended maps must run again, because their outputs are lost.
void ClusterScheduler::lost(Index job, std::int64_t tasks) {
  PhaseState& maps = state_.phases[2 * job];
  // The mean of their seconds stays, and the deviations.
  const double part =
      static_cast<double>(maps.finished - tasks) / static_cast<double>(maps.finished);
  maps.measured *= part;
  state_.deviation[2 * job] *= part;
  maps.finished -= tasks;
  maps.timed -= std::min(tasks, maps.timed);
  count(job, kMap, tasks, 0);
  mark(job, kMap);
  refresh(job, pool_of(kMap));
  news_ = true;
}

void ClusterScheduler::node_came(Index node) {
  for (int pool = 0; pool < 2; ++pool) {
    const auto slots = pool == 0 ? state_.cluster.map_slots : state_.cluster.reduce_slots;
    state_.slots[pool] += slots[node];
    if (!speeds_.of.empty()) speeds_.slots[pool][speeds_.of[node]] += slots[node];
    for (std::int64_t k = 0; k < slots[node]; ++k) release(node, pool);
    policy_->slots_changed(state_, node, pool, slots[node]);
  }
}

void ClusterScheduler::node_left(Index node) {
  for (int pool = 0; pool < 2; ++pool) {
    const auto slots = pool == 0 ? state_.cluster.map_slots : state_.cluster.reduce_slots;
    state_.free[pool] -= state_.free_on[pool][node];
    state_.slots[pool] -= slots[node];
    if (!speeds_.of.empty()) speeds_.slots[pool][speeds_.of[node]] -= slots[node];
    state_.free_on[pool][node] = 0;
    std::erase(gathering_[pool].nodes, node);
    if (!options_.offered) queue_[pool].erase(node);
    policy_->slots_changed(state_, node, pool, -slots[node]);
  }
}

void ClusterScheduler::set_free(int pool, std::span<const std::int64_t> free) {
  // Slots that were held for a gang are among them.
  gathering_[pool].nodes.clear();
  state_.free_on[pool].assign(free.begin(), free.end());
  state_.free[pool] = 0;
  for (const std::int64_t count : free) state_.free[pool] += count;
  queue_[pool].reset(free);
}

// Whether there is something to decide for a pool.
bool ClusterScheduler::is_due(int pool) const {
  if (!state_.changed[pool].empty() || policy_->depends_on_time()) return true;
  const bool both = policy_->looks_at_both() && !state_.cluster.generic;
  return both && !state_.changed[1 - pool].empty();
}

// Gives a rank to a job that came after the policy's last decision.
void ClusterScheduler::set_first_rank(Index job, int pool) {
  double& value = value_[pool][job];
  if (style_ != ClusterPolicy::Style::kRanks || value < kInfinity) return;
  value = policy_->first_rank(state_, job, pool);
}

// Asks the policy about each pool with changes; appends the seconds that it took to `latency`.
void ClusterScheduler::decide(std::vector<float>& latency) {
  const bool changed = undecided();
  if (estimates_.used()) estimate_changed();
  const bool targets = style_ == ClusterPolicy::Style::kTargets;
  for (int pool = 0; pool < 2; ++pool) {
    if (!is_due(pool)) continue;
    moved_.clear();
    old_.clear();
    ClusterPolicy::Answer answer(value_[pool], moved_, old_);
    const auto begin = std::chrono::steady_clock::now();
    policy_->decide(state_, pool, answer);
    const std::chrono::duration<float> took = std::chrono::steady_clock::now() - begin;
    for (const Index job : state_.changed[pool]) {
      if (state_.demand(job, pool).most > 0) set_first_rank(job, pool);
    }
    latency.push_back(took.count());
    ++decisions_;
    for (std::size_t k = 0; k < moved_.size(); ++k) {
      const Index job = moved_[k];
      refresh(job, pool);
      if (!targets || old_[k] <= value_[pool][job]) continue;
      const double most = static_cast<double>(state_.demand(job, pool).most);
      taken_ += std::max(0.0, std::min(old_[k], most) - value_[pool][job]);
    }
  }
  by_clock_ = changed ? 0 : by_clock_ + 1;
  clear_changes();
  if (options_.epoch > 0.0) last_decision_ = std::round(state_.now / options_.epoch);
}

void ClusterScheduler::clear_changes() {
  for (int pool = 0; pool < 2; ++pool) {
    for (const Index job : state_.changed[pool]) pooled_[pool][job].marked = false;
    state_.changed[pool].clear();
  }
}

void ClusterScheduler::state(State& s) {
  s(state_, jobs_, value_, pooled_, overdue_, helped_, aged_seconds_, aged_until_, all_lacking_,
    running_, ready_);
  s(user_ready_, last_decision_, by_clock_, taken_, decisions_, gathering_, timers_, refused_,
    passes_, reconsidered_);
  s(estimates_, news_, arrivals_, copying_, checks_, speeds_.slots, early_, candidates_, queues_,
    for_node_rates_);
  if (s.reading()) {
    take_back_after_ = 0.0;
    for (int pool = 0; pool < 2; ++pool) waiting_[pool].reset(state_.rank);
    if (for_node_rates_ && policy_->for_node_rates() != nullptr)
      hand_over(*policy_->for_node_rates());
    if (queues_ && policy_->queue() != nullptr) hand_over(*policy_->queue());
    policy_->added(state_, {});  // room for all
    forget_changes();
    has_changed_.assign(state_.size.size(), 0);
    for (const Index job : state_.present) note_change(job);
  }
  policy_->keep(state_, s);
  for (int pool = 0; s.reading() && pool < 2; ++pool) {
    displaced_[pool] = state_.present;
    for (Pooled& job : pooled_[pool]) job.is_displaced = false;
    for (const Index job : displaced_[pool]) pooled_[pool][job].is_displaced = true;
  }
}

// Sets a timer: kNone only wakes the scheduler; 2 * job + pool: the job may have aged by then.
void ClusterScheduler::add_timer(double time, Index what) {
  timers_.emplace_back(time, what);
  std::push_heap(timers_.begin(), timers_.end(), std::greater<>());
}

// Handles all timers that are due.
void ClusterScheduler::expire() {
  make_due_checks();
  while (!timers_.empty() && timers_.front().first <= state_.now) {
    const Index what = timers_.front().second;
    std::pop_heap(timers_.begin(), timers_.end(), std::greater<>());
    timers_.pop_back();
    if (what == kNone) {
      news_ = true;
      continue;
    }
    const Index job = what / 2;
    const int pool = static_cast<int>(what % 2);
    if (starves_for_long(job, pool)) {
      overdue_[pool].emplace_back(pooled_[pool][job].starving, job);
      std::push_heap(overdue_[pool].begin(), overdue_[pool].end(), std::greater<>());
      note_change(job);
    }
  }
}

}  // namespace malleable
