// Gangs on slots that become free one by one: minima, or bundles of tasks, which start together or
// not at all. A pool is the slots of one kind (0: maps, 1: reduces; generic slots: all in pool 0);
// phase p of a job is row 2 * job + p.
//
// If all free slots are known at once, a gang starts when enough of them are free. If nodes offer
// slots one at a time (heartbeats, blocks, policies that choose for nodes), a gang *gathers*: the
// slots that it gets are held for it, idle, until there are enough, and then its tasks start
// together. Only one gang gathers at a time in each pool and it comes before all other jobs, so no
// two gangs wait for each other's slots. It begins when as many slots are free as it lacks, when a
// policy chose it for a node, or when it has starved for long. Until it has waited for `delay` it
// takes only slots of nodes that have a block for it. O(1) a slot.
#include <algorithm>
#include <utility>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

bool ClusterScheduler::starts_together(Index job) const {
  return state_.jobs.starts_together(job, options_.start_together());
}

// How many tasks the phase lacks of its minimum, if it is a gang.
std::int64_t ClusterScheduler::lacks(Index job, Phase p) const {
  if (!starts_together(job)) return 0;
  const PhaseState& s = state_.phases[2 * job + p];
  const std::int64_t least = std::min(
      {state_.jobs.minimum_of(p, job), s.running + s.waiting, state_.jobs.maximum_of(job)});
  return std::max<std::int64_t>(0, least - s.running);
}

// How many tasks must start at once: the tasks that a gang lacks, or a bundle.
std::int64_t ClusterScheduler::needs(Index job, Phase p) const {
  return std::max(lacks(job, p), bundled(job, p, 1));
}

// Rounds `tasks` of the waiting tasks down to whole bundles, at least one.
std::int64_t ClusterScheduler::bundled(Index job, Phase p, std::int64_t tasks) const {
  const std::int64_t width = state_.jobs.width_of(p, job);
  if (width == 1) return tasks;
  return std::max(tasks / width * width, std::min(width, state_.phases[2 * job + p].waiting));
}

// How many free slots it takes until a task of the phase may start.
std::int64_t ClusterScheduler::least(Index job, Phase p) const {
  return std::max<std::int64_t>(needs(job, p), 1);
}

// Whether it lacks tasks of a running gang, which is filled up before any other job.
bool ClusterScheduler::ran_short(Index job, int pool) const {
  const auto short_of = [&](Phase p) {
    return pool_of(p) == pool && state_.phases[2 * job + p].running > 0 && lacks(job, p) > 0;
  };
  return short_of(kMap) || short_of(kReduce);
}

// How many slots are held for the phase.
std::int64_t ClusterScheduler::gathered(Index job, Phase p) const {
  const Gathering& gang = gathering_[pool_of(p)];
  return gang.job == job && gang.phase == p ? static_cast<std::int64_t>(gang.nodes.size()) : 0;
}

// Lets a gang begin to gather slots.
void ClusterScheduler::gather(Index job, Phase p, int pool) {
  gathering_[pool].job = job;
  gathering_[pool].phase = p;
  gathering_[pool].since = state_.now;
  const bool waits = placed(job, p) && options_.delay > 0.0;
  if (waits && !options_.offered) add_timer(state_.now + options_.delay, kNone);
}

// Holds a free slot of a node for the gang that gathers; false if it waits for another node.
bool ClusterScheduler::hold_slot(Index node, int pool, std::vector<TaskStart>& starts) {
  Gathering& own = gathering_[pool];
  const Index job = own.job;
  if (placed(job, own.phase) && state_.now < own.since + options_.delay &&
      state_.blocks.find(job, node) == kNone) {
    return false;
  }
  own.nodes.push_back(node);
  --state_.free_on[pool][node];
  --state_.free[pool];
  if (held(pool) < needs(job, own.phase)) return true;
  own.job = kNone;
  for (const Index other : own.nodes) ++state_.free_on[pool][other];
  state_.free[pool] += held(pool);
  for (const Index other : own.nodes) start(job, own.phase, 1, other, starts);
  own.nodes.clear();
  refresh(job, pool);
  return true;
}

// Frees the slots that are held for a gang; returns their nodes.
std::vector<Index> ClusterScheduler::give_up(int pool) {
  Gathering& own = gathering_[pool];
  own.job = kNone;
  for (const Index node : own.nodes) release(node, pool);
  return std::exchange(own.nodes, {});
}

}  // namespace malleable
