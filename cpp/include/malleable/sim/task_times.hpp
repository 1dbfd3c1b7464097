// Random draws: how long a task's next attempt takes on a node, whether it fails, and where blocks
// are. They depend only on the seed and the task, so that they are the same for every policy.
//
// O(1) each. Memory: two bytes a task of running jobs, and none without noise and failures.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/sim/cluster_options.hpp"

namespace malleable {

class TaskTimes {
 public:
  TaskTimes(const ClusterView& cluster, const ClusterJobsView& jobs, const ClusterOptions& options);

  struct Time {
    double seconds;  // on the node, copying included
    double copying;  // copying, part of `seconds`
    bool fails;
  };
  // The time of a task's next attempt on this node.
  Time next(Index job, Phase p, Index task, Index node);
  // The time of a backup task, by its number, beside the attempt that began last.
  Time backup(Index job, Phase p, Index task, Index node, Index number) const;
  // Draws distinct nodes; all sets are equally likely.
  void place(Index job, Index task, std::span<Index> node) const;
  void forget(Index job);

 private:
  // Draws of one attempt, in [0, 1) by stream: the same for every policy, independent of earlier
  // starts.
  class Draws {
   public:
    Draws(std::uint64_t seed, Index phase, Index task, std::uint32_t attempt);
    double operator()(std::uint32_t stream) const;

   private:
    std::uint64_t bits_;
  };

  double slowed(double seconds, const Draws& draw) const;  // by noise, or as a straggler
  // The time of an attempt, cut short if it fails.
  Time ends(Index job, Phase p, double seconds, const Draws& draw) const;

  ClusterView cluster_;
  ClusterJobsView jobs_;
  // The options of these names (sim/cluster_options).
  double noise_, straggler_share_, straggler_factor_, failure_, inherent_;
  bool copies_;  // reduce tasks copy in their slots
  std::uint64_t seed_;
  // by job, phase and task: number of attempts so far; empty: nothing is drawn
  std::vector<std::array<std::vector<std::uint16_t>, 2>> attempts_;
};

}  // namespace malleable
