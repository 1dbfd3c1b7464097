// The order of flows for a decision now, without a plan (FlowFlex, section 5.2).
//
// Decides: which flow goes first. Flows count as malleable jobs: what is left of their work, and as
// maximum their mean parallelism, work over the larger of critical path and work on all slots. For
// those, several fixed orders are packed and the cheapest is taken (sums), or the order is that of
// the deadlines of the best level (maxima). The orders of sums are variations of Smith's ratio: a
// narrow flow, which cannot catch up, goes before a wide one of as much work, the more so the
// larger the exponent (ours: the paper plans everything), and a flow that has time until its
// penalty rises is put off, as in the apparent tardiness cost; then the flow with the least slack
// first, and the on-time set. Of many flows a sample is packed, where there is but the exponent to
// choose (flow_front.hpp). While there are few jobs, what is compared is the list
// that an order makes of them, and the order of the decision before is compared as well. Kernels:
// priority_orders, malleable_packing, and demand_bound by way of flex. O(F log F) an order.
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
  // What is left of a flow, above 0, and its mean parallelism.
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
    // The flows with their jobs, if orders are compared by the lists that they make; null: flows as
    // jobs are packed.
    const FlowProblem* listed = nullptr;
    // The order of the last decision, which stays where it is better than all others, or worse by
    // no more than the share `hysteresis`, if that is above 0; all flows, or empty.
    std::span<const Index> kept = {};
    double hysteresis = 0.0;
    std::span<const std::vector<Index>> planned = {};  // others to compare, say a whole plan's
  };
  // Fills `order`.
  void decide(const Choice& choice, std::span<Index> order);

 private:
  void sum_orders();
  void study();
  void try_keys(double exponent, double patience);
  void max_orders();
  void consider();
  double value(std::span<const Index> order);

  // Of the decision at hand.
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
  std::vector<double> ratio_, narrow_, wait_, key_;  // of Smith's key: logarithms; waits in units
  std::vector<Index> trial_, due_order_;
};

}  // namespace malleable
