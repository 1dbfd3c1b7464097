#include "malleable/policy/epoch/flow_rule.hpp"
#include "malleable/policy/flow_order.hpp"

namespace malleable {
namespace {

// So many jobs that have not ended are listed for every order, which takes about as long as to
// compare the orders of 1,000 flows as jobs.
constexpr std::size_t kListedJobs = 300;

class FlowByValue final : public FlowRule {
 public:
  const char* name() const override { return "order"; }
  void order(const FlowScene& at, FlowInstance& of, std::span<const std::int64_t> last,
             std::vector<Index>& rows) override;

 private:
  FlowsAsJobs jobs_;
  FlowOrder orders_;
  FlowPlan searched_;
  std::vector<Index> kept_, sorted_;
  std::vector<std::vector<Index>> planned_;
};

void FlowByValue::order(const FlowScene& at, FlowInstance& of, std::span<const std::int64_t> last,
                        std::vector<Index>& rows) {
  if (rows.empty()) return;
  const FlowEpochOptions& options = at.options;
  const bool few = at.table.open_jobs() <= kListedJobs || options.effort;
  of.rows.assign(rows.begin(), rows.end());
  few ? of.build(at) : of.look(at);
  jobs_.begin(at.clock.now(), at.slots);
  for (const Index row : rows) {
    const FlowTable::Flow& flow = at.table.flows()[row];
    jobs_.add(flow.volume, flow.volume / flow.alone);
  }
  kept_.clear();
  if (few || options.hysteresis > 0.0) of.places_of(last, kept_);
  planned_.clear();
  if (options.effort) {
    of.plan(at, kept_, 0.0, searched_);
    of.orders(searched_, planned_);
  }
  sorted_.resize(rows.size());
  orders_.decide({jobs_, of.penalties, options.aggregate, few ? &of.problem : nullptr, kept_,
                  options.hysteresis, planned_},
                 sorted_);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = of.rows[sorted_[k]];
}

}  // namespace

std::unique_ptr<FlowRule> flow_rule_order() { return std::make_unique<FlowByValue>(); }

}  // namespace malleable
