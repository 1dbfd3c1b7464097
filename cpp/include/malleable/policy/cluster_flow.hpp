// FlowFlex on a cluster with generic slots: plans of whole flows, epoch by epoch (FlowFlex, section
// 5.2).
//
// When the first job of a flow comes, all of the flow's jobs enter the plans, with the work that
// they are believed to have. A job that can run has the work left of both its phases, as estimated,
// and as many slots at most as it has tasks that run or are ready; one that has finished holds
// nobody up. A decision is the first layer of a plan of all flows that are not done, in which the
// last decision's order of flows is tried among the first. With `by_user` users share the slots
// first (policy/user_shares), and each user's flows are planned on what the user has; a flow
// belongs to its first job's user. O(jobs log jobs) for each order that a plan tries. Policies:
// flowflex, user_shares.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/flowflex.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {

struct ClusterFlowOptions {
  Aggregate aggregate = Aggregate::kSum;
  Kind kind = Kind::kResponse;
  std::uint64_t effort = 0;
  bool by_user = false;
  std::vector<Index> flow_of;  // by job: its flow's number, from 0
  std::vector<double> work;    // by job: slot-seconds of both phases, as believed before it comes
};

class ClusterFlow final : public ClusterPolicy {
 public:
  explicit ClusterFlow(ClusterFlowOptions options) : options_(std::move(options)) {}

  Style style() const override { return Style::kTargets; }
  void begin(const ClusterState& state) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;

 private:
  struct Flow {
    double arrival = kInfinity, weight = 0.0, deadline = -kInfinity;
    double size = 0.0;            // work when it came
    std::size_t first = 0;        // its jobs in jobs_, in the order of the table
    std::int64_t unfinished = 0;  // of them
    bool here = false;
    std::size_t user = 0;
  };
  // Of a user, or of all.
  struct Side {
    std::vector<Index> flows, order;  // not done: as they came, and as the last plan has them
    FlowFlex flowflex;
    FlowPlan plan;
  };

  void plan(const ClusterState& state, Side& side, std::int64_t slots, Answer& answer);

  ClusterFlowOptions options_;
  UserShares between_;
  std::vector<double> usable_;
  std::vector<Side> sides_;
  std::vector<Flow> flows_;
  std::vector<Index> jobs_;  // flow by flow
  std::vector<double> work_;
  std::vector<std::int64_t> most_;
  std::vector<std::uint8_t> wants_;  // by job: it has a row in this decision
  // One plan's columns.
  FlowProblem problem_;
  Penalties penalties_;
  std::vector<double> arrival_, weight_, deadline_, size_, row_work_;
  std::vector<std::int64_t> job_offset_, row_most_, parent_offset_, parent_, row_of_, no_steps_;
  std::vector<Index> warm_, place_;
};

}  // namespace malleable
