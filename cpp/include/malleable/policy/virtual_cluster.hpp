// The virtual SRPT machine of ASRPT (Zheng, Shroff, Sinha 2013, section VI) on a cluster: what
// would be left of the jobs' reduce work if it did not have to wait for map work.
//
// From one decision to the next, the least work left first, in seconds of all slots of its pool,
// maps and reduces together, a job gets for its reduces what they can use of the slots that are
// left; with generic slots its maps take theirs first. Reduce work runs at the rate of those slots
// at once, whether the maps have finished or not. Ties: earlier arrival.
//
// In the paper the machine and the cluster have the same map work left. On a cluster nobody is
// preempted and they would drift apart: a job that is done there but not here goes either first,
// with all that it has left here, or last, behind those who are not done there. Therefore the
// machine has the cluster's map work at every decision, and never more reduce tasks left than the
// cluster.
//
// O(n log n) a decision for n jobs present.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class VirtualCluster {
 public:
  void begin(const ClusterState& state);
  void grow(std::size_t jobs) {
    reduces_.resize(jobs, 0.0);
    is_moved_.resize(jobs, 0);
  }
  // A job that has just come, at state.now.
  void arrive(const ClusterState& state, Index job);
  // To state.now.
  void advance(const ClusterState& state);

  // Reduce tasks left there, in parts of tasks.
  double reduces(Index job) const { return reduces_[job]; }
  // Jobs of which that became another number since this was last forgotten.
  std::span<const Index> moved() const { return moved_; }
  void forget_moved() {
    for (const Index job : moved_) is_moved_[job] = 0;
    moved_.clear();
  }

  // Not what moved: whoever reads it looks at all.
  void state(State& s) { s(now_, reduces_); }

 private:
  void set_reduces(Index job, double left) {
    if (reduces_[job] == left) return;
    reduces_[job] = left;
    if (!std::exchange(is_moved_[job], 1)) moved_.push_back(job);
  }
  void serve(const ClusterState& state, double seconds);

  double now_ = 0.0;
  double pace_ = 1.0;            // mean rate of the nodes of reduce slots, whether up or not
  std::vector<double> reduces_;  // by job
  std::vector<Index> moved_;
  std::vector<std::uint8_t> is_moved_;           // by job
  std::vector<std::pair<double, Index>> order_;  // work left, place among those present
};

}  // namespace malleable
