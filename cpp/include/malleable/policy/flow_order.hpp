// The order of flows for a decision now, without a plan (FlowFlex: Nagarajan et al. 2013, section
// 5.2).
//
// Decides: which flow goes first. Flows count as malleable jobs with their work left, and with
// their mean parallelism as maximum: work over the larger of critical path and time of all work on
// all slots. For these jobs, several fixed orders are packed (slots go to jobs in the order) and
// the cheapest is taken (sums), or the order is that of the deadlines of the best level, the least
// value of the objective whose deadlines can all be met (maxima). The orders of sums are variations
// of Smith's ratio: a narrow flow, which cannot catch up, goes before a wide one of as much work,
// the more so the larger the exponent (ours: FlowFlex plans everything), and a flow that has time
// until its penalty rises is postponed, as in apparent tardiness cost; then the flow with the least
// slack first, and the on-time set (flows that can all meet their deadlines). With many flows, if
// only the exponent is to be chosen, a sample is packed (flow_front.hpp). While there are few jobs,
// the lists that the orders make are compared, and the order of the last decision is compared, too.
// Kernels: priority_orders, malleable_packing, and demand_bound by way of flex. O(F log F) an order
// of F flows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/policy/flex.hpp"
#include "malleable/policy/flow_front.hpp"
#include "malleable/policy/flow_lists.hpp"

namespace malleable {

// Flows as jobs.
struct FlowsAsJobs : Problem {
  void begin(double time, std::int64_t slot_count) {
    now = time;
    slots = static_cast<double>(slot_count);
    for (auto* column : {&work, &high, &low, &idle_end}) column->clear();
  }
  // Adds a flow: its work left, above 0, and its mean parallelism.
  void add(double left, double wide) {
    work.push_back(left);
    high.push_back(std::min(slots, wide));
    low.push_back(0.0);
    idle_end.push_back(now);
  }
};

class FlowOrder {
 public:
  struct Choice {
    const FlowsAsJobs& flows;
    const Penalties& penalties;
    Aggregate aggregate;
    // The flows with their jobs, if orders are compared by the lists that they make; null: flows
    // are packed as jobs.
    const FlowProblem* listed = nullptr;
    // The order of the last decision, with all flows, or empty. It is kept if no other is better,
    // or if `hysteresis` is above 0 and no other is better by more than this share.
    std::span<const Index> kept = {};
    double hysteresis = 0.0;
    // more orders to compare, for example of a whole plan
    std::span<const std::vector<Index>> planned = {};
  };
  // Fills `order`.
  void decide(const Choice& choice, std::span<Index> order);

 private:
  // Tries the orders for a sum.
  void sum_orders();
  // Computes the parts of the keys.
  void study();
  // Tries the order by keys with this exponent of width, and this patience with flows that have
  // time.
  void try_keys(double exponent, double patience);
  // Tries the orders for a maximum.
  void max_orders();
  // Keeps the order in trial_ if it is the best; value() of an order is what it costs.
  void consider();
  double value(std::span<const Index> order);

  // Data of the present decision.
  const FlowsAsJobs* flows_ = nullptr;
  const Penalties* penalties_ = nullptr;
  Aggregate aggregate_ = Aggregate::kSum;
  bool listed_ = false;
  std::span<Index> order_;
  double best_ = 0.0;  // value of `order_`

  FlowLists lists_;
  PriorityOrders orders_;
  MalleablePacking packing_;
  FlowFront front_;
  Flex flex_;
  StrictDeadlines strict_;
  KeySort sorter_;
  std::vector<double> earliest_, completion_;
  // parts of the key: logarithms; waiting times in units of the patience
  std::vector<double> ratio_, narrow_, wait_, key_;
  std::vector<Index> trial_, due_order_;
};

}  // namespace malleable
