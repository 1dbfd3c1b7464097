// The rules that decide over flows: the order of flows, and the slots of jobs. Each rule has one
// file (flow_rule_*.cpp):
//
// - order: the cheapest of several orders (policy/flow_order). While there are few jobs, or with an
// effort, orders are compared by the lists that they make (ready jobs get slots flow by flow); with
// an effort the order of a whole plan is compared, too. O(F log F) for F flows, or O(jobs log jobs)
// for each order that is compared or planned.
// - planned: FlowFlex as printed, which follows a new whole plan in every decision.
// - fifo: by arrival. O(F log F).
// - fair: equal slots for all ready jobs. O(jobs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "malleable/policy/epoch/flow_instance.hpp"
#include "malleable/policy/epoch/flow_shares.hpp"

namespace malleable {

class FlowRule : public FlowServer {
 public:
  virtual const char* name() const = 0;
  // Whether slots go to jobs flow by flow.
  virtual bool by_order() const { return true; }
  // Orders the rows of present flows with work; it may add the others. `last`: ids in the order of
  // the last decision, then ids of new flows.
  virtual void order(const FlowScene& at, FlowInstance& of, std::span<const std::int64_t> last,
                     std::vector<Index>& rows) = 0;
  // By default each job gets up to its maximum, flow by flow.
  void serve(FlowShares& to, std::span<const Index> order, std::vector<std::int64_t>&) override;
  // By place in the last order: prices (work left over weight, policy/flow_front), if the order is
  // one of prices, which stay while a flow does not change.
  virtual std::span<const double> prices() const { return {}; }
  // The plan that the last decision follows, or null.
  virtual const FlowPlan* planned() const { return nullptr; }
  virtual void state(State&) {}
};

// The rule of these options.
std::unique_ptr<FlowRule> make_flow_rule(const FlowEpochOptions& options);

std::unique_ptr<FlowRule> flow_rule_order();
std::unique_ptr<FlowRule> flow_rule_planned();
std::unique_ptr<FlowRule> flow_rule_fifo();
std::unique_ptr<FlowRule> flow_rule_fair();

}  // namespace malleable
