#include "malleable/policy/epoch/flow_rule.hpp"

namespace malleable {

void FlowRule::serve_down(FlowShares& to, std::span<const Index> order,
                          std::span<const std::int64_t> limit) {
  const bool empty = to.serve_empty();
  if (!limit.empty()) to.fill(order, limit);
  if (limit.empty() || empty) to.fill(order);
  if (empty) to.serve_empty_rest(order);
}

void FlowRule::serve(FlowShares& to, std::span<const Index> order, std::vector<std::int64_t>&) {
  serve_down(to, order, {});
}

std::unique_ptr<FlowRule> make_flow_rule(const FlowEpochOptions& options) {
  if (options.baseline == FlowBaseline::kFifo) return flow_rule_fifo();
  if (options.baseline == FlowBaseline::kFair) return flow_rule_fair();
  return options.method == FlowMethod::kLiteral ? flow_rule_planned() : flow_rule_order();
}

}  // namespace malleable
