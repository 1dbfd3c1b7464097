#include "malleable/kernel/shared_packing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// All jobs run at once, by shares, by the order, or by gains; rows are places in the columns of the
// jobs that are left. `power` is the exponent of shares by order (infinite: the first job takes all
// that it can use). A gang runs on at least its minimum, or not at all.
namespace {

// Shares keep their proportions while the leading jobs end. They are computed again from the
// remaining jobs once their sum is this small, before digits are lost.
constexpr double kLittleLeft = 1e-3;

template <typename T>
void keep_rows(std::vector<T>& column, std::span<const Index> rows) {
  if (column.empty()) return;
  for (std::size_t k = 0; k < rows.size(); ++k) column[k] = column[rows[k]];
  column.resize(rows.size());
}

}  // namespace

void share_in_order(const Problem& problem, std::span<const Index> order, std::span<double> slots) {
  double free = problem.slots;
  std::fill(slots.begin(), slots.end(), 0.0);
  if (!problem.gang) {
    for (std::size_t k = 0; k < problem.size(); ++k) {
      slots[k] = problem.work[k] > 0.0 ? problem.low[k] : 0.0;
      free -= slots[k];
    }
  }
  for (const Index k : order) {
    if (free <= 0.0) break;
    const double least = problem.gang ? std::max(1.0, problem.low[k]) : 0.0;
    if (problem.work[k] == 0.0 || least > free) continue;
    const double more = std::min(problem.high[k] - slots[k], free);
    slots[k] += more;
    free -= more;
  }
}

void SharedPacking::load(const Problem& problem, const Rule& rule) {
  const std::size_t n = problem.size();
  left_ = problem;
  row_.resize(n);
  std::iota(row_.begin(), row_.end(), Index{0});
  order_.assign(rule.order.begin(), rule.order.end());
  factor_.assign(rule.share.begin(), rule.share.end());
  weight_.assign(rule.weight.begin(), rule.weight.end());
  value_.assign(rule.value.begin(), rule.value.end());
  gains_ = rule.gains;
  power_ = rule.power;
  ended_ = 0;
  share_.clear();
  if (order_.empty()) {
    share_ = factor_;
  } else if (power_ < kInfinity) {
    share_by_order();
  }
}

// Shares by order, from the last job on: (weight of the job and those behind it / all)^power, less
// the same of those behind it alone (heSRPT's shares). O(J) powers for J jobs.
void SharedPacking::share_by_order() {
  share_.assign(left_.size(), 0.0);
  const auto weight_of = [&](Index k) { return weight_.empty() ? 1.0 : weight_[k]; };
  double all = 0.0, behind = 0.0, before = 0.0;
  for (const Index k : order_) {
    if (left_.work[k] > 0.0) all += weight_of(k);
  }
  leading_ = 0.0;
  if (!(all > 0.0)) return;  // all weights are 0: equal shares
  for (std::size_t place = order_.size(); place-- > 0;) {
    const Index k = order_[place];
    if (!(left_.work[k] > 0.0)) continue;
    behind += weight_of(k);
    const double height = std::pow(std::min(1.0, behind / all), power_);
    share_[k] = (height - before) * (factor_.empty() ? 1.0 : factor_[k]);
    before = height;
    leading_ += share_[k];
  }
}

// Slots of left_. With values, each slot goes where value times the speed-up that it adds is
// largest. Without, slots go by shares; then settle() takes away what a job has beyond a corner of
// its hull (the least concave speed-ups above the measured ones), where it may add nothing, and
// gives it to jobs that gain by it.
void SharedPacking::split(std::span<double> slots) {
  if (!value_.empty()) {
    gains_->allocate(left_, row_, value_, slots);
    return;
  }
  split_by_shares(slots);
  if (gains_ == nullptr) return;
  gains_->settle(left_, row_, share_, slots);
  // All jobs may have lost their shares at corners of their hulls: then they keep what they had.
  if (std::ranges::all_of(slots, [](double s) { return s == 0.0; })) split_by_shares(slots);
}

void SharedPacking::split_by_shares(std::span<double> slots) {
  if (order_.empty() || power_ < kInfinity) {
    water_filling_.allocate(left_, share_, slots);
    return;
  }
  share_in_order(left_, order_, slots);
}

// Removes ended jobs from the columns, so that a round costs only the remaining jobs.
void SharedPacking::compact() {
  place_.clear();
  std::vector<Index> moved(left_.size(), kNone);
  for (std::size_t k = 0; k < left_.size(); ++k) {
    if (!(left_.work[k] > 0.0)) continue;
    moved[k] = static_cast<Index>(place_.size());
    place_.push_back(static_cast<Index>(k));
  }
  for (auto* column : {&left_.work, &left_.low, &left_.high, &left_.idle_end, &factor_, &weight_,
                       &value_, &share_, &slots_, &rate_}) {
    keep_rows(*column, place_);
  }
  keep_rows(row_, place_);
  std::erase_if(order_, [&](Index k) { return moved[k] == kNone; });
  for (Index& k : order_) k = moved[k];
  ended_ = 0;
}

void SharedPacking::allocate(const Problem& problem, const Rule& rule, std::span<double> slots) {
  load(problem, rule);
  split(slots);
}

// The job holds `slots` from `time` on.
void SharedPacking::set_slots(const Run& run, Index job, double time, double slots) {
  if (run.plan == nullptr || slots == held_[job]) return;
  const double from = run.problem.now + since_[job], to = run.problem.now + time;
  if (held_[job] > 0.0 && to > from) run.plan->pieces.add(job, from, to, held_[job]);
  if (held_[job] == 0.0) run.plan->start[job] = to;
  if (time == 0.0) run.plan->allocation[job] = static_cast<std::int64_t>(slots);
  since_[job] = time;
  held_[job] = slots;
}

// Sets slots and rates of the remaining jobs. Returns the time until the first of them ends;
// infinite if none ever does.
double SharedPacking::share_out(const Run& run, double time) {
  const std::size_t m = left_.size();
  if (power_ < kInfinity && !order_.empty()) {
    double whole = 0.0;
    for (std::size_t k = 0; k < m; ++k) whole += left_.work[k] > 0.0 ? share_[k] : 0.0;
    if (whole < kLittleLeft * leading_) share_by_order();
  }
  next_.resize(m);
  split(next_);
  double soonest = kInfinity;
  for (std::size_t k = 0; k < m; ++k) {
    if (!(left_.work[k] > 0.0)) continue;
    if (next_[k] != slots_[k]) {
      slots_[k] = next_[k];
      rate_[k] = run.speedup.at(row_[k], next_[k]);
      set_slots(run, row_[k], time, next_[k]);
    }
    if (rate_[k] > 0.0) soonest = std::min(soonest, left_.work[k] / rate_[k]);
  }
  return soonest;
}

// Lets `span` pass, until `time`.
void SharedPacking::work_off(const Run& run, double span, double time) {
  // Work for less than one or two of the smallest steps of the time does not count.
  const double unseen =
      std::numeric_limits<double>::epsilon() * (std::fabs(run.problem.now) + time);
  for (std::size_t k = 0; k < left_.size(); ++k) {
    if (!(left_.work[k] > 0.0) || !(rate_[k] > 0.0)) continue;
    const double rest = left_.work[k] - rate_[k] * span;
    // Jobs that end within rounding end together.
    if (rest > std::max(kRounding * run.problem.work[row_[k]], unseen * rate_[k])) {
      left_.work[k] = rest;
      continue;
    }
    left_.work[k] = left_.low[k] = 0.0;
    slots_[k] = rate_[k] = 0.0;
    run.completion[row_[k]] = time;
    set_slots(run, row_[k], time, 0.0);
    ++ended_;
  }
}

void SharedPacking::run(const Problem& problem, const SpeedupView& speedup, const Rule& rule,
                        std::span<double> completion, Plan* plan) {
  const std::size_t n = problem.size();
  const Run run{problem, speedup, completion, plan};
  load(problem, rule);
  for (std::size_t j = 0; j < n; ++j) completion[j] = problem.work[j] > 0.0 ? kInfinity : 0.0;
  if (plan != nullptr) {
    plan->start.assign(n, problem.now);
    plan->allocation.assign(n, 0);
    plan->pieces.clear();
    since_.assign(n, 0.0);
    held_.assign(n, 0.0);
  }
  slots_.assign(n, 0.0);
  rate_.assign(n, 0.0);
  double time = 0.0;
  for (std::size_t round = 0; round < n; ++round) {  // a job ends in each round
    if (2 * ended_ > left_.size()) compact();
    const double span = share_out(run, time);
    if (span == kInfinity) break;  // only gangs that never fit are left, or no job
    time += span;
    work_off(run, span, time);
  }
}

}  // namespace malleable
