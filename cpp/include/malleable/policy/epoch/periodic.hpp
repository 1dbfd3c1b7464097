// Decisions that the caller holds for a period: a wrapper of all other rules.
//
// FLEX with sums of response, completion, stretch and lateness decides by prices of slot-periods
// (one slot for one period; kernel/period_prices.hpp); if sizes err much, it shares like FAIR. With
// maxima, with tardy weight or strict deadlines (a miss costs infinitely much), and with tardiness
// if all deadlines can be met, it decides by deadlines (kernel/period_levels.hpp), as long as sizes
// are right. In all other cases the rule without a period decides, with maxima cut to whole
// slot-periods, an order that looks ahead in whole slot-periods, and the slots left over for jobs
// that end sooner by them (kernel/slot_periods.hpp). O(J) for J jobs beside that. Sums of tardiness
// go by keys, apparent cost: work over the rate at which the penalty rises, postponed while the
// latest start is ahead.
//
// The work left of a job that outlives its estimate is a part of the work it has done; with equal
// shares, its expectation under a log-normal error with the spread seen so far (period_history).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/period_levels.hpp"
#include "malleable/kernel/period_prices.hpp"
#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/period_history.hpp"

namespace malleable {

class Periodic {
 public:
  // A new row, the last one; rows that leave; a job that ends, which shows the error of its
  // estimate; time that passes until a decision at `now`.
  void come(const Scene& at, std::size_t row);
  void finish(const Scene& at, std::size_t row);
  void pass(const Scene& at, double now);

  void decide(Scene& at, InstanceRule& by);
  // Rebuilds the instance behind the last decision.
  void recall(const Scene& at, InstanceRule& by);
  std::span<const double> left() const { return left_; }
  // Ids of the jobs that could use more slots, in the order in which they should get them.
  std::vector<std::int64_t> order(const Scene& at, InstanceRule& by);
  bool overloaded(const Scene& at) const {
    return at.period > 0.0 && history_.overloaded(at.capacity());
  }

  void state(State& s) { s(history_); }

 private:
  // The expected work left of a job; `spread`: of the logarithms of size over estimate.
  double left_of(const Scene& at, std::size_t row, double spread) const;
  void estimate_left(const Scene& at);
  // Equal shares (sizes err much), prices (sums of kinds whose penalty rises at one rate), apparent
  // cost (sums of tardiness), the deadlines of levels_, shares or an order as without a period.
  enum class Way : std::uint8_t { kByPrice, kByCost, kByLevel, kByShare, kInOrder };
  // How slots are shared; builds the instance if it must.
  Way choose_way(const Scene& at, Instance& of);
  bool shares_equally(const Scene& at) const;
  bool priced(const Scene& at) const;
  bool goes_by_cost(const Scene& at) const;
  // Whether some job is late in any schedule, or sizes are too uncertain to tell.
  bool any_late(const Scene& at) const;
  // The penalty of a second of each job, as the policy sees it.
  std::span<const double> values(const Scene& at);
  // The value of the jobs that come within a period.
  double coming_value(const Scene& at) const;
  // The jobs that share the slots, with minima that fit.
  PeriodicJobs periodic_jobs(const Scene& at);
  // The rules write slots into `share`: by prices, and by apparent cost.
  void share_by_price(const Scene& at, std::vector<double>& share);
  void make_cost_keys(const Scene& at, const PeriodicJobs& jobs);
  void share_by_cost(const Scene& at, std::vector<double>& share);
  // Sets levels_: the deadlines by which FLEX decides; false: it does not decide by deadlines.
  bool find_levels(const Scene& at, const Instance& of);
  // As without a period, but on no more slots than a job can use fully; then hands out the slots
  // that are left over.
  void share_capped(const Scene& at, InstanceRule& by, bool in_order);
  // Sets key_: the order in which jobs get slots that become free.
  void make_turns(const Scene& at, InstanceRule& by);

  PeriodHistory history_;
  PeriodPrices prices_;
  PeriodLevels levels_;
  LeftOverSlots left_over_;
  PrioritySelection selection_;
  // Workspaces: estimated work left; value of an earlier second; slots wanted beyond minima; keys;
  // limits; slots that jobs hold.
  std::vector<double> left_, value_, wanted_, key_, low_, high_, held_;
};

}  // namespace malleable
