// Flows of a decision as plans see them: what people pay for them, their jobs with those that have
// finished and with joined phases, and the plan that continues an order. O(jobs + parents), and a
// plan what policy/flowflex says.
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
  std::vector<Kind> kind;         // of what they pay
  std::vector<std::string> name;  // of the jobs
};

class FlowInstance {
 public:
  CustomPenalty custom = nullptr;  // of (flow id, completion)
  std::vector<Index> rows;         // of the flows in the table, in order
  SeenFlows seen;
  FlowProblem problem;
  Penalties penalties;

  // What people pay for `rows`.
  void look(const FlowScene& at);
  // And their jobs, and the problem.
  void build(const FlowScene& at);
  void build_all(const FlowScene& at);
  // Places among `rows` of those flows that are there, by ids in any order.
  void places_of(std::span<const std::int64_t> ids, std::vector<Index>& places) const;
  // Of what is built, by the options. `warm`: places in the last order; it is kept unless something
  // is better by more than the share `hysteresis`.
  void plan(const FlowScene& at, std::span<const Index> warm, double hysteresis, FlowPlan& plan);
  void orders(const FlowPlan& plan, std::vector<std::vector<Index>>& orders) const {
    flowflex_.orders(plan, orders);
  }

 private:
  FlowFlex flowflex_;
  std::vector<std::int64_t> row_of_;  // by place in a flow; -1: it is not seen
};

}  // namespace malleable
