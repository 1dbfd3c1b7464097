#include <algorithm>

#include "malleable/policy/epoch/flow_rule.hpp"

namespace malleable {
namespace {

// Flows in the order of their arrivals.
class FlowFifo final : public FlowRule {
 public:
  const char* name() const override { return "fifo"; }
  void order(const FlowScene& at, FlowInstance&, std::span<const std::int64_t>,
             std::vector<Index>& rows) override {
    const auto flows = at.table.flows();
    std::sort(rows.begin(), rows.end(), [&](Index a, Index b) {
      return flows[a].arrival != flows[b].arrival ? flows[a].arrival < flows[b].arrival : a < b;
    });
  }
};

}  // namespace

std::unique_ptr<FlowRule> flow_rule_fifo() { return std::make_unique<FlowFifo>(); }

}  // namespace malleable
