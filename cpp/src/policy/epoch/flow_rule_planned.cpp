#include <optional>

#include "malleable/policy/epoch/flow_rule.hpp"

namespace malleable {
namespace {

// The literal policy: every decision makes a whole plan, with the last order as a start, and gives
// the slots with which the plan begins.
class FlowPlanned final : public FlowRule {
 public:
  const char* name() const override { return "planned"; }
  void order(const FlowScene& at, FlowInstance& of, std::span<const std::int64_t> last,
             std::vector<Index>& rows) override {
    plan_.reset();
    if (at.slots == 0) return;
    of.build_all(at);
    of.places_of(last, warm_);
    of.plan(at, warm_, at.options.hysteresis, plan_.emplace());
    rows.assign(plan_->order.begin(), plan_->order.end());
  }
  // Gives the slots that the plan has now.
  void serve(FlowShares& to, std::span<const Index> order, std::vector<std::int64_t>&) override {
    wanted_.clear();
    auto next = plan_->allocation.begin();
    for (const FlowTable::Flow& flow : to.at.table.flows()) {
      for (const FlowTable::Job& job : flow.jobs) {
        wanted_.push_back(job.stage == JobStage::kRemoved ? 0 : *next++);
      }
    }
    const bool empty = to.serve_empty();
    to.fill(order, wanted_);
    if (!empty) return;
    to.fill(order);
    to.serve_empty_rest(order);
  }
  const FlowPlan* planned() const override { return plan_ ? &*plan_ : nullptr; }
  void state(State& s) override { s(plan_); }

 private:
  std::optional<FlowPlan> plan_;
  std::vector<Index> warm_;
  std::vector<std::int64_t> wanted_;
};

}  // namespace

std::unique_ptr<FlowRule> flow_rule_planned() { return std::make_unique<FlowPlanned>(); }

}  // namespace malleable
