// The decision of a scheduler's loop over flows: slots now, from state that is kept (FlowFlex,
// section 5.2).
//
// An epoch is a table of flows (epoch/flow_table), what is worked out of each (epoch/flow_study),
// and a rule (epoch/flow_rule). The rule orders the flows; then slots go to the jobs that are
// ready, flow by flow, within a flow the longest path first, each up to its maximum: the present
// instant of FlowFlex's list. What the order looks at is worked out again for flows that changed
// alone. O(jobs) to hand out the decision, O(jobs + parents) of the flows that changed, beside what
// the rule costs. A decision may be held for a period (epoch/flow_periodic).
//
// Only finish() ends a job. Until then one whose work has run out holds a slot, capacity
// permitting, counts as ending now and holds its children back. Two phases of a job (`continues`)
// are one job with the work and the maxima of both once a share of the first is done.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "malleable/kernel/flow_gains.hpp"
#include "malleable/policy/epoch/flow_periodic.hpp"
#include "malleable/policy/epoch/flow_rule.hpp"

namespace malleable {

class FlowEpoch {
 public:
  static constexpr const char* kName = "FlowEpoch";
  static FlowEpoch blank() { return FlowEpoch(1, 1.0, {}); }  // to read a state into
  FlowEpoch(std::int64_t slots, double task_work, const FlowEpochOptions& options);

  // The caller's own penalty of (flow id, completion). It is not part of the state.
  void set_penalty(CustomPenalty custom) { seen_.custom = custom; }
  CustomPenalty penalty() const { return seen_.custom; }

  struct Ids {
    std::int64_t first_flow, first_job;
  };
  using Changes = FlowTable::Changes;
  // These throw std::invalid_argument before anything changes; what they take: FlowTable.
  Ids add(FlowTable::Additions&& added);
  void update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
              const Changes& changes);
  void finish(std::span<const std::int64_t> jobs);
  void remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows);
  void set_task_work(double task_work);

  // Rows: jobs that have not ended, by id. `changed` from the decision before, where new jobs had
  // none; `ended`: flows of which nothing is left since then.
  struct Decision {
    std::vector<std::int64_t> ids, slots, ended;
    std::vector<std::uint8_t> changed, ready;
    // With a period: ready jobs, first the one that should get a slot that becomes free before the
    // next call; and whether the jobs that keep coming need more whole slot-periods than there are.
    std::vector<std::int64_t> order;
    bool overloaded = false;
  };
  // `slots`, if given: from now on; 0 is one. `now` may not fall. `period`, if given: of this
  // decision.
  const Decision& decide(double now, std::optional<std::int64_t> slots = std::nullopt,
                         std::optional<double> period = std::nullopt);

  // For a caller that hands out slots itself: what a decision does first. Rows of flows(), and by
  // place the prices by which they stand, if it is so (epoch/flow_rule).
  struct Order {
    std::span<const Index> rows = {};
    std::span<const double> price = {};
  };
  Order order(double now, std::int64_t slots);
  // As they were looked at last.
  std::span<const FlowTable::Flow> flows() const { return at_.table.flows(); }
  const FlowTable::Flow& flow(std::int64_t id) const { return flows()[at_.table.find_flow(id)]; }

  // Which rule makes decisions.
  const char* rule() const { return by_gains() ? "gains" : rule_->name(); }

  // The whole schedule behind the last decision, the flows as it sees them, and what they pay;
  // nothing must have changed since. There is none for 0 slots.
  void plan(SeenFlows& flows, FlowPlan& plan, std::vector<double>& penalty);

  std::int64_t slots() const { return at_.slots; }
  std::size_t size() const { return at_.table.size(); }
  std::size_t open_jobs() const { return at_.table.open_jobs(); }
  // Changes with every call that may change a decision, and with every decision.
  std::uint64_t version() const { return version_; }

  void state(State& s);

 private:
  void begin(double now, std::optional<std::int64_t> slots, std::optional<double> period);
  // FlowFlex where some work would swell.
  bool by_gains() const { return !at_.options.baseline && at_.table.curved(); }
  void count_held(double now);
  void order_flows();
  void serve();
  void serve_by_gains(FlowShares& to);
  void report();

  FlowScene at_;
  std::unique_ptr<FlowRule> rule_;
  FlowInstance seen_;
  FlowPeriodic periodic_;
  FlowGains gains_;
  std::vector<FlowTable::Job*> gaining_;
  std::vector<double> gained_;
  std::uint64_t version_ = 0;
  std::vector<std::int64_t> order_;  // flow ids: of the last decision, then those that came
  std::vector<Index> ordered_;       // flow rows, by priority
  Decision decision_;
};

}  // namespace malleable
