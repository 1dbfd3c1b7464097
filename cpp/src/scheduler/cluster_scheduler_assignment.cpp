// The assignment layer: which job's task a free slot starts, given what the policy decided. A pool
// is the slots of one kind (0: maps, 1: reduces; generic slots: all in pool 0). A job's value is
// its target number of slots, or its rank; its key is its place among waiting jobs, the least
// first. Phase p of a job is row 2 * job + p. Styles of policies: they give targets, give ranks,
// choose a job for each node with a free slot, or choose all starts themselves. A gang is a job
// whose tasks must start together; it gathers slots, which idle until there are enough. A job
// starves while it has ready tasks and runs none; after `ageing` seconds it is aged and goes first.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {
namespace {

constexpr double kNoTarget = 1e300;  // key of jobs without a target: after all others, by arrival
constexpr double kRanked = 1e290;    // keys of jobs in the policy's order: from this to twice this
// Jobs that starve hold at most one slot in kAgedSlots at a time, and one slot-second in a thousand
// in the long run.
constexpr std::int64_t kAgedSlots = 20;
constexpr double kAgedSeconds = 1000.0;  // one slot-second in so many
// A waiting job counts as this many jobs that will come before faster slots are free. The second
// constant: the most jobs that may leave a slow slot to the next one.
constexpr double kJobsToCome = 10.0;
constexpr std::int64_t kMostAsked = 256;

}  // namespace

std::int64_t ClusterScheduler::running_of(Index job, int pool) const {
  if (!state_.cluster.generic) return state_.phase(job, static_cast<Phase>(pool)).running;
  return state_.phase(job, kMap).running + state_.phase(job, kReduce).running;
}

// The job's key if `more` of its tasks ran: aged jobs and gangs that lack tasks come first; then,
// by targets, the job that has the least part of its target.
double ClusterScheduler::key(Index job, int pool, std::int64_t more) const {
  if (aged(job, pool) || ran_short(job, pool)) return -kNoTarget;
  const double value = value_[pool][job];
  if (style_ == ClusterPolicy::Style::kNode) return -value;
  if (style_ == ClusterPolicy::Style::kRanks) return value;
  const std::int64_t running = running_of(job, pool) + more;
  const double after = in_order_ ? policy_->precedence(state_, job, pool, running) : 0.0;
  if (policy_->order_decides()) return std::min(after, kNoTarget);
  if (value <= 0.0) return after > 0.0 ? kRanked * (2.0 - 1.0 / (1.0 + after)) : kNoTarget;
  if (after > 0.0 && static_cast<double>(running) < value) return -1.0 / (1.0 + after);
  return static_cast<double>(running) / value;
}

// Notes whether a job starves: it has ready tasks and no running one.
void ClusterScheduler::watch_age(Index job, int pool, bool starves) {
  Pooled& own = pooled_[pool][job];
  const std::uint8_t how = own.aged;
  const bool runs = running_of(job, pool) > 0;
  if (how == kFirst && !starves) mark_aged(job, pool, runs ? kHelped : 0);
  if (how == kHelped && !runs) mark_aged(job, pool, 0);
  if (!starves) {
    own.starving = -1.0;
    return;
  }
  if (own.starving < 0.0) own.starving = state_.now;
  // One timer a job: it is set again if the job has starved for less time.
  if (own.timed || own.aged == kFirst) return;
  own.timed = true;
  add_timer(own.starving + options_.ageing, 2 * job + static_cast<Index>(pool));
}

// Whether the job whose timer has come has starved for `ageing`; if not, sets its timer again.
bool ClusterScheduler::starves_for_long(Index job, int pool) {
  const double since = pooled_[pool][job].starving;
  if (since >= 0.0 && state_.now >= since + options_.ageing) return true;
  pooled_[pool][job].timed = false;
  if (since >= 0.0) watch_age(job, pool, true);  // it had a running task meanwhile
  return false;
}

// Sets how the job is aged: not (0), before its help (kFirst), or while its helped task runs
// (kHelped); counts the slot-seconds of such jobs.
void ClusterScheduler::mark_aged(Index job, int pool, std::uint8_t how) {
  const bool was = std::exchange(pooled_[pool][job].aged, how) != 0, is = how != 0;
  if (was == is) return;
  aged_seconds_[pool] = aged_seconds(pool);
  aged_until_[pool] = state_.now;
  helped_[pool] += is ? 1 : -1;
}

// Slot-seconds of aged jobs so far.
double ClusterScheduler::aged_seconds(int pool) const {
  return aged_seconds_[pool] +
         static_cast<double>(helped_[pool]) * (state_.now - aged_until_[pool]);
}

// Whether one more job may go first. The slot-seconds of all slots in `ageing` seconds are granted
// at once, so that in a run of some hours every job that starves gets a task. A policy that chooses
// for nodes leaves slots idle: there the help costs other jobs little, and may be the only slot
// that such a job gets.
bool ClusterScheduler::may_help(int pool) const {
  const std::int64_t slots = state_.slots[pool];
  if (helped_[pool] >= std::max<std::int64_t>(1, slots / kAgedSlots)) return false;
  if (style_ == ClusterPolicy::Style::kNode) return true;
  const double granted = options_.ageing + state_.now / kAgedSeconds;
  return aged_seconds(pool) <= static_cast<double>(slots) * granted;
}

void ClusterScheduler::let_aged_go_first(int pool) {
  auto& overdue = overdue_[pool];
  while (!overdue.empty() && may_help(pool)) {
    const Index job = overdue.front().second;
    std::pop_heap(overdue.begin(), overdue.end(), std::greater<>());
    overdue.pop_back();
    if (!starves_for_long(job, pool)) continue;
    pooled_[pool][job].timed = false;
    mark_aged(job, pool, kFirst);
    refresh(job, pool);
  }
}

// Tasks of a job that a slot of the pool could start now.
std::int64_t ClusterScheduler::startable(Index job, int pool) const {
  std::int64_t ready = 0;
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state_.phases[2 * job + p];
    if (s.ready && pool_of(p) == pool) ready += s.waiting;
  }
  return std::min(ready, state_.room(job, pool));
}

// Notes that a job's counts or value changed: its place among waiting jobs, whether it starves, and
// how many slots it lacks.
void ClusterScheduler::refresh(Index job, int pool) {
  note_change(job);
  if (style_ == ClusterPolicy::Style::kStarts) {
    policy_->counts_changed(state_, job, pool);
    return;
  }
  Pooled& own = pooled_[pool][job];
  if (!std::exchange(own.is_displaced, true)) displaced_[pool].push_back(job);
  if (style_ == ClusterPolicy::Style::kNode) policy_->counts_changed(state_, job, pool);
  if (!watches_ && options_.ageing == 0.0) return;
  const std::int64_t ready = startable(job, pool), running = running_of(job, pool);
  if (options_.ageing > 0.0) watch_age(job, pool, ready > 0 && running == 0);
  if (!watches_) return;
  const double below = value_[pool][job] - static_cast<double>(running);
  const double lacks = std::clamp(below, 0.0, static_cast<double>(ready));
  all_lacking_[pool] += lacks - std::exchange(own.lacking, lacks);
}

// Moves jobs whose counts or values changed to their places.
void ClusterScheduler::settle_places(int pool) {
  let_aged_go_first(pool);
  for (const Index job : displaced_[pool]) {
    pooled_[pool][job].is_displaced = false;
    if (startable(job, pool) > 0) {
      set_first_rank(job, pool);
      waiting_[pool].set(job, key(job, pool, 0));
    } else {
      waiting_[pool].erase(job);
    }
  }
  displaced_[pool].clear();
}

Phase ClusterScheduler::next_phase(Index job, int pool) const {
  if (!state_.cluster.generic) return static_cast<Phase>(pool);
  return state_.eligible(job, kMap) ? kMap : kReduce;
}

// Skips a job that cannot use the offered slot, until unskip().
void ClusterScheduler::skip(Index job, int pool) {
  skipped_.push_back(job);
  waiting_[pool].erase(job);
}

void ClusterScheduler::unskip(int pool) {
  for (const Index job : skipped_) waiting_[pool].set(job, key(job, pool, 0));
  skipped_.clear();
}

// How many slots ready tasks would take now, counted up to `most`.
std::int64_t ClusterScheduler::wanted(int pool, std::int64_t most) {
  if (ready_[pool] == 0) return 0;
  if (style_ == ClusterPolicy::Style::kStarts) return std::min(ready_[pool], most);
  settle_places(pool);
  std::int64_t slots = 0;
  waiting_[pool].visit_in_order([&](const auto& entry) {
    slots += startable(entry.item, pool);
    return slots < most;
  });
  return std::min(slots, most);
}

// Takes a node with a free slot from the queue of free slots.
Index ClusterScheduler::free_node(int pool) {
  if (!options_.offered) return queue_[pool].pop();
  Index node = 0;
  while (state_.free_on[pool][node] == 0) ++node;
  return node;
}

// Takes a free slot for a task that the scheduler does not count as running (a backup task).
Index ClusterScheduler::lend(int pool) {
  const Index node = free_node(pool);
  --state_.free_on[pool][node];
  --state_.free[pool];
  return node;
}

void ClusterScheduler::assign(int pool, std::vector<TaskStart>& starts) {
  if (!may_start(pool)) return;
  if (style_ == ClusterPolicy::Style::kStarts) {
    assign_chosen(pool, starts);
  } else if (by_node_) {
    assign_nodes(pool, starts);
  } else {
    assign_queue(pool, starts);
  }
}

void ClusterScheduler::assign_chosen(int pool, std::vector<TaskStart>& starts) {
  chosen_.clear();
  policy_->starts(state_, pool, chosen_);
  for (const auto& [job, p, tasks, node] : chosen_) {
    if (node != kNone) queue_[pool].erase(node, tasks);
    start(job, p, tasks, node, starts);
  }
}

// If tasks may wait for faster nodes: groups the nodes by speed, the fastest first.
void ClusterScheduler::group_by_speed() {
  if (!policy_->waits_for_speed() || by_node_) return;
  const std::span<const double> rate = state_.cluster.rate;
  speeds_.rate.assign(rate.begin(), rate.end());
  std::sort(speeds_.rate.begin(), speeds_.rate.end(), std::greater<>());
  speeds_.rate.erase(std::unique(speeds_.rate.begin(), speeds_.rate.end()), speeds_.rate.end());
  if (speeds_.rate.size() < 2 || !state_.jobs.node_rates.empty()) return;
  for (const double own : rate) {
    const auto place =
        std::lower_bound(speeds_.rate.begin(), speeds_.rate.end(), own, std::greater<>());
    speeds_.of.push_back(static_cast<Index>(place - speeds_.rate.begin()));
  }
  for (int pool = 0; pool < 2; ++pool) {
    const auto slots = pool == 0 ? state_.cluster.map_slots : state_.cluster.reduce_slots;
    speeds_.slots[pool].assign(speeds_.rate.size(), 0);
    for (std::size_t node = 0; node < slots.size(); ++node) {
      speeds_.slots[pool][speeds_.of[node]] += slots[node];
    }
    queue_[pool].set_speeds(speeds_.of);
  }
}

// All slots faster than the fastest free one are busy. Returns the work that these can do before a
// task of the phase so that it ends there as late as on the free slot; 0 if there are none. If no
// task runs, faster slots that are not free do not exist, in spite of reports.
double ClusterScheduler::patience(Index job, Phase p) const {
  const int pool = pool_of(p);
  if (running_[pool] == 0) return 0.0;
  const std::size_t place = queue_[pool].speed();
  double speed = 0.0, slots = 0.0;
  for (std::size_t k = 0; k < place; ++k) {
    const auto count = static_cast<double>(speeds_.slots[pool][k]);
    slots += count;
    speed += count * speeds_.rate[k];
  }
  return state_.phase(job, p).estimate * (speed / speeds_.rate[place] - slots);
}

// Whether a job leaves the free slot to the next job, because faster slots would end all its tasks
// earlier.
bool ClusterScheduler::leaves_slow_slot(Index job, Phase p, LeftSlot& left) const {
  if (speeds_.of.empty() || least(job, p) > 1 || aged(job, pool_of(p))) return false;
  const PhaseState& s = state_.phase(job, p);
  const double ahead = left.ahead + s.estimate * static_cast<double>(s.waiting);
  if (ahead >= patience(job, p)) return false;
  left = {ahead, job, left.jobs + 1};
  return true;
}

// If all jobs have left the slot: the last of them, if it should take it after all, because jobs
// that wait or will come are then served earlier. kNone: the slot idles.
Index ClusterScheduler::takes_slow_slot(int pool, const LeftSlot& left) const {
  if (left.last == kNone) return kNone;
  const Phase p = next_phase(left.last, pool);
  const double others =
      kJobsToCome * static_cast<double>(left.jobs - 1) * state_.phase(left.last, p).estimate;
  const bool takes = left.jobs >= kMostAsked || left.ahead + others >= patience(left.last, p);
  return takes ? left.last : kNone;
}

// How many tasks of the phase may start on the free slots, or on the fastest of them.
std::int64_t ClusterScheduler::usable(Index job, Phase p) const {
  const int pool = pool_of(p);
  const bool alike = speeds_.of.empty() || least(job, p) > 1;
  const auto free = alike ? state_.free[pool] : static_cast<std::int64_t>(queue_[pool].alike());
  return std::min({free, state_.phases[2 * job + p].waiting, state_.room(job, pool)});
}

// How many tasks of the first job start before the next job's turn, at most `most`.
std::int64_t ClusterScheduler::at_once(Index job, int pool, std::int64_t most) const {
  if (aged(job, pool)) return 1;
  if (style_ != ClusterPolicy::Style::kTargets || value_[pool][job] <= 0.0) return most;
  if (policy_->order_decides()) return most;
  std::int64_t amount = 1;
  while (amount < most && waiting_[pool].before_second(key(job, pool, amount), job)) ++amount;
  return amount;
}

// Tasks have no blocks: free slots differ only by their nodes' rates.
void ClusterScheduler::assign_queue(int pool, std::vector<TaskStart>& starts) {
  IndexedHeap& waiting = waiting_[pool];
  const auto hold_first = [&] { hold_slot(queue_[pool].pop(), pool, starts); };
  while (state_.free[pool] > 0 && gathering_[pool].job != kNone) hold_first();
  LeftSlot left;
  while (state_.free[pool] > 0) {
    settle_places(pool);
    if (waiting.empty() || left.jobs >= kMostAsked) {
      const Index last = takes_slow_slot(pool, left);
      if (last == kNone) break;
      unskip(pool);
      left = {};
      start(last, next_phase(last, pool), 1, kNone, starts);
      continue;
    }
    const Index job = waiting.top();
    const Phase p = next_phase(job, pool);
    if (leaves_slow_slot(job, p, left)) {
      skip(job, pool);
      continue;
    }
    const std::int64_t gang = least(job, p);
    const std::int64_t most = usable(job, p);
    if (gang > state_.free[pool] && aged(job, pool)) {
      gather(job, p, pool);
      while (state_.free[pool] > 0) hold_first();
      break;
    }
    if (gang > state_.free[pool]) {
      skip(job, pool);
      continue;
    }
    start(job, p, bundled(job, p, std::max(at_once(job, pool, most), gang)), kNone, starts);
  }
  unskip(pool);
}

// Offers the node's free slots one by one; true if any was taken.
bool ClusterScheduler::offer(Index node, int pool, std::vector<TaskStart>& starts) {
  bool taken = false;
  while (state_.free_on[pool][node] > 0 && offer_one(node, pool, starts)) taken = true;
  return taken;
}

// Gives the slot to the job that the policy chooses for this node.
bool ClusterScheduler::offer_to_chosen(Index node, int pool, std::vector<TaskStart>& starts) {
  if (ready_[pool] == 0 || idle_) return false;
  const auto [job, p, other] = policy_->choose(state_, node, pool);
  idle_ = job == kNone && policy_->knows_all_slots() && !options_.offered;
  if (job == kNone) return false;
  if (pool_of(p) != pool || job >= jobs_.size() || !state_.eligible(job, p)) {
    throw std::invalid_argument("policy chose job " + std::to_string(job) +
                                ", which has no task that this slot could start");
  }
  if (least(job, p) > 1) {
    if (gathering_[pool].job == kNone) gather(job, p, pool);
    return gathering_[pool].job == job && hold_slot(node, pool, starts);
  }
  const Index chosen = other == kNone ? node : other;
  if (chosen != node) {  // its entry in the queue is for the other slot now
    ++early_taken_[chosen];
    ++stale_;
    queue_[pool].push(node);
  }
  start(job, p, 1, chosen, starts);
  return true;
}

// Whether an entry of the queue is for a slot that has been taken.
bool ClusterScheduler::is_stale(Index node) {
  if (early_taken_[node] == 0) return false;
  --early_taken_[node];
  --stale_;
  return true;
}

// Gives the slot to the first waiting job that can use it. `first`: only the first job, which
// gathers slots if it lacks more.
bool ClusterScheduler::offer_to_first(Index node, int pool, bool first,
                                      std::vector<TaskStart>& starts) {
  IndexedHeap& waiting = waiting_[pool];
  Index job = kNone;
  Phase p = kMap;
  bool held = false;
  while (!waiting.empty()) {
    job = waiting.top();
    p = next_phase(job, pool);
    const std::int64_t lacks = least(job, p);
    if (lacks > 1 || job == gathering_[pool].job) {
      const bool may = lacks <= state_.free[pool] || first || aged(job, pool);
      if (may && gathering_[pool].job == kNone) {
        gather(job, p, pool);
        held = hold_slot(node, pool, starts);
        if (held) break;
      }
    } else if (p != kMap || !waits_for_block(job, node)) {
      break;
    }
    skip(job, pool);
    job = kNone;
  }
  unskip(pool);
  if (job == kNone || held) return held;
  start(job, p, 1, node, starts);
  return true;
}

bool ClusterScheduler::offer_one(Index node, int pool, std::vector<TaskStart>& starts) {
  if (gathering_[pool].job != kNone && hold_slot(node, pool, starts)) return true;
  settle_places(pool);
  if (style_ != ClusterPolicy::Style::kNode)
    return offer_to_first(node, pool, /*first=*/false, starts);
  // A job that has aged, or lost a part of a gang, goes before the policy's choice.
  const IndexedHeap& waiting = waiting_[pool];
  const bool first =
      !waiting.empty() && waiting.top_key() == -kNoTarget && waiting.top() != gathering_[pool].job;
  return first ? offer_to_first(node, pool, /*first=*/true, starts)
               : offer_to_chosen(node, pool, starts);
}

// Offers every free slot once, in the order in which they became free.
void ClusterScheduler::assign_nodes(int pool, std::vector<TaskStart>& starts) {
  ++passes_;
  idle_ = false;
  for (std::size_t left = queue_[pool].size(); left > 0 && ready_[pool] > 0; --left) {
    Index node = queue_[pool].pop();
    while (is_stale(node)) node = queue_[pool].pop();
    // A node that was refused in this pass would be refused again.
    if (refused_[node] != passes_) {
      if (offer_one(node, pool, starts)) continue;
      refused_[node] = passes_;
    }
    queue_[pool].push(node);
  }
  while (stale_ > 0) {
    const Index node = queue_[pool].pop();
    if (!is_stale(node)) queue_[pool].push(node);
  }
  if (queue_[pool].size() == 0 || ready_[pool] == 0) return;
  const double again = policy_->reconsiders(pool);
  if (again <= state_.now || again == kInfinity || again == reconsidered_[pool]) return;
  add_timer(reconsidered_[pool] = again, kNone);
}

// Delay scheduling: whether a job leaves this node's slot to others and waits for a node with one
// of its blocks. A job that has starved for `ageing` takes any node.
bool ClusterScheduler::waits_for_block(Index job, Index node) {
  if (!placed(job, kMap) || options_.delay <= 0.0 || aged(job, pool_of(kMap))) return false;
  double& skipped = jobs_[job].skipped;
  if (state_.blocks.find(job, node) != kNone) {
    skipped = -1.0;
    return false;
  }
  if (skipped < 0.0) {
    skipped = state_.now;
    if (!options_.offered) add_timer(state_.now + options_.delay, kNone);
  }
  return state_.now < skipped + options_.delay;
}

// Takes an unstarted map task, with its block on the node if there is one.
Index ClusterScheduler::task_near(Index job, Index node) {
  Index task = state_.blocks.find(job, node);
  if (task == kNone) task = state_.blocks.first(job);
  state_.blocks.take(job, task);
  return task;
}

// The number of the next task to start: one that must run again, or the first that never ran.
Index ClusterScheduler::next_task(Index job, Phase p) {
  Job& own = jobs_[job];
  if (!own.again[p].empty()) {
    const Index task = own.again[p].back();
    own.again[p].pop_back();
    return task;
  }
  return own.started[p]++;
}

void ClusterScheduler::start(Index job, Phase p, std::int64_t amount, Index node,
                             std::vector<TaskStart>& starts) {
  const int pool = pool_of(p);
  for (std::int64_t k = 0; k < amount; ++k) {
    const Index place = node == kNone ? queue_[pool].pop() : node;
    --state_.free_on[pool][place];
    starts.push_back({job, p, placed(job, p) ? task_near(job, place) : next_task(job, p), place});
  }
  state_.free[pool] -= amount;
  started(job, p, amount);
}

}  // namespace malleable
