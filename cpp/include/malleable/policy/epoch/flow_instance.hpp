// The flows of a decision as an instance for plans: their terms (arrival, weight, deadline, SLA
// steps), their jobs (finished jobs, too), and the plan that continues an order. O(jobs + parents);
// a plan costs O(jobs log jobs) for each order or candidate (policy/flowflex).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "malleable/policy/epoch/flow_study.hpp"

namespace malleable {

struct SeenFlows {
  FlowColumns flows;
  std::vector<std::int64_t> id;   // of the flows
  std::vector<Kind> kind;         // kinds of their penalties
  std::vector<std::string> name;  // of the jobs
};

class FlowInstance {
 public:
  CustomPenalty custom = nullptr;  // of (flow id, completion)
  std::vector<Index> rows;         // of the flows in the table, in order
  SeenFlows seen;
  FlowProblem problem;
  Penalties penalties;

  // Fills the terms of `rows`.
  void fill_terms(const FlowScene& at);
  // Fills the terms, the jobs and the problem.
  void build(const FlowScene& at);
  // The same for all flows of the table.
  void build_all(const FlowScene& at);
  // Places among `rows` of the flows with these ids, in the order of the ids; absent flows are left
  // out.
  void places_of(std::span<const std::int64_t> ids, std::vector<Index>& places) const;
  // Plans what is built, by the options. `warm`: places in the last order, which is kept unless
  // another is better by more than the share `hysteresis`.
  void plan(const FlowScene& at, std::span<const Index> warm, double hysteresis, FlowPlan& plan);
  // Sets `orders`: the plan's order of flows, then those of the best candidates of its search, as
  // places among `rows`.
  void orders(const FlowPlan& plan, std::vector<std::vector<Index>>& orders) const {
    flowflex_.orders(plan, orders);
  }

 private:
  FlowFlex flowflex_;
  std::vector<std::int64_t> row_of_;  // by place in a flow; -1: not in the instance
};

}  // namespace malleable
