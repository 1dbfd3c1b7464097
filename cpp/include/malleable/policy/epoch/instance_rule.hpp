// The rule for any policy, objective and kind of job: it builds an instance of all jobs.
//
// Orders that need more than a key per job are built by sorting, O(J log J): the objective's own
// order; with an effort that of the best plan; with strict deadlines the order of FLEX's plan; for
// sums over few jobs the best of several (policy/order_choice), and while no jobs come that of a
// plan that is searched for. Maxima without gangs need no order, because the least value that the
// maximum can have sets each job a deadline, and with it its urgency (epoch/key_rule_level.cpp).
// FAIR and WDEQ share by water-filling. While some job's speed-up is not linear, policy/concave
// decides, by a short search where ends are due. Plan, value and bound of the last decision are
// computed on request. Policies: flex, baseline, concave; kernels: water_filling, demand_bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "malleable/kernel/demand_bound.hpp"
#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/concave.hpp"
#include "malleable/policy/epoch/instance.hpp"
#include "malleable/policy/epoch/key_rule.hpp"
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

  void decide(Scene& at) {
    of.build(at, at.jobs.work);
    const Problem& with_work = of.set_kept_aside(at);
    of.share.assign(at.jobs.rows(), 0.0);
    if (at.jobs.concave()) {
      decide_concave(at, with_work);
    } else if (at.shares != Shares::kByOrder) {
      share_equally(at, with_work);
    } else if (share_by_level(at, with_work)) {
      order.clear();
    } else if (levelled(at) && !(at.options.hysteresis > 0.0)) {
      order.resize(at.jobs.rows());
      flex_.level_shares(with_work, of.penalties, order, of.share);
    } else {
      make_order(at);
      // Water-filling may give slots that no order does.
      if (planned_ && &with_work == &of.problem) {
        of.share.assign(planned_->allocation.begin(), planned_->allocation.end());
      } else {
        malleable::share_in_order(with_work, order, of.share);
      }
    }
    at.grants.give_all([&](std::size_t row) { return of.share[row] + of.kept[row]; });
  }

  // Parts of a decision: they write the order, and shares into of.share. `with_work`: the instance
  // without jobs that have no work (Instance::with_work).
  void make_order(const Scene& at) {
    const EpochOptions& options = at.options;
    const bool strict = at.flex() && of.has_strict(at);
    order.resize(at.jobs.rows());
    if (options.policy == EpochPolicy::kFifo) {
      sorter_.sort(at.jobs.arrival, order);
    } else if (options.policy == EpochPolicy::kHeSrpt) {
      sorter_.sort(of.problem.work, order);
    } else if (options.effort) {
      planned_.emplace();
      flex_.plan(of.problem, of.penalties, options.aggregate, {*options.effort, kInfinity},
                 *planned_);
      order = planned_->order;
    } else if (at.searches() && !at.jobs_come() && !levelled(at)) {
      search(at);
    } else if (strict) {
      planned_.emplace();
      flex_.plan_strict_order(of.problem, of.penalties, options.aggregate, *planned_);
      order = planned_->order;
    } else if (at.tries_orders()) {
      const double spread = at.options.stable ? kTaskSpread : kSpread;
      choice_.run(of.problem, of.penalties, spread, order, at.coming.expected(), at.doubt);
    } else if (levelled(at)) {
      of.share.resize(order.size());
      flex_.level_shares(of.problem, of.penalties, order, of.share);
    } else {
      flex_.own_order(of.problem, of.penalties, options.aggregate, order);
    }
    if (options.hysteresis > 0.0) favour_holders(at, strict);
  }

  void share_equally(const Scene& at, const Problem& with_work) {
    water_filling_.allocate(with_work, at.weights(), of.share);
  }

  void share_concave(const Scene& at, const Problem& with_work) {
    concave_.decide(task(at), with_work, at.options.hysteresis, at.grants.given(), of.share);
  }

  void share_in_order(const Problem& with_work) {
    planned_.reset();
    malleable::share_in_order(with_work, order, of.share);
  }
  const Concave& concave() const { return concave_; }

  // The plan behind the last decision, to which `of` and `order` must belong.
  void recall(const Scene& at) {
    if (!of.built) of.build(at, at.jobs.work);
    if (!at.jobs.concave() && order.size() < at.jobs.rows()) make_order(at);
  }
  void recall(const Scene& at, std::span<const double> key) {  // makes its order
    of.build(at, at.jobs.work);
    order.resize(at.jobs.rows());
    sorter_.sort(key, order);
  }

  // Its slots now are those of the decision.
  Plan plan(const Scene& at, bool detail) {
    Plan plan;
    if (at.slots == 0) {
      plan = plan_nothing(at);
    } else if (planned_) {
      plan = *planned_;
    } else if (at.jobs.concave()) {
      concave_.plan_decided(task(at), detail, plan);
    } else if (at.shares != Shares::kByOrder) {
      baseline_.water_filling(of.problem, of.penalties, at.options.aggregate, at.weights(), plan);
    } else {
      plan_in_order(at, detail, plan);
    }
    plan.allocation.assign(at.grants.given().begin(), at.grants.given().end());
    return plan;
  }

  // `ordered`: the order is part of the state, because it cannot be derived.
  void state(State& s, const Scene& at, bool ordered) {
    s(level_, planned_, known_ids_);
    if (ordered) s(order);
    if (at.jobs.concave()) s(concave_);
    if (s.reading()) {
      of.built = false;
      of.grow(at.jobs.rows());
    }
  }

 private:
  Concave::Task task(const Scene& at) const {
    return {at.options.policy, of.problem,           of.speedup(),
            of.penalties,      at.options.aggregate, at.jobs.arrival,
            at.jobs.weight,    at.coming.expected(), at.options.unknown || !at.options.stable};
  }

  // While no jobs have come since the first decision, searches for a plan. As long as the jobs are
  // the same, the next search begins with its order and is shorter. For lines and up to `full` jobs
  // the plan is that of FLEX; for other penalties and gangs, candidates take ten times as long, and
  // the more jobs there are, the fewer are tried.
  void search(const Scene& at) {
    constexpr std::uint64_t kFullSearch = 160, kFullGangs = 80, kNextSearch = 40;  // jobs
    known_.clear();
    for (const std::int64_t id : known_ids_) {
      if (const Index row = at.jobs.find(id); row != kNone) known_.push_back(row);
    }
    if (known_.size() < order.size()) known_.clear();  // some jobs are new
    const std::uint64_t n = std::max<std::uint64_t>(order.size(), 1);
    const bool lines = at.sums() && of.penalties.linear() && !at.gang();
    const std::uint64_t full = at.gang() ? kFullGangs : kFullSearch;
    std::uint64_t effort = kDefaultEffort;
    if (known_.size() == order.size()) {
      const std::uint64_t many = std::max(n, kNextSearch);
      effort = kDefaultEffort * kNextSearch * kNextSearch / (many * many) / 8;
    } else if (!lines) {
      effort = kDefaultEffort * full / std::max(n, full);
    }
    planned_.emplace();
    flex_.plan(of.problem, of.penalties, at.options.aggregate, {effort, kInfinity, {}, known_},
               *planned_);
    order = planned_->order;
    known_ids_.clear();
    for (const Index row : order) known_ids_.push_back(at.jobs.id[row]);
  }

  // Moves jobs that hold slots forward (hysteresis). `strict`: some deadline is strict; none is
  // given up for a job that holds slots.
  void favour_holders(const Scene& at, bool strict) {
    const std::size_t n = order.size();
    rank_.resize(n);
    for (std::size_t p = 0; p < n; ++p) {
      const Index k = order[p];
      const bool holds = static_cast<double>(at.grants[k]) > of.problem.low[k];
      rank_[k] = static_cast<double>(p + 1) / (holds ? 1.0 + at.options.hysteresis : 1.0);
    }
    sorter_.sort(rank_, order);
    if (strict) {
      Plan held;
      flex_.plan_order(of.problem, of.penalties, at.options.aggregate, order, /*detail=*/true,
                       held);
      if (held.value > planned_->value) {
        order = planned_->order;
        return;
      }
    }
    planned_.reset();
  }

  // The candidates of a search where some speed-up is not linear; nothing: no search. Each takes
  // O(J^2) for J jobs. The rule without a search is good for sums of lines, but not where ends are
  // due: with a search late jobs are 0.4 times as many, tardiness is 0.7 to 0.9 times as large
  // (benchmarks/rivals, section due-powers, where jobs keep coming).
  std::optional<std::uint64_t> curved_search(const Scene& at) const {
    constexpr std::uint64_t kFull = 30, kFullLines = 12;  // jobs
    constexpr std::uint64_t kLines = 20, kComing = 10;    // so many times fewer candidates
    constexpr std::size_t kFewComing = 100;  // jobs; for more a decision would take 10 ms and more
    if (at.options.effort || !at.searches() || !at.jobs.restart.empty()) return at.options.effort;
    const bool lines = at.sums() && of.penalties.linear(), come = at.jobs_come();
    if (come && (lines || at.jobs.rows() > kFewComing)) return std::nullopt;
    const std::uint64_t full = lines ? kFullLines : kFull;
    const std::uint64_t n = std::max<std::uint64_t>(at.jobs.rows(), full);
    const std::uint64_t effort = kDefaultEffort * full * full / (n * n);
    return effort / (lines ? kLines : come ? kComing : 1);
  }

  void decide_concave(const Scene& at, const Problem& with_work) {
    const std::optional<std::uint64_t> effort = curved_search(at);
    if (effort && at.flex() && Concave::compares(at.jobs.rows(), *effort)) {
      planned_.emplace();
      concave_.plan(task(at), {*effort, kInfinity}, *planned_);
      if (&with_work == &of.problem) {
        of.share.assign(planned_->allocation.begin(), planned_->allocation.end());
        return;
      }
      planned_.reset();
    }
    share_concave(at, with_work);
  }

  // For many jobs and a maximum: shares by latest start, without an order; false: it cannot.
  bool share_by_level(const Scene& at, const Problem& with_work) {
    constexpr double kLess = 0.01;  // the level rarely falls by more
    const std::size_t n = at.jobs.rows();
    if (n < kManyLevels || &with_work != &of.problem) return false;
    if (!levelled(at) || at.options.hysteresis > 0.0 || with_work.gang) return false;
    rank_.resize(n);
    const double before = level_ - kLess * std::fabs(level_);
    level_ = flex_.own_level(with_work, of.penalties, before, rank_);
    double free = with_work.slots;
    room_.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
      rank_[r] = minimum_until(with_work.work[r], with_work.low[r], with_work.high[r], rank_[r]);
      of.share[r] = with_work.low[r];
      free -= with_work.low[r];
      room_[r] = with_work.high[r] - with_work.low[r];
    }
    selection_.reset();
    selection_.run(rank_, room_, free, [&](Index r, double slots) { of.share[r] += slots; });
    return true;
  }

  // Whether the order follows from the level: the least value of a maximum that can be reached.
  bool levelled(const Scene& at) const {
    return at.flex() && !at.sums() && !at.gang() && !at.options.effort && !of.has_strict(at);
  }

  void plan_in_order(const Scene& at, bool detail, Plan& plan) {
    if (levelled(at)) {
      const auto given = at.grants.given();
      room_.assign(given.begin(), given.end());
      // Jobs that have no work left, but hold slots, end at once in a plan, and others go on in
      // order.
      const auto& left = of.problem.work;
      if (std::find(left.begin(), left.end(), 0.0) != left.end()) {
        malleable::share_in_order(of.problem, order, room_);
      }
      flex_.plan_level(of.problem, of.penalties, order, room_, detail, plan);
    } else {
      flex_.plan_order(of.problem, of.penalties, at.options.aggregate, order, detail, plan);
    }
  }

  // The plan without slots: jobs with work never end.
  Plan plan_nothing(const Scene& at) const {
    const std::size_t n = at.jobs.rows();
    Plan plan;
    plan.order = order;
    plan.completion.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
      plan.completion[r] = at.jobs.work[r] > 0.0 ? kInfinity : at.now;
      if (at.jobs.work[r] > 0.0) plan.status = Status::kInfeasible;
    }
    plan.start = plan.completion;
    plan.value = plan.lower_bound = evaluate(of.penalties, at.options.aggregate, plan.completion);
    return plan;
  }

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
