// FLEX, FAIR, WDEQ and FIFO on a cluster: epochs of maps and of reduces (Wolf et al. 2010, section
// 4.2). An epoch (policy/epoch.hpp) is an object that decides the slots of present jobs.
//
// Each pool (the slots of one kind: 0 maps, 1 reduces; generic slots, which run both, are pool 0)
// has an epoch of its own, which sees a job while a phase of it is ready there: its work left as
// estimated, as many slots at most as it has unfinished tasks. Ties go to the job whose phase
// became ready first, then to the one that arrived first. Between users, slots are shared first:
// water-filling weighted by priority over what their jobs could use, each user's minimum first
// (policy/user_shares); then each user has an epoch. A decision costs what the epochs' do and O(log
// n) for each job that changed. If slots need a restart before they work for another job, FLEX
// gives a job no more than are worth it (policy/restart_slots); equal shares only change less
// (policy/epoch/costly_moves). FIFO over all users needs no decisions: jobs rank by arrival. Jobs
// with a stated p below 1 share slots by policy/concave, except with FAIR and WDEQ without start
// conditions and pool minima. A phase that starts together waits in its epoch (policy/epoch/start),
// and its user has at least the minima of such phases that have started. Kernels: power_shares;
// policies: epoch.
//
// AUTO is FLEX that fills targets in its order and uses what ended tasks have shown
// (scheduler/job_estimates). It does so if its order is Smith's and all minima are guarantees of
// single jobs. If s tasks of a phase do s^p, jobs share slots by size (kernel/power_shares), with
// the exponent of least expected cost given the posterior of p and the load
// (kernel/share_exponent): from equal shares to the order. If no job can use two slots, p does not
// matter and the order is best. While there are no more jobs than slots, and a decision holds no
// longer than a task takes, a job of which little is known gets one slot until its tasks have shown
// more, because the order of all other jobs depends on that. One job of a program does so for all,
// unless runs of programs differ as much. If delays cost at deadlines, or the largest response
// counts, `auto` goes by the urgency of waiting tasks (policy/cluster_urgency).
#pragma once

#include <memory>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class ClusterFifo final : public ClusterPolicy {
 public:
  Style style() const override { return Style::kRanks; }
  bool reads_estimate(const PhaseState&) const override { return false; }
  double first_rank(const ClusterState& state, Index job, int /*pool*/) override {
    return state.rank[job];
  }
};

struct ClusterEpochOptions {
  EpochOptions epoch = {};
  // Minima are at least 1: a task of every ready phase runs soon, so that its work can be
  // estimated.
  bool at_least_one = false;
  bool by_user = false;  // users share first
  // The part of each pool's slots that its jobs are guaranteed in equal shares, rounded down,
  // beyond their own minima (section 4.2: all jobs in one pool that has a minimum).
  double pool_minimum = 0.0;
  // FLEX uses what was learnt of tasks, and unsure jobs ask for a slot.
  bool asks = false;
};

class ClusterEpoch : public ClusterPolicy {
 public:
  // How unequal shares by size are best (kernel/share_exponent); 1: in order.
  virtual double share_exponent_now(const ClusterState& state) const = 0;
};

std::unique_ptr<ClusterEpoch> make_cluster_epoch(const ClusterEpochOptions& options);

}  // namespace malleable
