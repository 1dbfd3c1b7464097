// Decisions that the caller holds for a period: a wrapper of all other rules.
//
// FLEX with sums of response, completion, stretch and lateness decides by prices of slot-periods
// (one slot for one period; kernel/period_prices.hpp); if sizes err much, it shares like FAIR. With
// maxima, with tardy weight or strict deadlines (a miss costs infinitely much), and with tardiness
// if all deadlines can be met, it decides by deadlines (kernel/period_levels.hpp), as long as sizes
// are right. In all other cases the rule without a period decides, with maxima cut to whole
// slot-periods, an order that looks ahead in whole slot-periods, and the slots left over for jobs
// that end sooner by them (kernel/slot_periods.hpp). O(J) for J jobs beside that. Sums of tardiness
// of many jobs, or if sizes err, go by keys, apparent cost: work over the rate at which the penalty
// rises, postponed while the latest start is ahead.
//
// The work left of a job that outlives its estimate is a part of the work it has done; with equal
// shares, its expectation under a log-normal error with the spread seen so far (period_history).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "malleable/kernel/log_times.hpp"
#include "malleable/kernel/period_levels.hpp"
#include "malleable/kernel/period_prices.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/kernel/running_sum.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/period_history.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {

class Periodic {
 public:
  // A new row, the last one.
  void come(const Scene& at, std::size_t row) {
    const JobTable& jobs = at.jobs;
    if (!(at.period > 0.0)) return;
    history_.arrive(at.period * slot_periods(jobs.work[row], at.period), jobs.size[row],
                    jobs.value_of_second(row));
  }

  // A job ends, which shows the error of its estimate.
  void finish(const Scene& at, std::size_t row) {
    const bool asks = at.period > 0.0 || (at.tries_orders() && !at.options.stable);
    if (!asks || at.grants[row] == 0) return;
    const JobTable& jobs = at.jobs;
    // Callers may have updated the work left before or after the work since the last decision.
    const double done = at.done(row);
    const double estimate =
        std::max(jobs.size[row], jobs.ran_out(row) ? 0.0 : done + jobs.work[row]);
    ended_.push_back({estimate, done, jobs.rate(row, static_cast<double>(at.grants[row]))});
  }

  // Time passes until a decision at `now`, during which jobs may have come and ended.
  void pass(Scene& at, double now) {
    if (at.period > 0.0 && now > at.now) history_.pass(now - at.now);
    for (const Ended& job : ended_) {
      history_.finish(job.estimate, job.done, job.done + job.rate * (now - at.now));
    }
    ended_.clear();
    at.doubt = at.options.stable ? 0.0 : history_.likeliest_spread();
  }

  void decide(Scene& at, InstanceRule& by) {
    estimate_left(at);
    std::vector<double>& share = by.of.share;
    share.resize(at.jobs.rows());
    by.order.clear();
    const Way way = choose_way(at, by.of);
    const Problem& problem = by.of.problem;
    if (way == Way::kByPrice) {
      share_by_price(at, share);
    } else if (way == Way::kByCost) {
      share_by_cost(at, share);
    } else if (way == Way::kByLevel) {
      levels_.share({problem.slots, at.period, problem.work, problem.low, problem.high, values(at)},
                    share);
    } else {
      share_capped(at, by, way == Way::kInOrder);
    }
    at.grants.give_all([&](std::size_t row) { return share[row]; });
  }

  // Rebuilds the instance behind the last decision.
  void recall(const Scene& at, InstanceRule& by) {
    if (by.of.built) return;
    estimate_left(at);
    by.of.build(at, left_);
  }

  // Ids of the jobs that could use more slots, in the order in which they should get them.
  std::vector<std::int64_t> order(const Scene& at, InstanceRule& by) {
    // Whether the job ends before the next decision; key; id.
    std::vector<std::tuple<bool, double, std::int64_t>> wishes;
    const JobTable& jobs = at.jobs;
    estimate_left(at);
    const std::size_t n = jobs.rows();
    key_.assign(n, 0.0);
    const Way way = choose_way(at, by.of);
    if (way == Way::kByShare) {
      const auto weight = at.weights();
      for (std::size_t r = 0; r < n; ++r) {
        key_[r] = static_cast<double>(at.grants[r]) / (weight.empty() ? 1.0 : weight[r]);
      }
    } else if (way == Way::kByPrice) {
      const auto value = values(at);
      for (std::size_t r = 0; r < n; ++r) key_[r] = slot_periods(left_[r], at.period) / value[r];
    } else if (way == Way::kByCost) {
      make_cost_keys(at, periodic_jobs(at));
    } else if (way == Way::kByLevel) {
      key_.assign(levels_.key().begin(), levels_.key().end());
    } else {
      for (std::size_t p = 0; p < by.order.size(); ++p) key_[by.order[p]] = static_cast<double>(p);
    }
    for (std::size_t r = 0; r < jobs.rows(); ++r) {
      if (at.waits(r) || at.grants[r] >= std::min(jobs.max_slots[r], at.slots)) continue;
      const double done = at.period * jobs.rate(r, static_cast<double>(at.grants[r]));
      wishes.emplace_back(done >= left_[r] * (1.0 - kCount), key_[r], jobs.id[r]);
    }
    std::sort(wishes.begin(), wishes.end());
    std::vector<std::int64_t> ids;
    for (const auto& wish : wishes) ids.push_back(std::get<std::int64_t>(wish));
    return ids;
  }

  std::span<const double> left() const { return left_; }
  bool overloaded(const Scene& at) const {
    return at.period > 0.0 && history_.overloaded(at.capacity());
  }
  void state(State& s) { s(history_, ended_); }

 private:
  // A job that ended after the last decision: its estimate, the work done by then, its rate.
  struct Ended {
    double estimate, done, rate;
    void state(State& s) { s(estimate, done, rate); }
  };

  // Spreads of sizes (the deviation of the logarithm of work over estimate): from kMuch an order by
  // sizes is worse than equal shares, from kSome deadlines cannot be tested, and below kLittle
  // estimates count as exact.
  static constexpr double kMuch = 0.75, kSome = 0.4, kLittle = 0.2;

  // Equal shares (sizes err much), prices (sums of kinds whose penalty rises at one rate), apparent
  // cost (sums of tardiness), the deadlines of levels_, shares or an order as without a period.
  enum class Way : std::uint8_t { kByPrice, kByCost, kByLevel, kByShare, kInOrder };

  void estimate_left(const Scene& at) {
    const JobTable& jobs = at.jobs;
    const double spread = shares_equally(at) ? history_.spread() : 0.0;
    left_.assign(jobs.rows(), 0.0);
    for (std::size_t r = 0; r < left_.size(); ++r) {
      if (at.waits(r)) continue;
      const bool out = jobs.ran_out(r);
      const double done = std::max(at.done(r), out ? jobs.size[r] : 0.0);
      double left = jobs.work[r] > 0.0 ? jobs.work[r] : still_left(done);
      const double size = out ? jobs.size[r] : done + left;
      if (spread > kLittle) {
        left = size > 0.0 ? LogTimes{std::log(size), spread}.left_after(done) : 0.0;
      }
      left_[r] = std::max(kWorkRange.least, left);
    }
  }

  // Whether FLEX decides about jobs that may have any number of slots, at a linear speed-up.
  bool plain(const Scene& at) const { return at.flex() && !at.gang() && !at.jobs.concave(); }

  // By prices, or by equal shares if sizes err much.
  bool priced(const Scene& at) const { return plain(at) && at.sums() && at.jobs.all_steady(); }

  bool shares_equally(const Scene& at) const {
    return at.shares != Shares::kByOrder || (priced(at) && history_.spread() > kMuch);
  }

  // The penalty of a second of each job, as the policy sees it.
  std::span<const double> values(const Scene& at) {
    if (at.shares == Shares::kWeighted) return at.jobs.weight;
    if (!find_policy(at.options.policy).promises.follows_objective) return {};
    value_.resize(at.jobs.rows());
    for (std::size_t r = 0; r < value_.size(); ++r) value_[r] = at.jobs.value_of_second(r);
    return value_;
  }

  // The value of the jobs that come within a period; if nothing is known, they count like the
  // present jobs.
  double coming_value(const Scene& at) const {
    if (at.alone) return 0.0;
    const JobTable& jobs = at.jobs;
    double size = 0.0, worth = 0.0;
    for (std::size_t r = 0; r < jobs.rows(); ++r) {
      size += jobs.size[r];
      worth += jobs.size[r] * jobs.value_of_second(r);
    }
    return history_.coming(at.period, jobs.rows(), size > 0.0 ? worth / size : 0.0);
  }

  // The jobs that share the slots; their minima fit.
  PeriodicJobs periodic_jobs(const Scene& at) {
    const JobTable& jobs = at.jobs;
    std::span<const double> low = jobs.low;
    if (jobs.minima > at.capacity()) {
      low_.assign(jobs.low.begin(), jobs.low.end());
      scale_minima(low_, at.capacity());
      low = low_;
    }
    high_.resize(jobs.rows());
    for (std::size_t r = 0; r < high_.size(); ++r) {
      high_[r] = static_cast<double>(at.waits(r) ? 0 : std::min(jobs.max_slots[r], at.slots));
    }
    return {at.capacity(), at.period, left_, low, high_, values(at)};
  }

  void share_by_price(const Scene& at, std::vector<double>& share) {
    prices_.run(periodic_jobs(at), coming_value(at), at.options.hysteresis, at.grants.given(),
                share);
  }

  // Sums of tardiness if not all deadlines can be met, for many jobs or uncertain sizes.
  bool goes_by_cost(const Scene& at) const {
    return plain(at) && at.sums() && !at.options.effort && !(at.options.hysteresis > 0.0) &&
           at.jobs.all(Kind::kTardiness) && !(at.tries_orders() && history_.spread() <= kSome);
  }

  // Whether some job is late in any schedule, or sizes are too uncertain to tell.
  bool any_late(const Scene& at) const {
    if (history_.spread() > kSome) return true;
    const JobTable& jobs = at.jobs;
    for (std::size_t r = 0; r < jobs.rows(); ++r) {
      const double most = static_cast<double>(std::min(jobs.max_slots[r], at.slots));
      const double due = jobs.deadline[r] - at.now;
      if (jobs.weight[r] > 0.0 && !(left_[r] <= most * due * (1.0 + kAmple))) return true;
    }
    return false;
  }

  // Fills key_ with apparent cost in whole slot-periods.
  void make_cost_keys(const Scene& at, const PeriodicJobs& held) {
    const JobTable& jobs = at.jobs;
    const std::size_t n = jobs.rows();
    key_.resize(n);
    slot_periods(left_, at.period, key_);
    const double all = at.period * sum_of(key_) / held.slots;
    const double patience = 2.0 * std::max(all / static_cast<double>(n), kTiny);
    for (std::size_t r = 0; r < n; ++r) {
      const double work = at.period * key_[r], alone = work / held.high[r];
      const double slack = jobs.deadline[r] + tolerance(jobs.deadline[r]) - at.now - alone;
      const double wait = slack > 2.0 * tolerance(at.now + alone) ? slack / patience : 0.0;
      key_[r] = jobs.weight[r] * work > 0.0 ? rounded_key(std::log(work / jobs.weight[r]) + wait)
                                            : kInfinity;
    }
  }

  void share_by_cost(const Scene& at, std::vector<double>& share) {
    const PeriodicJobs held = periodic_jobs(at);
    make_cost_keys(at, held);
    levels_.share_in_order(held, key_, share);
  }

  // Finds the deadlines by which FLEX decides, in levels_; false: it does not decide by deadlines.
  bool find_levels(const Scene& at, const Instance& of) {
    if (!plain(at) || at.options.hysteresis > 0.0 || history_.spread() > kSome) return false;
    const bool strict = at.jobs.all(Kind::kStrict);  // a miss costs its weight
    if (!strict && of.penalties.may_be_infinite()) return false;
    if (strict || (at.sums() && at.jobs.all(Kind::kTardy))) {
      levels_.give_up(of.problem, of.penalties, at.period, at.jobs.weight);
      return true;
    }
    if (!at.sums()) return levels_.least(of.problem, of.penalties, at.period);
    return at.jobs.all(Kind::kTardiness) && levels_.meet_all(of.problem, of.penalties, at.period);
  }

  Way choose_way(const Scene& at, Instance& of) {
    const bool equal = shares_equally(at), cost = goes_by_cost(at);
    if (priced(at) && !equal) return Way::kByPrice;
    if (cost && any_late(at)) return Way::kByCost;
    if (!of.built) of.build(at, left_);
    if (find_levels(at, of)) return Way::kByLevel;
    if (cost) return Way::kByCost;
    return equal || at.jobs.concave() ? Way::kByShare : Way::kInOrder;
  }

  // As without a period, with maxima cut to whole slot-periods.
  void share_capped(const Scene& at, InstanceRule& by, bool in_order) {
    Instance& of = by.of;
    const bool concave = at.jobs.concave();
    const SpeedupView speedup = concave ? of.speedup() : SpeedupView{};
    of.with_work = of.problem;
    cap_at_period(of.with_work, at.period, speedup);
    std::fill(of.share.begin(), of.share.end(), 0.0);
    if (concave) {
      by.share_concave(at, of.with_work);
    } else if (!in_order) {
      by.share_equally(at, of.with_work);
    } else {
      // An order looks ahead in whole slot-periods.
      for (std::size_t r = 0; r < left_.size(); ++r) {
        of.problem.work[r] = at.period * slot_periods(left_[r], at.period);
      }
      by.make_order(at);
      of.problem.work.assign(left_.begin(), left_.end());
      if (at.flex()) {
        reach_jumps(of.problem, of.penalties, at.period, by.order, of.with_work.high);
      }
      by.share_in_order(of.with_work);
    }
    left_over_.hand_out(of.problem, at.period, values(at), of.share,
                        concave ? by.concave().seen(speedup) : speedup);
  }

  PeriodHistory history_;
  std::vector<Ended> ended_;
  PeriodPrices prices_;
  PeriodLevels levels_;
  LeftOverSlots left_over_;
  // Workspaces: estimated work left; value of an earlier second; keys; limits.
  std::vector<double> left_, value_, key_, low_, high_;
};

}  // namespace malleable
