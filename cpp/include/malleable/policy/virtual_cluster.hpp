// The virtual machine of ASRPT (Zheng, Shroff, Sinha 2013, section VI) on a cluster, which serves
// the job with the least work left: the reduce work that jobs would have left if it did not have to
// wait for map work.
//
// Between two decisions, jobs are served by least work left (maps and reduces together, in seconds
// of all slots of the pool): a job's reduces get the remaining slots that they can use; with
// generic slots, which run maps and reduces alike, its maps are served first. Reduce work runs at
// the rate of those slots at once, whether the maps have finished or not. Ties: earlier arrival.
//
// In ASRPT as printed the machine and the cluster have the same map work left. On a cluster no task
// is preempted and the two would drift apart: a job that is done on the machine but not on the
// cluster would go first with all its work, or last behind all others. Therefore at every decision
// the machine takes over the cluster's map work, and never has more reduce tasks left than the
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
  // Adds a job that has just come, at state.now.
  void arrive(const ClusterState& state, Index job);
  // Advances the machine to state.now.
  void advance(const ClusterState& state);

  // Reduce tasks left on the machine, with fractions.
  double reduces(Index job) const { return reduces_[job]; }
  // Jobs whose reduces() changed since they were last forgotten.
  std::span<const Index> moved() const { return moved_; }
  void forget_moved() {
    for (const Index job : moved_) is_moved_[job] = 0;
    moved_.clear();
  }

  // Without moved(): after reading a state, callers must look at all jobs.
  void state(State& s) { s(now_, reduces_); }

 private:
  void set_reduces(Index job, double left) {
    if (reduces_[job] == left) return;
    reduces_[job] = left;
    if (!std::exchange(is_moved_[job], 1)) moved_.push_back(job);
  }
  // Lets the virtual reduces run for so many seconds.
  void serve(const ClusterState& state, double seconds);

  double now_ = 0.0;
  double pace_ = 1.0;            // mean rate of the nodes of reduce slots, whether up or not
  std::vector<double> reduces_;  // by job
  std::vector<Index> moved_;
  std::vector<std::uint8_t> is_moved_;           // by job
  std::vector<std::pair<double, Index>> order_;  // (work left, place among present jobs)
};

}  // namespace malleable
