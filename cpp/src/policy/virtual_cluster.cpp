// The reduce tasks that each job would still have if they could run before its maps have ended,
// with the job with the least work left first.
#include "malleable/policy/virtual_cluster.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

void VirtualCluster::begin(const ClusterState& state) {
  now_ = state.now;
  reduces_.clear();
  is_moved_.clear();
  moved_.clear();
  grow(state.jobs.size());
  const ClusterView& cluster = state.cluster;
  const auto slots = cluster.generic ? cluster.map_slots : cluster.reduce_slots;
  double all = 0.0, done = 0.0;
  for (std::size_t node = 0; node < slots.size(); ++node) {
    all += static_cast<double>(slots[node]);
    done += static_cast<double>(slots[node]) * cluster.rate[node];
  }
  pace_ = all > 0.0 ? done / all : 1.0;
}

void VirtualCluster::arrive(const ClusterState& state, Index job) {
  set_reduces(job, 0.0);
  advance(state);
  set_reduces(job, static_cast<double>(state.phase(job, kReduce).total));
}

// Lets the virtual reduces run for so many seconds.
void VirtualCluster::serve(const ClusterState& state, double seconds) {
  const bool generic = state.cluster.generic;
  const auto slots = [&](int pool) {
    return std::max(1.0, static_cast<double>(state.slots[pool]));
  };
  const double map_slots = generic ? 1.0 : slots(0), reduce_slots = generic ? 1.0 : slots(1);
  order_.clear();
  for (std::size_t k = 0; k < state.present.size(); ++k) {
    const Index job = state.present[k];
    const double left = reduces_[job] * state.phase(job, kReduce).estimate;
    if (!generic && left <= 0.0) continue;
    const double maps = state.phase(job, kMap).remaining();
    order_.emplace_back(maps / map_slots + left / reduce_slots, static_cast<Index>(k));
  }
  std::sort(order_.begin(), order_.end());
  std::int64_t free = state.slots[generic ? kMap : kReduce];
  for (const auto& [work, place] : order_) {
    const Index job = state.present[place];
    if (generic) free -= std::min(free, state.phase(job, kMap).unfinished());
    const PhaseState& reduces = state.phase(job, kReduce);
    if (free <= 0) return;
    if (!(reduces_[job] * reduces.estimate > 0.0)) continue;
    const std::int64_t given = std::min(free, reduces.unfinished());
    free -= given;
    const double rate = std::pow(static_cast<double>(given), state.jobs.exponent_of(job)) * pace_;
    set_reduces(job, std::max(0.0, reduces_[job] - rate * seconds / reduces.estimate));
  }
}

void VirtualCluster::advance(const ClusterState& state) {
  const double seconds = state.now - std::exchange(now_, state.now);
  if (seconds > 0.0) serve(state, seconds);
  for (const Index job : state.present) {
    const auto unfinished = static_cast<double>(state.phase(job, kReduce).unfinished());
    set_reduces(job, std::min(reduces_[job], unfinished));
  }
}

}  // namespace malleable
