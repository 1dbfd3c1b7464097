// FlowFlex on a cluster with generic slots (which run maps and reduces): whole flows, epoch by
// epoch (Nagarajan et al. 2013, section 5.2).
//
// An epoch of flows (policy/flow_epoch) orders the flows. This file turns cluster jobs into its
// jobs. When the first job of a flow comes, the whole flow is added. There the map phase and the
// reduce phase are separate jobs, reduces after maps, each with its estimated work left, and at
// most as many slots as it has unfinished tasks. A cluster job gets the slots of its first
// unfinished phase, for tasks of both. Jobs that have not come count with their estimated work.
// Nagarajan et al. join the phases as soon as slow start lets reduces in; then a long reduce phase
// would seem to have as many slots as the maps beside it (docs/internals/deviations.md). A flow
// counts by its earliest arrival, largest weight and latest deadline.
//
// Jobs are ranked flow by flow in the epoch's order, within a flow the longest path first. Jobs
// that wait for others or have not come are ranked, too, so that a job that becomes ready between
// two decisions takes free slots by its rank at once. If the order is one of prices (work left over
// weight), ranks are prices, so that the ranks of unchanged flows stay.
//
// The literal policy (FlowFlex as printed) uses the slots of its epoch as targets (slots that jobs
// should have). With `targets`, ranks are given as precedence, beside targets that show what the
// order leads to. That is for policy/cluster_auto, which has targets at other times and says when
// to start. It also says when tasks slow each other down (spread()). Then the epoch is told the
// speed-ups that were learnt of programs, so that a flow gets no more slots than do well
// (kernel/flow_gains), and its slots are the targets, which are filled in its order. With `by_user`
// users share the slots first (policy/user_shares); then each user has an epoch; a flow belongs to
// its first job's user. If slots need a restart, too, the targets go down the order, and a job gets
// no more than are worth it (policy/restart_slots), for any p. O(jobs + parents) a decision,
// beside the epoch's.
#pragma once

#include <cstdint>
#include <memory>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/flowflex.hpp"

namespace malleable {

struct ClusterFlowOptions {
  FlowMethod method = FlowMethod::kBest;
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  std::uint64_t effort = 0;
  bool by_user = false;
  bool targets = false;  // beside ranks, which decide: targets that the order leads to
};

class ClusterFlow : public ClusterPolicy {
 public:
  // With `targets`: whether this policy decides from now on. If not, it only counts flows.
  virtual void start(const ClusterState& state) = 0;
  virtual void stop(const ClusterState& state) = 0;
  // With `targets`, before a decision: whether tasks slow each other down so much that a flow
  // should not get all that it can use.
  virtual void spread(bool spreads) = 0;
  // The number of flows of several jobs with a job that has come and a job that is not done.
  virtual std::int64_t several() const = 0;
};

std::unique_ptr<ClusterFlow> make_cluster_flow(const ClusterFlowOptions& options);

}  // namespace malleable
