// Decisions that the caller holds for a period.
//
// FLEX with sums of response, completion, stretch and lateness goes by prices (kernel
// period_prices); if sizes err much, it shares like FAIR. With maxima, with tardy weight or strict
// deadlines, and with tardiness if all deadlines can be met, it goes by deadlines (kernel
// period_levels), as long as sizes are right. All else is decided as ever, with maxima cut to whole
// slot-periods, orders that look ahead in whole slot-periods, and slots left over for jobs that end
// sooner by them (kernel slot_periods). O(J) beside that. Sums of tardiness, whose order is
// apparent cost, need no instance for it: keys are selected from.
//
// What is left of a job that outlives its estimate is a part of what it has done; where shares are
// equal, what a lognormal error of the spread seen so far (period_history) lets expect.
#include <algorithm>
#include <cmath>

#include "malleable/kernel/log_times.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/kernel/running_sum.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {
namespace {

// Spreads of sizes from which an order by them is worse than equal shares, from which deadlines
// cannot be tested, and below which an estimate is taken as it is.
constexpr double kMuch = 0.75, kSome = 0.4, kLittle = 0.2;

}  // namespace

// What so many slots of a job do together.
double Epoch::rate_of(std::size_t row, double slots) const {
  if (exponent_.empty()) return slots;
  const std::int64_t offset[] = {0, static_cast<std::int64_t>(rates_[row].size())};
  return SpeedupView{{&exponent_[row], 1}, offset, rates_[row]}.at(0, slots);
}

// What every job did since the last decision, if that was held.
void Epoch::count_service(double now) {
  if (!(period_ > 0.0) || !(now > now_)) return;
  const double span = now - now_;
  history_.pass(span);
  for (std::size_t r = 0; r < done_.size(); ++r) {
    if (given_[r] > 0) done_[r] += span * rate_of(r, static_cast<double>(given_[r]));
  }
}

// A job that ends says how far its estimate was off.
void Epoch::note_size(std::size_t row) {
  if (!(period_ > 0.0) || given_[row] == 0) return;
  // Callers may have told what is left before or after what was done since the last decision.
  const double estimate = std::max(size_[row], work_[row] > 0.0 ? done_[row] + work_[row] : 0.0);
  const double more = period_ * rate_of(row, static_cast<double>(given_[row]));
  history_.finish(estimate, done_[row], done_[row] + more);
}

double Epoch::left_of_row(std::size_t row, double spread) const {
  const bool outlived = !(work_[row] > 0.0);
  const double done = outlived ? std::max(done_[row], size_[row]) : done_[row];
  double left = outlived ? still_left(done) : work_[row];
  const double size = outlived ? size_[row] : done + left;
  if (spread > kLittle) left = size > 0.0 ? LogTimes{std::log(size), spread}.left_after(done) : 0.0;
  return std::max(kWorkRange.least, left);
}

// By prices, or by equal shares if sizes err much.
bool Epoch::priced() const {
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kSum) return false;
  if (options_.min_mode == MinMode::kGang || concave()) return false;
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    if (of_kind_[k] > 0 && !kKinds[k].steady) return false;
  }
  return true;
}

bool Epoch::shares_equally() const {
  return shares_ != Shares::kByOrder || (priced() && history_.spread() > kMuch);
}

bool Epoch::overloaded() const {
  return period_ > 0.0 && history_.overloaded(static_cast<double>(slots_));
}

// What a job pays for each second, by the policy.
std::span<const double> Epoch::value_of_seconds() {
  if (shares_ == Shares::kWeighted) return weight_;
  if (!find_policy(options_.policy).promises.follows_objective) return {};
  value_.resize(weight_.size());
  for (std::size_t r = 0; r < value_.size(); ++r) value_[r] = value_of_second(r);
  return value_;
}

double Epoch::value_of_second(std::size_t row) const {
  return info(kind_[row]).per_size && size_[row] > 0.0 ? weight_[row] / size_[row] : weight_[row];
}

// Of the jobs that come within a period; if nothing is known of any, they are like those here.
double Epoch::coming_value() {
  if (!expects_) return 0.0;
  double size = 0.0, worth = 0.0;
  for (std::size_t r = 0; r < size_.size(); ++r) {
    size += size_[r];
    worth += size_[r] * value_of_second(r);
  }
  return history_.coming(period_, id_.size(), size > 0.0 ? worth / size : 0.0);
}

// What is shared, whose minima fit.
HeldJobs Epoch::held_jobs() {
  const std::size_t n = id_.size();
  std::span<const double> low = low_;
  if (minima_ > static_cast<double>(slots_)) {
    rest_.assign(low_.begin(), low_.end());
    scale_minima(rest_, static_cast<double>(slots_));
    low = rest_;
  }
  kept_.resize(n);  // maxima
  for (std::size_t r = 0; r < n; ++r) {
    kept_[r] = static_cast<double>(std::min(max_slots_[r], slots_));
  }
  return {static_cast<double>(slots_), period_, left_, low, kept_, value_of_seconds()};
}

void Epoch::share_by_price() {
  rank_.clear();  // what they hold
  if (options_.hysteresis > 0.0) rank_.assign(given_.begin(), given_.end());
  prices_.run(held_jobs(), coming_value(), options_.hysteresis, rank_, share_);
}

// Sums of tardiness, where not all deadlines can be met.
bool Epoch::goes_by_cost() const {
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kSum) return false;
  if (options_.min_mode == MinMode::kGang || concave()) return false;
  if (options_.effort || options_.hysteresis > 0.0) return false;
  return of_kind_[static_cast<std::size_t>(Kind::kTardiness)] == id_.size();
}

// Some job is late whatever the others do, or sizes do not say.
bool Epoch::somebody_late() const {
  if (history_.spread() > kSome) return true;
  for (std::size_t r = 0; r < id_.size(); ++r) {
    const double most = static_cast<double>(std::min(max_slots_[r], slots_));
    const double due = deadline_[r] - now_;
    if (weight_[r] > 0.0 && !(left_[r] <= most * due * (1.0 + kAmple))) return true;
  }
  return false;
}

// Apparent cost in whole slot-periods, into rank_.
void Epoch::make_cost_keys(const HeldJobs& jobs) {
  const std::size_t n = id_.size();
  rank_.resize(n);
  slot_periods(left_, period_, rank_);
  const double all = period_ * sum_of(rank_) / jobs.slots;
  const double patience = 2.0 * std::max(all / static_cast<double>(n), kTiny);
  for (std::size_t r = 0; r < n; ++r) {
    const double work = period_ * rank_[r], alone = work / jobs.high[r];
    const double slack = deadline_[r] + tolerance(deadline_[r]) - now_ - alone;
    const double wait = slack > 2.0 * tolerance(now_ + alone) ? slack / patience : 0.0;
    rank_[r] = weight_[r] > 0.0 ? rounded_key(std::log(work / weight_[r]) + wait) : kInfinity;
  }
}

void Epoch::share_by_cost() {
  const HeldJobs jobs = held_jobs();
  make_cost_keys(jobs);
  order_.clear();
  double free = jobs.slots;
  wanted_.resize(id_.size());
  slot_periods(left_, period_, wanted_);
  for (std::size_t r = 0; r < id_.size(); ++r) {
    const double low = jobs.low[r];
    wanted_[r] = std::max(0.0, std::min(jobs.high[r], wanted_[r]) - low);
    share_[r] = low;
    free -= low;
  }
  selection_.reset();
  selection_.run(rank_, wanted_, free, [&](Index r, double slots) { share_[r] += slots; });
  selection_.reset();
  left_over_.hand_out(jobs, share_);
}

// The deadlines by which FLEX decides, in levels_; false: it goes by something else.
bool Epoch::find_levels() {
  if (options_.policy != EpochPolicy::kFlex || options_.hysteresis > 0.0) return false;
  if (options_.min_mode == MinMode::kGang || concave() || history_.spread() > kSome) return false;
  const auto all = [&](Kind kind) {
    return of_kind_[static_cast<std::size_t>(kind)] == id_.size();
  };
  if (all(Kind::kStrict)) {  // a miss costs its weight
    levels_.give_up(problem_, penalties_, period_, weight_);
    return true;
  }
  if (penalties_.may_be_infinite()) return false;
  if (options_.aggregate == Aggregate::kMax) return levels_.least(problem_, penalties_, period_);
  if (all(Kind::kTardiness)) return levels_.meet(problem_, penalties_, period_);
  if (!all(Kind::kTardy)) return false;
  levels_.give_up(problem_, penalties_, period_, weight_);
  return true;
}

// By any policy, as if maxima were those of beside_.
void Epoch::share_capped() {
  if (concave()) {
    concave_.decide(concave_task(), beside_, options_.hysteresis, given_, share_);
    return;
  }
  if (shares_equally()) {
    waterline_.allocate(beside_, shared_by(), share_);
    return;
  }
  // An order looks ahead in whole slot-periods.
  for (std::size_t r = 0; r < left_.size(); ++r) {
    problem_.work[r] = period_ * slot_periods(left_[r], period_);
  }
  make_order();
  planned_.reset();
  problem_.work.assign(left_.begin(), left_.end());
  decide_by_order(beside_, order_);
}

void Epoch::share_by_instance() {
  build_instance(left_);
  built_ = true;
  const SpeedupView speedup = concave() ? speedup_columns_.view() : SpeedupView{};
  if (find_levels()) {
    order_.clear();
    levels_.share(
        {problem_.slots, period_, problem_.work, problem_.low, problem_.high, value_of_seconds()},
        share_);
    return;
  }
  if (goes_by_cost()) {
    share_by_cost();
    return;
  }
  beside_ = problem_;
  cap_at_period(beside_, period_, speedup);
  std::fill(share_.begin(), share_.end(), 0.0);
  share_capped();
  left_over_.hand_out(problem_, period_, value_of_seconds(), share_,
                      concave() ? concave_.seen(speedup) : speedup);
}

void Epoch::estimate_left() {
  const double spread = shares_equally() ? history_.spread() : 0.0;
  left_.resize(id_.size());
  for (std::size_t r = 0; r < left_.size(); ++r) left_[r] = left_of_row(r, spread);
}

// The instance of a decision that is held.
void Epoch::build_held() {
  estimate_left();
  build_instance(left_);
  built_ = true;
}

void Epoch::decide_for_period() {
  const std::size_t n = id_.size();
  estimate_left();
  share_.resize(n);
  built_ = false;
  if (priced() && !shares_equally()) {
    order_.clear();
    share_by_price();
  } else if (goes_by_cost() && somebody_late()) {
    share_by_cost();
  } else {
    share_by_instance();
  }
  for (std::size_t r = 0; r < n; ++r) {
    const auto slots = static_cast<std::int64_t>(share_[r]);
    if (slots == given_[r]) continue;
    reset(r);
    given_[r] = slots;
  }
  winners_.clear();
  all_touched_ = true;
}

std::vector<std::int64_t> Epoch::order() {
  struct Wish {
    bool ends;  // before the next decision
    double key;
    std::int64_t id;
  };
  std::vector<Wish> wishes;
  if (!(period_ > 0.0) || slots_ == 0) return {};
  estimate_left();
  const std::size_t n = id_.size();
  std::vector<double> key(n);
  const bool equal = shares_equally();
  if (equal || concave()) {
    const auto weight = shared_by();
    for (std::size_t r = 0; r < n; ++r) {
      key[r] = static_cast<double>(given_[r]) / (weight.empty() ? 1.0 : weight[r]);
    }
  } else if (priced()) {
    const auto value = value_of_seconds();
    for (std::size_t r = 0; r < n; ++r) key[r] = slot_periods(left_[r], period_) / value[r];
  } else if (goes_by_cost() && somebody_late()) {
    make_cost_keys(held_jobs());
    key = rank_;
  } else if (order_.empty()) {
    recall();
    if (find_levels()) {
      key.assign(levels_.key().begin(), levels_.key().end());
    } else if (goes_by_cost()) {
      make_cost_keys(held_jobs());
      key = rank_;
    }
  } else {
    for (std::size_t p = 0; p < n; ++p) key[order_[p]] = static_cast<double>(p);
  }
  for (std::size_t r = 0; r < n; ++r) {
    if (given_[r] >= std::min(max_slots_[r], slots_)) continue;
    const double done = period_ * rate_of(r, static_cast<double>(given_[r]));
    wishes.push_back({done >= left_[r] * (1.0 - kCount), key[r], id_[r]});
  }
  std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) {
    if (a.ends != b.ends) return b.ends;
    return a.key != b.key ? a.key < b.key : a.id < b.id;
  });
  std::vector<std::int64_t> ids;
  for (const Wish& wish : wishes) ids.push_back(wish.id);
  return ids;
}

}  // namespace malleable
