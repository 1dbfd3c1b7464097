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
// priority_orders, malleable_packing, and forced_work by way of flex. O(F log F) an order.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/policy/flex.hpp"
#include "malleable/policy/flow_front.hpp"

namespace malleable {

class FlowOrder {
 public:
  // The value of an order, for those who know more than the flows as jobs; empty: they are packed.
  using Exact = std::function<double(std::span<const Index>, const Penalties&, Aggregate)>;
  // `flows`: the flows as jobs, all with work. `kept`: the order of the last decision, which stays
  // where it is better than all others, or worse by no more than the share `hysteresis`, if that is
  // above 0; all flows, or empty. `planned`: others to compare, say a whole plan's. Fills
  // `order`.
  void decide(const Problem& flows, const Penalties& penalties, Aggregate aggregate,
              std::span<const Index> kept, std::span<const std::vector<Index>> planned,
              double hysteresis, const Exact& exact, std::span<Index> order);

 private:
  void sum_orders(const Problem& flows, const Penalties& penalties, std::span<Index> order);
  void study(const Problem& flows, const Penalties& penalties);
  void try_keys(const Problem& flows, const Penalties& penalties, double exponent, double patience,
                std::span<Index> order);
  void front_order(const Problem& flows, const Penalties& penalties, std::span<Index> order);
  void max_orders(const Problem& flows, const Penalties& penalties, std::span<Index> order);
  void consider(const Problem& flows, const Penalties& penalties, Aggregate aggregate,
                std::span<Index> order);
  double value(const Problem& flows, const Penalties& penalties, Aggregate aggregate,
               std::span<const Index> order);

  PriorityOrders orders_;
  MalleablePacking packing_;
  FlowFront front_;
  Flex flex_;
  StrictDeadlines strict_;
  KeySort sorter_;
  std::vector<double> earliest_, completion_;
  std::vector<double> ratio_, narrow_, wait_, key_;  // of Smith's key: logarithms; waits in units
  std::vector<Index> trial_, due_order_;
  double best_ = 0.0;  // value of `order`
  const Exact* exact_ = nullptr;
};

}  // namespace malleable
