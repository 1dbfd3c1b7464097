// What decides over flows: which flow goes before which, and who gets slots by that. One file a
// rule (flow_rule_*.cpp):
//
// - order: flows by what their order is worth (policy/flow_order). While there are few jobs, or
//   with an effort, orders are compared by the lists that they make, with an effort that of a whole
//   plan, too. O(F log F), or O(jobs log jobs) for each order that is compared or planned.
// - planned: the literal policy begins a whole plan in every decision.
// - fifo: by arrival. O(F log F).
// - fair: one water_filling over all jobs that are ready. O(jobs).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "malleable/policy/epoch/flow_instance.hpp"
#include "malleable/policy/epoch/flow_shares.hpp"

namespace malleable {

class FlowRule {
 public:
  virtual ~FlowRule() = default;
  virtual const char* name() const = 0;
  // Slots go to jobs flow by flow.
  virtual bool by_order() const { return true; }
  // Puts rows of flows in order, those with work that have come; it may add the others. `last`: ids
  // in the order of the decision before, then of flows that came.
  virtual void order(const FlowScene& at, FlowInstance& of, std::span<const std::int64_t> last,
                     std::vector<Index>& rows) = 0;
  // Hands out all slots. `turns`, with a period: ids of jobs that should get slots that become
  // free.
  virtual void serve(FlowShares& to, std::span<const Index> order,
                     std::vector<std::int64_t>& turns);
  // By place in the last order, if it is one of prices that flows keep while they do not change.
  virtual std::span<const double> prices() const { return {}; }
  // The plan that the last decision began, if it was one.
  virtual const FlowPlan* planned() const { return nullptr; }
  virtual void state(State&) {}

 protected:
  // Down the order, first up to the limits, if there are any.
  static void serve_down(FlowShares& to, std::span<const Index> order,
                         std::span<const std::int64_t> limit);
};

// The rule of these options.
std::unique_ptr<FlowRule> make_flow_rule(const FlowEpochOptions& options);

std::unique_ptr<FlowRule> flow_rule_order();
std::unique_ptr<FlowRule> flow_rule_planned();
std::unique_ptr<FlowRule> flow_rule_fifo();
std::unique_ptr<FlowRule> flow_rule_fair();

}  // namespace malleable
