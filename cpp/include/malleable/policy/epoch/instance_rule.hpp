// Any policy, objective and kind of job, by way of an instance of all jobs.
//
// Orders without a key a job are built by sorting, O(J log J): the objective's own, with strict
// deadlines the one of FLEX's plan, with an effort that of the best plan, for sums over few jobs
// the best of several (policy/order_choice). Maxima of many jobs need no order: their level says
// who gets slots (level_rule.hpp says why). FAIR and WDEQ share by water-filling. While some job's
// speed-up is not linear, the policy concave decides. What the last decision leads to, its plan,
// value and bound, is worked out on request. Policies: flex, baseline, concave; kernels:
// water_filling, demand_bound.
#pragma once

#include <optional>
#include <vector>

#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/concave.hpp"
#include "malleable/policy/epoch/instance.hpp"
#include "malleable/policy/flex.hpp"
#include "malleable/policy/order_choice.hpp"

namespace malleable {

class InstanceRule {
 public:
  Instance of;
  std::vector<Index> order;  // of the last decision; shorter than the jobs: not made yet

  // A decision begins: there is neither an instance nor a plan.
  void begin() {
    planned_.reset();
    of.built = false;
  }
  void decide(Scene& at);

  // Parts of decisions, for a problem of the same jobs: the order, and shares in of.share.
  void make_order(const Scene& at);
  void share_equally(const Scene& at, const Problem& by);
  void share_concave(const Scene& at, const Problem& by);
  void share_in_order(const Problem& by) {
    planned_.reset();
    of.decide_by_order(by, order);
  }
  const Concave& concave() const { return concave_; }

  // Behind the last decision, `of` and `order` being its own.
  bool has_order(const Scene& at) const { return order.size() >= at.jobs.rows(); }
  void recall(const Scene& at);
  void recall(const Scene& at, std::span<const double> key);  // its order
  Plan plan(const Scene& at);
  struct Assessment {
    double value, lower_bound;
  };
  Assessment assess(const Scene& at);

  void state(State& s, const Scene& at, bool ordered);

 private:
  Concave::Task task(const Scene& at) const;
  void try_orders(const Scene& at);
  bool know_order(const Scene& at);
  void hold_on(const Scene& at, bool strict);
  void decide_concave(const Scene& at, const Problem& beside);
  bool share_by_level(const Scene& at, const Problem& by);
  bool levelled(const Scene& at) const;
  void plan_in_order(const Scene& at, bool detail, Plan& plan);
  Plan plan_nothing(const Scene& at) const;

  Flex flex_;
  OrderChoice choice_;
  Baseline baseline_;
  Concave concave_;
  WaterFilling water_filling_;
  KeySort sorter_;
  PrioritySelection selection_;
  std::vector<double> rank_, room_;
  double level_ = -kInfinity;    // of a maximum, last time
  std::optional<Plan> planned_;  // what the last decision follows
  // The order of the last plan that was searched for: ids, and as rows.
  std::vector<std::int64_t> known_ids_;
  std::vector<Index> known_;
  Plan sketch_;  // without pieces
};

}  // namespace malleable
