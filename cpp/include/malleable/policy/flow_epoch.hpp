// The decision of a scheduler's loop over flows (graphs of jobs, some of which wait for others):
// the slots of each ready job now, from state that is kept (Nagarajan et al. 2013, section 5.2).
//
// An epoch has a table of flows (epoch/flow_table), data derived from each flow (epoch/flow_study),
// and a rule (epoch/flow_rule). The rule orders the flows; then slots go to the jobs that are
// ready, flow by flow, within a flow the longest path first, each up to its maximum, as in a list
// schedule of FlowFlex (policy/flowflex). Derived data are computed again only for changed flows.
// O(jobs) to hand out the decision, O(jobs + parents) of the changed flows, beside the cost of the
// rule. A decision may be held for a period (epoch/flow_shares_periodic.cpp).
//
// Only finish() ends a job. Until then a job whose work has run out holds a slot, capacity
// permitting, counts as ending now and keeps its children waiting. The speed-up of a program's jobs
// is learnt from the work that they did between decisions (policy/program_rates).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "malleable/policy/epoch/flow_rule.hpp"
#include "malleable/policy/program_rates.hpp"

namespace malleable {

class FlowEpoch {
 public:
  static constexpr const char* kName = "FlowEpoch";
  static FlowEpoch blank() { return FlowEpoch(1, {}); }  // to read a state into
  FlowEpoch(std::int64_t slots, const FlowEpochOptions& options);

  // The caller's own penalty of (flow id, completion). It is not part of the state.
  void set_penalty(CustomPenalty custom) { seen_.custom = custom; }
  CustomPenalty penalty() const { return seen_.custom; }

  struct Ids {
    std::int64_t first_flow, first_job;
  };
  using Changes = FlowTable::Changes;
  // These throw std::invalid_argument before anything changes; FlowTable explains their arguments.
  Ids add(FlowTable::Additions&& added);
  void update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
              const Changes& changes);
  void finish(std::span<const std::int64_t> jobs);
  void remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows);

  // Rows are unfinished jobs, by id. `changed`: whether slots differ from the last decision; new
  // jobs had none. `ended`: flows that have ended since then.
  struct Decision {
    std::vector<std::int64_t> ids, slots, ended;
    std::vector<std::uint8_t> changed, ready;
    // With a period: ready jobs, in the order in which they should get slots that become free
    // before the next call; and whether the arriving jobs need more whole slot-periods than there
    // are.
    std::vector<std::int64_t> order;
    bool overloaded = false;
  };
  // `slots`, if given: the capacity from now on; 0 is allowed. `now` may not fall. `period`, if
  // given: of this decision.
  const Decision& decide(double now, std::optional<std::int64_t> slots = std::nullopt,
                         std::optional<double> period = std::nullopt);

  // The order of the last decision: rows of flows(); and by place their prices, if the order is one
  // of prices (epoch/flow_rule).
  std::span<const Index> order() const { return ordered_; }
  std::span<const double> prices() const { return rule_->prices(); }
  // The flows as of the last decision.
  std::span<const FlowTable::Flow> flows() const { return at_.table.flows(); }
  const FlowTable::Flow& flow(std::int64_t id) const { return flows()[at_.table.find_flow(id)]; }

  // The learnt rates of 1, 2, ... `most` slots of a program.
  std::vector<double> rates_of(std::int64_t program, std::int64_t most) const {
    return rates_.rates(program, most);
  }

  // The rule that makes decisions.
  const char* rule() const { return by_gains() ? "gains" : rule_->name(); }

  // The whole schedule behind the last decision, the flows as it sees them, and their penalties;
  // the state must not have changed since. There is none for 0 slots.
  void plan(SeenFlows& flows, FlowPlan& plan, std::vector<double>& penalty);

  std::int64_t slots() const { return at_.slots; }
  std::size_t size() const { return at_.table.size(); }
  std::size_t open_jobs() const { return at_.table.open_jobs(); }
  // Changes with every call that may change a decision, and with every decision.
  std::uint64_t version() const { return version_; }

  void state(State& s);

 private:
  // FlowFlex with some speed-up below linear: slots go to the jobs that gain most by them.
  bool by_gains() const { return !at_.options.baseline && at_.table.curved(); }
  // Counts slot-seconds since the last decision, and finds jobs that outlived their estimates.
  void count_held(double now);
  void learn(std::span<const std::int64_t> news);
  // Sets ordered_.
  void order_flows();
  void serve();
  // Writes the decision.
  void report();

  FlowScene at_;  // the flows, slots, options and time that all rules read
  std::unique_ptr<FlowRule> rule_;
  FlowInstance seen_;  // the present flows as a problem
  std::unique_ptr<FlowServer> periodic_ = flow_shares_periodic(), gains_ = flow_shares_gains();
  ProgramRates rates_;
  std::uint64_t version_ = 0;
  std::vector<std::int64_t> order_;     // flow ids: of the last decision, then of new flows
  std::vector<Index> ordered_;          // flow rows, by priority
  std::vector<std::int64_t> last_ids_;  // of the last decision
  std::vector<std::uint8_t> last_ready_;
  Decision decision_;
};

}  // namespace malleable
