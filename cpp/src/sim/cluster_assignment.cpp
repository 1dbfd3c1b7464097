// The assignment layer: which job's task a free slot starts, given what the policy decided.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "malleable/model/jobs.hpp"
#include "malleable/sim/cluster.hpp"

namespace malleable {
namespace {

constexpr std::size_t kMostFruitless = 100'000;  // heartbeats of every node in which nothing runs
constexpr double kNoTarget = 1e300;  // key of jobs that have none: after all others, by arrival
constexpr double kRanked = 1e290;    // or, in the policy's order, up to twice that

}  // namespace

double ClusterSimulation::key(Index job, int pool, std::int64_t more) const {
  if (!aged_[pool].empty() && aged_[pool][job]) return -kNoTarget;
  if (options_.gang) {
    for (const Phase p : {kMap, kReduce}) {
      // A gang that ran short fills up before anything else.
      if (pool_of(p) == pool && state_.phases[2 * job + p].running > 0 && needs(job, p) > 0) {
        return -kNoTarget;
      }
    }
  }
  const double value = value_[pool][job];
  if (style_ != ClusterPolicy::Style::kTargets) return value;
  const double after = options_.in_order ? policy_.precedence(state_, job, pool) : 0.0;
  if (value <= 0.0) return after > 0.0 ? kRanked * (2.0 - 1.0 / (1.0 + after)) : kNoTarget;
  std::int64_t running = more;
  if (state_.cluster.generic) {
    running += state_.phases[2 * job].running + state_.phases[2 * job + 1].running;
  } else {
    running += state_.phases[2 * job + static_cast<Index>(pool)].running;
  }
  if (after > 0.0 && static_cast<double>(running) < value) return -1.0 / (1.0 + after);
  return static_cast<double>(running) / value;
}

void ClusterSimulation::watch_age(Index job, int pool, bool starves) {
  if (!starves) {
    starving_[pool][job] = -1.0;
    aged_[pool][job] = 0;
  } else if (starving_[pool][job] < 0.0) {
    starving_[pool][job] = state_.now;
    push(state_.now + options_.ageing, Kind::kAge, 2 * job + static_cast<Index>(pool));
  }
}

// Brings a job's place among those that wait, and what it lacks, up to its counts.
void ClusterSimulation::refresh(Index job, int pool) {
  std::int64_t ready = 0, running = 0;
  for (const Phase p : {kMap, kReduce}) {
    if (pool_of(p) != pool) continue;
    const PhaseState& s = state_.phases[2 * job + p];
    if (s.ready) ready += s.waiting;
    running += s.running;
  }
  if (options_.ageing > 0.0) watch_age(job, pool, ready > 0 && running == 0);
  if (ready > 0) {
    waiting_[pool].set(job, key(job, pool, 0));
  } else {
    waiting_[pool].erase(job);
  }
  if (style_ == ClusterPolicy::Style::kNode) policy_.counts_changed(state_, job, pool);
  if (style_ != ClusterPolicy::Style::kTargets) return;
  const double lacks =
      std::clamp(value_[pool][job] - static_cast<double>(running), 0.0, static_cast<double>(ready));
  all_short_[pool] += lacks - short_[pool][job];
  short_[pool][job] = lacks;
}

// Tasks have no place: free slots are all alike but for their nodes' rates.
void ClusterSimulation::dispatch_queue(int pool) {
  IndexedHeap& waiting = waiting_[pool];
  skipped_.clear();
  const auto hold_first = [&] {  // of the queue
    const Index node = queue_[pool][head_[pool]];
    if (++head_[pool] == queue_[pool].size()) head_[pool] = 0;
    --queued_[pool];
    hold(node, pool);
  };
  while (state_.free[pool] > 0 && gathering_[pool].job != kNone) hold_first();
  while (state_.free[pool] > 0 && !waiting.empty()) {
    const Index job = waiting.top();
    const Phase p = state_.cluster.generic ? (state_.eligible(job, kMap) ? kMap : kReduce)
                                           : static_cast<Phase>(pool);
    const std::int64_t most = std::min(state_.free[pool], state_.phases[2 * job + p].waiting);
    const std::int64_t gang = options_.gang ? needs(job, p) : 0;
    if (gang > state_.free[pool] && !aged_[pool].empty() && aged_[pool][job]) {
      gather(job, p, pool);
      while (state_.free[pool] > 0) hold_first();
      break;
    }
    if (gang > state_.free[pool]) {
      skipped_.push_back(job);
      waiting.erase(job);
      continue;
    }
    std::int64_t amount = most;
    if (style_ == ClusterPolicy::Style::kTargets && value_[pool][job] > 0.0) {
      amount = 1;
      while (amount < most && waiting.before_second(key(job, pool, amount), job)) ++amount;
    }
    if (!aged_[pool].empty() && aged_[pool][job]) amount = 1;
    start_tasks(job, p, std::max(amount, gang), kNone, pool);
    refresh(job, pool);
  }
  for (const Index job : skipped_) waiting.set(job, key(job, pool, 0));
}

// Offers one node's slots, at most so many; true if any was taken.
bool ClusterSimulation::offer(Index node, int pool, std::int64_t most) {
  IndexedHeap& waiting = waiting_[pool];
  bool taken = false;
  for (; most > 0 && state_.free_on[pool][node] > 0; --most) {
    Index job = ClusterPolicy::kNobody;
    Phase p = kMap;
    if (gathering_[pool].job != kNone && hold(node, pool)) {
      taken = true;
      continue;
    }
    // Who has aged, or lost a part of a gang, goes before what a policy would choose.
    const bool first = style_ == ClusterPolicy::Style::kNode && !waiting.empty() &&
                       waiting.top_key() == -kNoTarget && waiting.top() != gathering_[pool].job;
    if (style_ == ClusterPolicy::Style::kNode && !first) {
      if (ready_[pool] == 0) return taken;
      const ClusterPolicy::Choice choice = policy_.choose(state_, node, pool);
      if (choice.job == ClusterPolicy::kNobody) return taken;
      job = choice.job;
      p = choice.phase;
      if (pool_of(p) != pool || job >= jobs_.size() || !state_.eligible(job, p)) {
        throw std::invalid_argument("policy chose job " + std::to_string(job) +
                                    ", which has no task that this slot could start");
      }
      if (least(job, p) > 1) {
        if (gathering_[pool].job == kNone) gather(job, p, pool);
        if (gathering_[pool].job != job || !hold(node, pool)) return taken;
        taken = true;
        continue;
      }
    } else {
      skipped_.clear();
      bool held = false;
      while (!waiting.empty()) {
        job = waiting.top();
        p = state_.cluster.generic ? (state_.eligible(job, kMap) ? kMap : kReduce)
                                   : static_cast<Phase>(pool);
        const std::int64_t lacks = least(job, p);
        if (lacks > 1 || job == gathering_[pool].job) {
          const bool may =
              lacks <= state_.free[pool] || first || (!aged_[pool].empty() && aged_[pool][job]);
          if (may && gathering_[pool].job == kNone) {
            gather(job, p, pool);
            held = hold(node, pool);
            if (held) break;
          }
          skipped_.push_back(job);
          waiting.erase(job);
          job = ClusterPolicy::kNobody;
          continue;
        }
        if (p != kMap || !waits_for_block(job, node)) break;
        skipped_.push_back(job);
        waiting.erase(job);
        job = ClusterPolicy::kNobody;
      }
      for (const Index other : skipped_) waiting.set(other, key(other, pool, 0));
      if (job == ClusterPolicy::kNobody) return taken;
      if (held) {
        taken = true;
        continue;
      }
    }
    start_tasks(job, p, 1, node, pool);
    refresh(job, pool);
    taken = true;
  }
  return taken;
}

// Every free slot in the order in which they became free, each offered once.
void ClusterSimulation::dispatch_nodes(int pool) {
  ++passes_;
  for (std::size_t left = queued_[pool]; left > 0 && ready_[pool] > 0; --left) {
    const Index node = queue_[pool][head_[pool]];
    if (++head_[pool] == queue_[pool].size()) head_[pool] = 0;
    --queued_[pool];
    // What was refused in this pass is refused again.
    if (refused_[node] != passes_) {
      if (offer(node, pool, 1)) continue;
      refused_[node] = passes_;
    }
    const std::size_t size = queue_[pool].size();
    queue_[pool][(head_[pool] + queued_[pool]++) % size] = node;
  }
}

void ClusterSimulation::schedule_heartbeat(Index node) {
  if (beating_[node] || !up_[node]) return;
  const bool wanted = (state_.free_on[0][node] > 0 && ready_[0] > 0) ||
                      (state_.free_on[1][node] > 0 && ready_[1] > 0);
  if (!wanted) return;
  const double period = options_.heartbeat;
  const double first =
      period * static_cast<double>(node) / static_cast<double>(state_.cluster.size());
  double beats = std::max(0.0, std::ceil((state_.now - first) / period));
  while (first + beats * period < state_.now) beats += 1.0;
  beating_[node] = 1;
  push(first + beats * period, Kind::kHeartbeat, node);
}

void ClusterSimulation::heartbeat(Index node) {
  beating_[node] = 0;
  if (!up_[node]) return;
  ++totals_.events;
  for (int pool = 0; pool < 2; ++pool) {
    const std::int64_t most =
        options_.tasks_per_heartbeat > 0 ? options_.tasks_per_heartbeat : kMostSlots;
    offer(node, pool, most);
  }
  const bool wanted = (state_.free_on[0][node] > 0 && ready_[0] > 0) ||
                      (state_.free_on[1][node] > 0 && ready_[1] > 0);
  // A policy that chooses for nodes may never choose again, whatever time it is.
  fruitless_ = running_[0] + running_[1] > 0 ? 0 : fruitless_ + 1;
  if (!wanted || fruitless_ > kMostFruitless * state_.cluster.size()) return;
  const double period = options_.heartbeat;
  const double first =
      period * static_cast<double>(node) / static_cast<double>(state_.cluster.size());
  double beats = std::floor((state_.now - first) / period) + 1.0;
  while (first + beats * period <= state_.now) beats += 1.0;
  beating_[node] = 1;
  push(first + beats * period, Kind::kHeartbeat, node);
}

// Tasks are there that were not there before: idle nodes report.
void ClusterSimulation::wake() {
  fruitless_ = 0;
  for (Index node = 0; node < up_.size(); ++node) schedule_heartbeat(node);
}

}  // namespace malleable
