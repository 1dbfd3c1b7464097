#include "malleable/policy/epoch/flow_rule.hpp"

namespace malleable {

void FlowRule::serve(FlowShares& to, std::span<const Index> order, std::vector<std::int64_t>&) {
  const bool empty = to.serve_empty();
  to.fill(order);
  if (empty) to.serve_empty_rest(order);
}

std::unique_ptr<FlowRule> make_flow_rule(const FlowEpochOptions& options) {
  if (options.baseline == FlowBaseline::kFifo) return flow_rule_fifo();
  if (options.baseline == FlowBaseline::kFair) return flow_rule_fair();
  return options.method == FlowMethod::kLiteral ? flow_rule_planned() : flow_rule_order();
}

}  // namespace malleable
