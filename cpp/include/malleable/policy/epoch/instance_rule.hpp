// The rule for any policy, objective and kind of job: it builds an instance of all jobs.
//
// Orders that need more than a key per job are built by sorting, O(J log J): the objective's own
// order; with strict deadlines the order of FLEX's plan; with an effort that of the best plan; for
// sums over few jobs the best of several (policy/order_choice). Maxima of many jobs need no order,
// because the least value that the maximum can have sets each job a deadline, and with it its
// urgency (epoch/key_rule_level.cpp). FAIR and WDEQ share by water-filling. While some job's
// speed-up is not linear, policy/concave decides. Plan, value and bound of the last decision are
// computed on request. Policies: flex, baseline, concave; kernels: water_filling, demand_bound.
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
  std::vector<Index> order;  // order of the last decision; shorter than the jobs: not made yet

  // Begins a decision: discards the last instance and plan.
  void begin() {
    planned_.reset();
    of.built = false;
  }
  void decide(Scene& at);

  // Parts of a decision: they write the order, and shares into of.share. `with_work`: the instance
  // without jobs that have no work (Instance::with_work).
  void make_order(const Scene& at);
  void share_equally(const Scene& at, const Problem& with_work);
  void share_concave(const Scene& at, const Problem& with_work);
  void share_in_order(const Problem& with_work) {
    planned_.reset();
    malleable::share_in_order(with_work, order, of.share);
  }
  const Concave& concave() const { return concave_; }

  // The plan behind the last decision, to which `of` and `order` must belong.
  bool has_order(const Scene& at) const { return order.size() >= at.jobs.rows(); }
  void recall(const Scene& at);
  void recall(const Scene& at, std::span<const double> key);  // makes its order
  Plan plan(const Scene& at, bool detail);

  void state(State& s, const Scene& at, bool ordered);

 private:
  Concave::Task task(const Scene& at) const;
  // Tries several orders, or searches for a plan while no jobs come.
  void try_orders(const Scene& at);
  // Sets known_ from known_ids_; whether it has all present jobs.
  bool know_order(const Scene& at);
  // Moves jobs that hold slots forward (hysteresis). `strict`: some deadline is strict; none is
  // given up for a job that holds slots.
  void favour_holders(const Scene& at, bool strict);
  void decide_concave(const Scene& at, const Problem& with_work);
  // For many jobs and a maximum: shares by latest start, without an order; false: it cannot.
  bool share_by_level(const Scene& at, const Problem& with_work);
  // Whether the order follows from the level: the least value of a maximum that can be reached.
  bool levelled(const Scene& at) const;
  void plan_in_order(const Scene& at, bool detail, Plan& plan);
  // The plan without slots: jobs with work never end.
  Plan plan_nothing(const Scene& at) const;

  Flex flex_;
  OrderChoice choice_;
  Baseline baseline_;
  Concave concave_;
  WaterFilling water_filling_;
  KeySort sorter_;
  PrioritySelection selection_;
  std::vector<double> rank_, room_;  // workspace: keys, and slots beyond minima
  double level_ = -kInfinity;        // level of a maximum in the last decision
  std::optional<Plan> planned_;      // plan that the last decision follows
  // The order of the last plan that was searched for, as ids and as rows.
  std::vector<std::int64_t> known_ids_;
  std::vector<Index> known_;
};

}  // namespace malleable
