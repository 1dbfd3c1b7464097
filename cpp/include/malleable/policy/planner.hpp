// Whole plans by a policy's name: which policy of jobs or of flows is asked, and with what.
//
// Policies: flex, baseline, concave, flowflex, flow_baseline. What a planner works with is kept
// between plans: asked for and given back each time it costs a small plan a fifth of its time.
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
  // All jobs have arrived: FieldError otherwise, and for slots that cannot be.
  void plan(const JobsView& jobs, const Penalties& penalties, const Request& request, Plan& plan);

  // Jobs of the last plan.
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
  // FlowFlex's own, but for its method, which the policy's name says.
  FlowOptions options = {};
};
// Throws std::invalid_argument for an unknown policy and for slots that cannot be.
void plan_flows(const FlowsView& flows, const Penalties& penalties, const FlowRequest& request,
                FlowPlan& plan);

}  // namespace malleable
