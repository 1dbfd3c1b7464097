// What is lost with a node: outputs of finished maps, and slots that maps need to run again.
//
// A job needs the outputs of its maps while a reduce task has not started or has not copied all of
// them (with copy-compute splitting: while copying goes on). Then all its finished maps on a node
// that leaves run again, as Hadoop lets them. A reduce task that is still copying counts as having
// copied from the other nodes first: it waits for the maps that run again, each of which releases
// its part as before, so the formula of sim/map_outputs.hpp holds with the new times. Reduce tasks
// that have copied everything go on. If one of them fails later, or is killed, its job needs
// outputs again, and the outputs lost until then are made again. Costs O(groups of tasks + maps of
// the present jobs) for a node.
//
// Reduce tasks that wait for maps give their slots to other tasks if the scheduler says so
// (scheduler/cluster_scheduler_reduces.cpp). With generic slots, they may hold so many slots that
// no task can start any more. Then as many of them as the first job with waiting maps needs give
// their slots to these maps. They wait for slots again, and their copies are lost.
#include <algorithm>

#include "malleable/sim/cluster.hpp"

namespace malleable {

// Whether a group's reduce tasks, which wait for no map, still copy.
bool ClusterSimulation::copies(Index group) {
  const TaskGroup& g = groups_[group];
  if (g.count == 0 || g.phase % 2 != kReduce || g.parked || g.beside) return false;
  if (g.copying <= 0.0) return false;
  double now = state().now;
  if (clocks_.used()) {
    clocks_.touch(g.phase, now);
    now = clocks_.own_time(g.phase);
  }
  return now < g.finish - (g.seconds - g.copying);
}

// Whether the job still needs outputs of its maps.
bool ClusterSimulation::needs_outputs(Index job) {
  const PhaseState& reduces = phase(2 * job + 1);
  if (options_.split_copy) return !reduces.ready;
  if (reduces.waiting > 0 || !jobs_[job].parked.empty()) return true;
  for (Index group = 0; group < groups_.size(); ++group) {
    if (groups_[group].phase == 2 * job + 1 && copies(group)) return true;
  }
  return false;
}

// Runs the maps again whose outputs left.
void ClusterSimulation::run_maps_again(Index job) {
  drop_backups_of(2 * job + 1);
  const Index groups = groups_.size();  // newly parked groups come after these
  for (Index group = 0; group < groups; ++group) {
    if (groups_[group].phase == 2 * job + 1 && copies(group)) park_again(group);
  }
  const auto lost = static_cast<std::int64_t>(outputs_.gone(job));
  outputs_.drop_gone(job, [&](Index task, Index node) {
    scheduler_.put_back(job, kMap, task);
    record(kOutputLost, 2 * job, task, node);
  });
  totals_.tasks -= lost;
  totals_.outputs_lost += lost;
  scheduler_.lost(job, lost);
}

// Makes the reduce tasks of a group wait for maps again; the group's event, if any, finds it empty.
void ClusterSimulation::park_again(Index group) {
  parked_ += static_cast<std::int64_t>(groups_[group].count);
  const Index fresh = groups_.make();
  TaskGroup& g = groups_[group];
  groups_[fresh] = g;
  g.count = 0;
  g.first = kNone;
  park(fresh);
}

// Whether reduce tasks that wait for maps hold all slots, so that no task could ever start.
bool ClusterSimulation::stuck() const {
  for (const Index job : state().present) {
    for (const Phase p : {kMap, kReduce}) {
      if (!state().eligible(job, p)) continue;
      if (scheduler_.least(job, p) - scheduler_.gathered(job, p) <= state().free[0]) return false;
    }
  }
  return true;
}

// Gives slots of reduce tasks that wait for maps to the maps of the first job that has some ready.
void ClusterSimulation::make_room() {
  for (const Index node : scheduler_.give_up(0)) {
    if (heartbeats_.used()) schedule_heartbeat(node);
  }
  const auto& present = state().present;
  for (const Index job : present) {
    const std::int64_t wanted = scheduler_.least(job, kMap);
    if (!state().eligible(job, kMap) || wanted > state().free[0] + parked_) continue;
    const auto evict_of = [&](Index other) {
      while (state().free[0] < wanted && !jobs_[other].parked.empty()) evict(other);
    };
    evict_of(job);
    for (std::size_t k = present.size(); k > 0; --k) evict_of(present[k - 1]);
    starts_.clear();
    if (heartbeats_.used()) {
      std::int64_t left = wanted;
      for (Index node = 0; left > 0; ++node) {
        const std::int64_t here = std::min(left, state().free_on[0][node]);
        scheduler_.start(job, kMap, here, node, starts_);
        left -= here;
      }
    } else {
      scheduler_.start(job, kMap, wanted, kNone, starts_);
    }
    begin(starts_);
    scheduler_.refresh(job, 0);
    return;
  }
}

// Ends the latest of a job's reduce tasks that wait for maps, which frees its slot.
void ClusterSimulation::evict(Index job) {
  auto& parked = jobs_[job].parked;
  const Index group = parked.back();
  TaskGroup& g = groups_[group];
  const auto [next, node, task] = groups_.take(group);
  totals_.wasted += state().now - g.start;
  scheduler_.put_back(job, kReduce, task);
  record(kKilled, g.phase, task, node, g.attempt);
  free_slot(node, scheduler_.pool_of(kReduce));
  if (g.count == 0) {
    drop_group(group);
    parked.pop_back();
  }
  --parked_;
  ++totals_.preempted;
  if (clocks_.used()) clocks_.touch(2 * job + 1, state().now);
  scheduler_.returned(job, kReduce, 1);
}

// Frees slots for tasks that find none; false: none can be freed.
bool ClusterSimulation::take_back_reduces(int pool) {
  bool any = false;
  for (Index job = kNone; (job = scheduler_.to_take_back(pool)) != kNone; any = true) evict(job);
  return any;
}

void ClusterSimulation::start_early_reduces() {
  for (int pool = 0; pool < 2; ++pool) {
    starts_.clear();
    scheduler_.start_early(pool, starts_);
    begin(starts_);
  }
}

}  // namespace malleable
