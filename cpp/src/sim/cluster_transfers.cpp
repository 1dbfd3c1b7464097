// Where tasks find their data, and what they read and copy over the network.
#include <algorithm>
#include <cmath>

#include "malleable/sim/cluster.hpp"

namespace malleable {

// The nearest copy of a task's block (another node in the rack before other racks); of those at the
// node that serves the fewest reads.
Index ClusterSimulation::source_of(Index job, Index task, Index node) const {
  const std::span<const std::int64_t> rack = state_.cluster.rack;
  const auto places = state_.blocks.replicas(job, task);
  return *std::min_element(places.begin(), places.end(), [&](Index a, Index b) {
    const bool far_a = rack[a] != rack[node], far_b = rack[b] != rack[node];
    if (far_a != far_b) return far_b;
    return net_.reads_at(a) < net_.reads_at(b);
  });
}

bool ClusterSimulation::in_rack(Index job, Index task, Index node) const {
  const std::span<const std::int64_t> rack = state_.cluster.rack;
  const auto places = state_.blocks.replicas(job, task);
  return std::any_of(places.begin(), places.end(),
                     [&](Index place) { return rack[place] == rack[node]; });
}

// An unstarted map task whose block is as near to a node as there is one; it has been taken.
Index ClusterSimulation::task_near(Index job, Index node) {
  Index task = state_.blocks.find(job, node);
  if (racks_ && task == LocalTasks::kNone) {
    task = rack_blocks_.find(job, static_cast<Index>(state_.cluster.rack[node]));
  }
  if (task == LocalTasks::kNone) task = state_.blocks.first(job);
  state_.blocks.take(job, task);
  if (racks_) rack_blocks_.take(job, task);
  return task;
}

// Delay scheduling: whether a job leaves this node's slot to others and waits for one that is
// nearer to a block of its own, `delay` for the node itself and then `rack_delay` for its rack.
bool ClusterSimulation::waits_for_block(Index job, Index node) {
  const double rack_delay = racks_ ? options_.rack_delay : 0.0;
  if (options_.replicas == 0 || options_.delay + rack_delay <= 0.0) return false;
  Job& own = jobs_[job];
  if (state_.blocks.find(job, node) != LocalTasks::kNone) {
    own.skipped = -1.0;
    return false;
  }
  if (own.skipped < 0.0) {
    own.skipped = state_.now;
    if (options_.heartbeat == 0.0) {
      push(state_.now + options_.delay, Kind::kTimer, 0);
      if (rack_delay > 0.0) push(state_.now + options_.delay + rack_delay, Kind::kTimer, 0);
    }
  }
  if (state_.now < own.skipped + options_.delay) return true;
  if (rack_delay <= 0.0 || state_.now >= own.skipped + options_.delay + rack_delay) return false;
  const auto rack = static_cast<Index>(state_.cluster.rack[node]);
  return rack_blocks_.find(job, rack) == LocalTasks::kNone;
}

// What changed about transfers takes effect now, or at the next multiple of `network_epoch`.
void ClusterSimulation::settle_transfers() {
  if (options_.network_epoch > 0.0 && network_due_ == kInfinity) {
    double number = std::ceil(state_.now / options_.network_epoch);
    while (number * options_.network_epoch < state_.now) number += 1.0;
    network_due_ = number * options_.network_epoch;
    if (network_due_ > state_.now) push(network_due_, Kind::kTimer, 0);
  }
  if (options_.network_epoch > 0.0 && network_due_ > state_.now) return;
  network_due_ = kInfinity;
  net_.settle(state_.now);
}

// Outside of slots, once enough maps have finished.
void ClusterSimulation::begin_copying(Index job) {
  if (!network_ || !net_.shuffles(job)) return;
  jobs_[job].copying = true;
  net_.copy(job, ClusterNetwork::kNowhere, job);
}

bool ClusterSimulation::ends_transfer(double now) const {
  return network_ && net_.next_end() <= now;
}

void ClusterSimulation::end_transfer() {
  const auto end = net_.end_next(state_.now);
  if (!end) return;
  if (end->job != ClusterNetwork::kNowhere && end->node == ClusterNetwork::kNowhere) {
    Job& own = jobs_[end->job];
    own.copying = false;
    if (own.copied > state_.now) {
      push(own.copied, Kind::kReady, end->job);
    } else {
      make_ready(end->job, kReduce);
    }
    return;
  }
  Group& g = groups_[end->owner];
  g.transfer = kNone;
  if (end->job != ClusterNetwork::kNowhere) {
    end_copying(end->owner, end->seconds);
    return;
  }
  // A block has arrived: its task begins to work.
  g.finish = state_.now + g.seconds;
  g.seconds += state_.now - g.start;
  schedule(end->owner);
}

// A reduce task has all its bytes, which were on their way for so long.
void ClusterSimulation::end_copying(Index group, double moved) {
  Group& g = groups_[group];
  const Index job = g.phase / 2;
  const double shuffle = state_.jobs.shuffle.empty() ? 0.0 : state_.jobs.shuffle[job];
  const double copied = std::max(jobs_[job].copied, state_.now);
  const double wait = std::max(0.0, copied - (g.start + shuffle));
  g.finish = std::max(state_.now, g.start + wait + g.seconds);
  const double more = std::max(0.0, moved - shuffle);
  g.seconds += more;
  g.copying += more;
  schedule(group);
}

}  // namespace malleable
