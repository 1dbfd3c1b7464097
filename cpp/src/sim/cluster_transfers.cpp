// What tasks read and copy, in seconds and over the network; reduce tasks that wait for maps.
#include <algorithm>
#include <cmath>

#include "malleable/sim/cluster.hpp"

namespace malleable {

// The nearest copy of a task's block (another node in the rack before other racks); of those at the
// node that serves the fewest reads.
Index ClusterSimulation::source_of(Index job, Index task, Index node) const {
  const std::span<const std::int64_t> rack = state().cluster.rack;
  const auto places = state().blocks.replicas(job, task);
  return *std::min_element(places.begin(), places.end(), [&](Index a, Index b) {
    const bool far_a = rack[a] != rack[node], far_b = rack[b] != rack[node];
    if (far_a != far_b) return far_b;
    return net_.reads_at(a) < net_.reads_at(b);
  });
}

bool ClusterSimulation::in_rack(Index job, Index task, Index node) const {
  const std::span<const std::int64_t> rack = state().cluster.rack;
  const auto places = state().blocks.replicas(job, task);
  return std::any_of(places.begin(), places.end(),
                     [&](Index place) { return rack[place] == rack[node]; });
}

void ClusterSimulation::park(Index group) {
  groups_[group].parked = true;
  jobs_[groups_[group].phase / 2].parked.push_back(group);
}

// Its maps are done; what is still copied over the network ends by itself.
void ClusterSimulation::unpark(Index group) {
  TaskGroup& g = groups_[group];
  parked_ -= static_cast<std::int64_t>(g.count);
  g.parked = false;
  if (g.transfer != kNone) return;
  const Index job = g.phase / 2;
  const double wait = outputs_.wait(job, g.start, outputs_.copied(job));
  g.finish = std::max(state().now, g.start + wait + g.seconds);
  schedule(group);
}

// A group of whose tasks none is left.
void ClusterSimulation::stop_transfer(Index group) {
  TaskGroup& g = groups_[group];
  if (g.transfer != kNone) net_.stop(g.transfer, state().now);
  g.transfer = kNone;
  g.parked = false;
  groups_.release(group);
}

// Outside of slots.
void ClusterSimulation::begin_copying(Index job) {
  Job& own = jobs_[job];
  own.copies = true;
  outputs_.copied_not_before(job, state().now + outputs_.shuffle(job));
  if (!network_ || !net_.shuffles(job)) return;
  own.copying = true;
  net_.copy(job, kNone, job);
}

void ClusterSimulation::end_transfer() {
  const double now = state().now;
  const auto end = net_.end_next(now);
  if (!end) return;
  if (end->job != kNone && end->node == kNone) {
    jobs_[end->job].copying = false;
    if (outputs_.copied(end->job) > now) {
      push(outputs_.copied(end->job), Kind::kReady, end->job);
    } else {
      scheduler_.make_ready(end->job, kReduce);
    }
    return;
  }
  TaskGroup& g = groups_[end->owner];
  g.transfer = kNone;
  if (end->job != kNone) {
    end_copying(end->owner, end->seconds);
    return;
  }
  // A block has arrived: its task begins to work.
  g.finish = now + g.seconds;
  g.seconds += now - g.start;
  schedule(end->owner);
}

// A reduce task has all its bytes, which were on their way for so long.
void ClusterSimulation::end_copying(Index group, double moved) {
  TaskGroup& g = groups_[group];
  const Index job = g.phase / 2;
  const double now = state().now;
  const double wait = outputs_.wait(job, g.start, std::max(outputs_.copied(job), now));
  g.finish = std::max(now, g.start + wait + g.seconds);
  const double more = std::max(0.0, moved - outputs_.shuffle(job));
  g.seconds += more;
  g.copying += more;
  schedule(group);
}

}  // namespace malleable
