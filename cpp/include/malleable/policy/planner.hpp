// Whole plans by a policy's name: calls the policy of jobs or of flows with its arguments.
//
// Files of policies: flex, baseline (fifo, fair, wdeq), concave (speed-ups below linear), flowflex,
// flow_baseline. A planner
// keeps its workspaces between plans, because allocating them costs a small plan a fifth of its
// time.
#pragma once

#include <span>
#include <string_view>

#include "malleable/model/flows.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/flex.hpp"
#include "malleable/policy/flowflex.hpp"

namespace malleable {

class Planner {
 public:
  struct Request {
    EpochPolicy policy = EpochPolicy::kFlex;
    Aggregate aggregate = Aggregate::kSum;
    MinMode min_mode = MinMode::kGuarantee;
    std::int64_t slots = 1;
    double now = 0.0;
    FlexOptions options = {};
  };
  // All jobs must have arrived. Throws FieldError otherwise, and for invalid slots.
  static void check(const JobsView& jobs, const Penalties& penalties, std::int64_t slots,
                    double now);
  // Checks, too.
  void plan(const JobsView& jobs, const Penalties& penalties, const Request& request, Plan& plan);

  // Number of jobs of the last plan.
  std::size_t size() const { return problem_.size(); }

 private:
  Problem problem_;
  Flex flex_;
  Baseline baseline_;
  Concave concave_;
  KeySort sorter_;
};

struct FlowRequest {
  std::string_view policy = "flowflex";
  Aggregate aggregate = Aggregate::kSum;
  std::int64_t slots = 1;
  double now = 0.0;
  // FlowFlex's options; the policy's name sets the method.
  FlowOptions options = {};
};
// Throws std::invalid_argument for an unknown policy and for invalid slots.
void plan_flows(const FlowsView& flows, const Penalties& penalties, const FlowRequest& request,
                FlowPlan& plan);

}  // namespace malleable
