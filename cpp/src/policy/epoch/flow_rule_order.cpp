#include "malleable/policy/epoch/flow_rule.hpp"
#include "malleable/policy/flow_front.hpp"
#include "malleable/policy/flow_order.hpp"

namespace malleable {
namespace {

// Up to this many unfinished jobs, every order is compared by its list schedule (flow_rule.hpp),
// which takes about as long as comparing the orders of 1,000 flows as jobs.
constexpr std::size_t kListedJobs = 300;

// Flows in the order that costs least.
class FlowByValue final : public FlowRule {
 public:
  const char* name() const override { return "order"; }
  std::span<const double> prices() const override { return prices_; }
  void order(const FlowScene& at, FlowInstance& of, std::span<const std::int64_t> last,
             std::vector<Index>& rows) override {
    prices_.clear();
    if (rows.empty()) return;
    const FlowEpochOptions& options = at.options;
    const bool few = at.table.open_jobs() <= kListedJobs || options.effort;
    of.rows.assign(rows.begin(), rows.end());
    jobs_.begin(at.clock.now(), at.slots);
    for (const Index row : rows) {
      const FlowTable::Flow& flow = at.table.flows()[row];
      jobs_.add(flow.volume, flow.volume / flow.alone);  // work, mean parallelism
    }
    sorted_.resize(rows.size());
    const bool compares = few || options.hysteresis > 0.0;
    if (compares || options.aggregate == Aggregate::kMax || !by_prices(at, rows)) {
      few ? of.build(at) : of.fill_terms(at);
      choose(at, of, few, last);
    }
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = of.rows[sorted_[k]];
  }

 private:
  // Orders many flows by prices alone; false: some penalty is not a line.
  bool by_prices(const FlowScene& at, std::span<const Index> rows) {
    rate_.clear();
    for (const Index row : rows) {
      const FlowTable::Flow& flow = at.table.flows()[row];
      if (!info(flow.kind).steady) return false;
      rate_.push_back(flow.value_of_second());
    }
    const std::span<const double> price = front_.prices(jobs_.work, jobs_.high, rate_, jobs_.slots);
    sorter_.sort(price, sorted_);
    for (const Index k : sorted_) prices_.push_back(price[k]);
    return true;
  }

  // Chooses the best of several orders, with the last one and a whole plan's among them.
  void choose(const FlowScene& at, FlowInstance& of, bool few, std::span<const std::int64_t> last) {
    const FlowEpochOptions& options = at.options;
    kept_.clear();
    if (few || options.hysteresis > 0.0) of.places_of(last, kept_);
    planned_.clear();
    if (options.effort) {
      of.plan(at, kept_, 0.0, searched_);
      of.orders(searched_, planned_);
    }
    orders_.decide({jobs_, of.penalties, options.aggregate, few ? &of.problem : nullptr, kept_,
                    options.hysteresis, planned_},
                   sorted_);
  }

  FlowsAsJobs jobs_;
  FlowOrder orders_;
  FlowPlan searched_;
  std::vector<Index> kept_, sorted_;  // the last order by place; the chosen one
  std::vector<double> rate_, prices_;
  FlowFront front_;
  KeySort sorter_;
  std::vector<std::vector<Index>> planned_;  // orders of plans
};

}  // namespace

std::unique_ptr<FlowRule> flow_rule_order() { return std::make_unique<FlowByValue>(); }

}  // namespace malleable
