// What is lost with a node: outputs of finished maps, and slots that maps need to run again.
//
// A job needs the outputs of its maps while a reduce task has not started or has not copied all of
// them (with copy-compute splitting: while copying goes on). Then all its finished maps on a node
// that leaves run again, as Hadoop lets them. A reduce task that is still copying is taken to have
// copied from the other nodes first: what it waits for are the maps that run again, each of which
// releases its part as it did before, so the formula of sim/cluster.hpp holds with the new times.
// Bytes that came over links need not come again (ClusterNetwork::lose). Reduce tasks that have
// copied everything go on. Should one of them fail later, or be killed, its
// job needs outputs again, and those that left in the meantime are made again then. Costs O(groups
// of tasks + maps of the jobs present) for a node.
//
// With generic slots, reduce tasks that wait for maps may come to hold so many slots that nothing
// can start any more; then as many of them as the first job with waiting maps needs give their
// slots to these maps and wait again.
#include <algorithm>

#include "malleable/sim/cluster.hpp"

namespace malleable {

// Whether a group's reduce tasks, which wait for no map, still copy.
bool ClusterSimulation::copies(Index group) {
  const Group& g = groups_[group];
  if (g.count == 0 || g.phase % 2 != kReduce || g.parked) return false;
  if (g.transfer != kNone) return true;
  if (g.copying <= 0.0) return false;
  double now = state_.now;
  if (!clocks_.empty()) {
    touch(g.phase);
    now = clocks_[g.phase].at;
  }
  return now < g.finish - (g.seconds - g.copying);
}

bool ClusterSimulation::needs_outputs(Index job) {
  const PhaseState& reduces = state_.phases[2 * job + 1];
  if (options_.split_copy) return !reduces.ready;
  if (reduces.waiting > 0 || !jobs_[job].parked.empty()) return true;
  for (Index group = 0; group < groups_.size(); ++group) {
    if (groups_[group].phase == 2 * job + 1 && copies(group)) return true;
  }
  return false;
}

void ClusterSimulation::lose_outputs(Index node) {
  for (const Index job : state_.present) {
    Job& own = jobs_[job];
    for (Index& place : own.output) {
      if (place != node) continue;
      place |= kGone;
      ++own.gone;
    }
    if (own.gone > 0 && needs_outputs(job)) run_maps_again(job);
  }
}

// The maps whose outputs left.
void ClusterSimulation::run_maps_again(Index job) {
  const std::size_t groups = groups_.size();  // those that are parked come behind
  for (Index group = 0; group < groups; ++group) {
    if (groups_[group].phase == 2 * job + 1 && copies(group)) park_again(group);
  }
  Job& own = jobs_[job];
  PhaseState& maps = state_.phases[2 * job];
  const auto lost = static_cast<std::int64_t>(own.gone);
  for (Index task = 0; task < own.output.size(); ++task) {
    Index& place = own.output[task];
    if (place == kNone || (place & kGone) == 0) continue;
    if (network_ && net_.shuffles(job)) net_.lose(job, place & ~kGone, state_.now);
    put_back(job, kMap, task);
    if (options_.trace) record(4, 2 * job, task, place & ~kGone);
    place = kNone;
  }
  own.gone = 0;
  // Their mean time stays.
  maps.measured *= static_cast<double>(maps.finished - lost) / static_cast<double>(maps.finished);
  maps.finished -= lost;
  totals_.tasks -= lost;
  totals_.outputs_lost += lost;
  count(job, kMap, lost, 0);
  mark(job, kMap);
  refresh(job, pool_of(kMap));
  news_ = true;
}

// The reduce tasks of a group wait for maps once more; the group's event, if any, finds it empty.
void ClusterSimulation::park_again(Index group) {
  if (groups_[group].transfer != kNone) {
    groups_[group].parked = true;
    parked_ += static_cast<std::int64_t>(groups_[group].count);
    jobs_[groups_[group].phase / 2].parked.push_back(group);
    return;
  }
  const Index fresh = new_group();
  Group& g = groups_[group];
  groups_[fresh] = g;
  groups_[fresh].parked = true;
  parked_ += static_cast<std::int64_t>(g.count);
  jobs_[g.phase / 2].parked.push_back(fresh);
  g.count = 0;
  g.first = kNone;
}

// Whether reduce tasks that wait for maps hold slots without which nothing ever starts.
void ClusterSimulation::make_room() {
  for (const Index job : state_.present) {
    for (const Phase p : {kMap, kReduce}) {
      if (!state_.eligible(job, p)) continue;
      const Gathering& gang = gathering_[0];
      const std::size_t held = gang.job == job && gang.phase == p ? gang.nodes.size() : 0;
      if (least(job, p) - static_cast<std::int64_t>(held) <= state_.free[0]) return;
    }
  }
  give_up(0);
  for (const Index job : state_.present) {
    const std::int64_t wanted = least(job, kMap);
    if (!state_.eligible(job, kMap) || wanted > state_.free[0] + parked_) continue;
    evict(job, wanted);
    for (std::size_t k = state_.present.size(); k > 0; --k) evict(state_.present[k - 1], wanted);
    if (options_.heartbeat > 0.0) {
      std::int64_t left = wanted;
      for (Index node = 0; left > 0; ++node) {
        for (; left > 0 && state_.free_on[0][node] > 0; --left) {
          start_tasks(job, kMap, 1, node, 0);
        }
      }
    } else {
      start_tasks(job, kMap, wanted, kNone, 0);
    }
    refresh(job, 0);
    return;
  }
}

// Takes slots from a job's reduce tasks that wait, the latest first, until so many are free.
void ClusterSimulation::evict(Index job, std::int64_t slots) {
  Job& own = jobs_[job];
  std::int64_t taken = 0;
  while (state_.free[0] < slots && !own.parked.empty()) {
    const Index group = own.parked.back();
    Group& g = groups_[group];
    while (state_.free[0] < slots && g.count > 0) {
      const Index r = g.first;
      put_back(job, kReduce, runs_[r].task);
      if (options_.trace) record(3, g.phase, runs_[r].task, runs_[r].node);
      free_slot(runs_[r].node, 0);
      g.first = runs_[r].next;
      runs_[r].next = free_run_;
      free_run_ = r;
      --g.count;
      ++taken;
    }
    if (g.count > 0) break;
    if (g.transfer != kNone) net_.stop(g.transfer, state_.now);
    g.transfer = kNone;
    g.parked = false;
    release(group);
    own.parked.pop_back();
  }
  if (taken == 0) return;
  parked_ -= taken;
  totals_.preempted += taken;
  if (!clocks_.empty()) touch(2 * job + 1);
  count(job, kReduce, taken, -taken);
  mark(job, kReduce);
  refresh(job, 0);
}

}  // namespace malleable
