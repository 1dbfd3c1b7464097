#include "malleable/policy/epoch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "malleable/kernel/live_waterline.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/fetch.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {
namespace {

void check_held(const EpochOptions& options, double period) {
  check_amount("period", period, kWeightRange);
  if (options.predictable && period > 0.0) {
    throw FieldError("period", period, "ends are told by loops without a period only");
  }
}

}  // namespace

Epoch::Epoch(std::int64_t slots, const EpochOptions& options) : options_(options), slots_(slots) {
  validate_capacity(slots);
  check_amount("hysteresis", options.hysteresis, kWeightRange);
  check_amount("period", options.period, kWeightRange);
  const Policy& policy = find_policy(options.policy);
  if (!policy.promises.follows_objective && (options.hysteresis > 0.0 || options.effort)) {
    throw std::invalid_argument("hysteresis and effort apply to the policy flex only");
  }
  if (options.predictable) check_told();
  look_up();
  // Where shares tie, the oldest is first.
  options_.stable |= shares_ != Shares::kByOrder;
}

void Epoch::check_clock(double now, double period) {
  if (period == 0.0 || now + period > now) return;
  throw FieldError("period", period,
                   "too short: the clock does not move by it at now = " + std::to_string(now));
}

void Epoch::look_up() {
  const Promises& promises = find_policy(options_.policy).promises;
  ignores_minima_ = promises.ignores_minima;
  shares_ = promises.shares;
}

void Epoch::set_slots(std::int64_t slots) {
  validate_capacity(slots);
  if (slots == slots_) return;
  slots_ = slots;
  ++version_;
  for (std::size_t r = 0; r < id_.size(); ++r) refresh(r);
  selection_.reset();
}

// A priority that is a number per job, whatever the others do.
bool Epoch::keyed() const {
  if (options_.min_mode == MinMode::kGang || options_.effort || concave()) return false;
  if (options_.predictable) return false;
  if (options_.policy == EpochPolicy::kFifo) return true;
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kSum) return false;
  return waits_by_key();
}

// Back to the minimum, remembering what the job had.
void Epoch::reset(std::size_t row) {
  if (!marked_[row]) {
    marked_[row] = 1;
    affected_.push_back({static_cast<Index>(row), given_[row]});
  }
  given_[row] = static_cast<std::int64_t>(low_[row]);
}

void Epoch::reset_all(std::span<const std::int64_t> ids) {
  constexpr std::size_t kAhead = 2 * kFetchAhead;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (k + kAhead < ids.size()) fetch_place(ids[k + kAhead]);
    if (k + kFetchAhead < ids.size()) {
      if (const Index row = find(ids[k + kFetchAhead]); row != kNone) fetch_row(row);
    }
    if (const Index row = find(ids[k]); row != kNone) reset(row);
  }
}

// Slots beyond minima go to the jobs in chosen_; what changed since the last decision by key goes
// back to its minimum first.
void Epoch::give_chosen() {
  // Where most rows are to be looked at, in their order.
  if (all_touched_ || 4 * (winners_.size() + touched_.size()) > id_.size()) {
    for (std::size_t r = 0; r < id_.size(); ++r) reset(r);
  } else {
    reset_all(winners_);
    reset_all(touched_);
  }
  winners_.clear();
  for (std::size_t k = 0; k < chosen_.size(); ++k) {
    if (k + kFetchAhead < chosen_.size()) {
      const Index next = chosen_[k + kFetchAhead].row;
      fetch_row(next);
      fetch(&id_[next]);
    }
    const auto [row, slots] = chosen_[k];
    reset(row);
    given_[row] += static_cast<std::int64_t>(slots);
    winners_.push_back(id_[row]);
  }
  all_touched_ = false;
}

// In order of key.
void Epoch::select(std::span<const double> key) {
  chosen_.clear();
  selection_.run(key, room_, static_cast<double>(slots_) - minima_,
                 [&](Index r, double slots) { chosen_.push_back({r, slots}); });
  give_chosen();
}

void Epoch::decide_by_key() {
  if (keys_ == Keys::kApparentCost) make_apparent_costs();
  select(key_);
}

void Epoch::build_instance(std::span<const double> left) {
  const std::size_t n = id_.size();
  sla_columns_.clear();
  if (!steps_.empty()) {
    for (const HeldSteps::Range& row : sla_) sla_columns_.add(steps_.of(row));
  } else {
    sla_columns_.offset.assign(n + 1, 0);
  }
  speedup_columns_.clear();
  for (std::size_t r = 0; r < exponent_.size(); ++r) {
    speedup_columns_.add(exponent_[r], rates_[r]);
  }
  ended_.assign(n, now_);  // whoever has nothing left
  constexpr auto kOwn = static_cast<std::size_t>(Kind::kCustom);
  const std::span<const std::int64_t> names =
      of_kind_[kOwn] > 0 ? std::span<const std::int64_t>(id_) : std::span<const std::int64_t>();
  penalties_.build(planned_jobs(), planned_kinds(), custom_, names);
  if (!names.empty()) penalties_.remember(seen_);
  problem_.build(left, ended_, min_slots_, max_slots_, slots_, now_, options_.min_mode);
  if (ignores_minima_) problem_.drop_minima();
}

// Some penalty is infinite from some time on.
bool Epoch::has_strict() const {
  if (of_kind_[static_cast<std::size_t>(Kind::kStrict)] > 0) return true;
  if (of_kind_[static_cast<std::size_t>(Kind::kCustom)] == 0) return false;
  for (std::size_t r = 0; r < id_.size(); ++r) {
    if (info(kind_[r]).custom && penalties_.last_finite(r) < kInfinity) return true;
  }
  return false;
}

void Epoch::make_order() {
  const std::size_t n = id_.size();
  const bool strict = options_.policy == EpochPolicy::kFlex && has_strict();
  order_.resize(n);
  if (options_.policy == EpochPolicy::kFifo) {
    sorter_.sort(arrival_, order_);
  } else if (options_.policy == EpochPolicy::kHeSrpt) {
    sorter_.sort(problem_.work, order_);
  } else if (options_.effort) {
    planned_.emplace();
    flex_.plan(problem_, penalties_, options_.aggregate, {*options_.effort, kInfinity}, *planned_);
    order_ = planned_->order;
  } else if (strict) {
    planned_.emplace();
    flex_.plan_strict_order(problem_, penalties_, options_.aggregate, *planned_);
    order_ = planned_->order;
  } else if (levelled()) {
    flex_.level_order(problem_, penalties_, order_);
  } else {
    flex_.own_order(problem_, penalties_, options_.aggregate, order_);
  }
  if (options_.hysteresis > 0.0) {
    // Ranks stand in for keys.
    rank_.resize(n);
    for (std::size_t p = 0; p < n; ++p) {
      const Index k = order_[p];
      const bool holds = static_cast<double>(given_[k]) > problem_.low[k];
      rank_[k] = static_cast<double>(p + 1) / (holds ? 1.0 + options_.hysteresis : 1.0);
    }
    sorter_.sort(rank_, order_);
    if (strict) {  // no deadline is given up for a job that holds slots
      Plan held;
      flex_.plan_order(problem_, penalties_, options_.aggregate, order_, true, held);
      if (held.value > planned_->value) {
        order_ = planned_->order;
        return;
      }
    }
    planned_.reset();
  }
}

// The first layer of the packing.
void Epoch::decide_by_order(const Problem& problem, std::span<const Index> order) {
  double free = problem.slots;
  if (!problem.gang) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      share_[k] = problem.low[k];
      free -= problem.low[k];
    }
  }
  for (const Index k : order) {
    if (free <= 0.0) break;
    if (problem.work[k] == 0.0 || (problem.gang && problem.low[k] > free)) continue;
    const double base = problem.gang ? 0.0 : problem.low[k];
    const double more = std::min(problem.high[k] - base, free);
    share_[k] = base + more;
    free -= more;
  }
}

// The instance of those who have work, beside what the others keep. Plans do not see that: it ends
// now.
const Problem& Epoch::set_kept_aside() {
  const std::size_t n = id_.size();
  kept_.assign(n, 0.0);
  if (std::find(work_.begin(), work_.end(), 0.0) == work_.end()) return problem_;
  rest_.resize(n);
  most_.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    rest_[r] = work_[r] > 0.0 ? work_[r] : 1.0;
    most_[r] = work_[r] > 0.0 ? max_slots_[r] : kept_by(r);
  }
  beside_.build(rest_, ended_, min_slots_, most_, slots_, now_, options_.min_mode);
  if (ignores_minima_) beside_.drop_minima();
  double free = beside_.slots;
  if (!beside_.gang) {
    for (const double low : beside_.low) free -= low;
  }
  for (std::size_t r = 0; r < n; ++r) {
    if (work_[r] > 0.0) continue;
    const double least = beside_.gang ? std::max(1.0, beside_.low[r]) : 0.0;
    const double base = beside_.gang ? 0.0 : beside_.low[r];
    const double more = least > free ? 0.0 : std::min(beside_.high[r] - base, free);
    kept_[r] = base + more;
    free -= more;
    beside_.slots -= kept_[r];
    beside_.work[r] = beside_.low[r] = 0.0;
  }
  for (double& high : beside_.high) high = std::min(high, beside_.slots);
  return beside_;
}

// Without slots.
void Epoch::decide_nothing() {
  for (std::size_t r = 0; r < id_.size(); ++r) {
    reset(r);
    given_[r] = 0;
  }
  winners_.clear();
  order_.resize(id_.size());
  std::iota(order_.begin(), order_.end(), Index{0});
  built_ = false;
  all_touched_ = true;
}

Concave::Task Epoch::concave_task() const {
  return {options_.policy, problem_, speedup_columns_.view(), penalties_, options_.aggregate,
          arrival_,        weight_,  coming_.expected()};
}

void Epoch::decide_concave(const Problem& beside) {
  if (options_.effort && options_.policy == EpochPolicy::kFlex &&
      Concave::compares(id_.size(), *options_.effort)) {
    planned_.emplace();
    concave_.plan(concave_task(), {*options_.effort, kInfinity}, *planned_);
    if (&beside == &problem_) {
      share_.assign(planned_->allocation.begin(), planned_->allocation.end());
      return;
    }
    planned_.reset();
  }
  concave_.decide(concave_task(), beside, options_.hysteresis, given_, share_);
}

// Equal shares while everybody has work and minima fit: an integer waterline from the last level.
// O(J), without an instance.
bool Epoch::decide_fair() {
  if (shares_ != Shares::kEqual || concave() || options_.min_mode == MinMode::kGang) return false;
  if (std::find(work_.begin(), work_.end(), 0.0) != work_.end()) return false;
  const WholeLevel found = whole_level(low_, room_, static_cast<double>(slots_), level_);
  if (!found.fits) return false;
  level_ = found.level;
  double left = found.left;
  for (std::size_t r = 0; r < id_.size(); ++r) {
    const double low = low_[r], high = low + room_[r];
    double own = std::max(low, found.level);
    if (own >= high) {
      own = high;
    } else if (left > 0.0 && found.level >= low) {
      own += 1.0;
      left -= 1.0;
    }
    const auto slots = static_cast<std::int64_t>(own);
    if (slots == given_[r]) continue;
    reset(r);
    given_[r] = slots;
  }
  built_ = false;
  winners_.clear();
  all_touched_ = true;
  return true;
}

// Any policy, by way of an instance of all jobs.
void Epoch::decide_by_instance() {
  if (options_.predictable) return decide_told();
  if (decide_by_level()) return;
  build_instance(work_);
  built_ = true;
  const Problem& problem = set_kept_aside();
  share_.assign(id_.size(), 0.0);
  if (concave()) {
    decide_concave(problem);
  } else if (shares_ != Shares::kByOrder) {
    waterline_.allocate(problem, shared_by(), share_);
  } else if (!share_by_level(problem)) {
    make_order();
    if (planned_ && &problem == &problem_) {  // water-filling may give what no order does
      share_.assign(planned_->allocation.begin(), planned_->allocation.end());
    } else {
      decide_by_order(problem, order_);
    }
  }
  for (std::size_t r = 0; r < id_.size(); ++r) {
    reset(r);
    given_[r] = static_cast<std::int64_t>(share_[r] + kept_[r]);
  }
  winners_.clear();
  all_touched_ = true;
}

void Epoch::check_now(double now) const {
  check_time("now", now);
  if (now < now_) {
    throw FieldError("now", now, "before " + std::to_string(now_) + ", times never fall");
  }
  for (std::size_t r = 0; latest_arrival_ > now && r < id_.size(); ++r) {
    if (arrival_[r] <= now) continue;
    throw std::invalid_argument("arrival of job " + std::to_string(id_[r]) + " = " +
                                std::to_string(arrival_[r]) +
                                ": after now = " + std::to_string(now));
  }
}

void Epoch::decide(double now, std::optional<std::int64_t> slots, std::optional<double> period) {
  if (slots) validate_capacity(*slots);
  if (period) check_held(options_, *period);
  check_now(now);
  const double held = period.value_or(options_.period);
  check_clock(now, held);
  if (slots) set_slots(*slots);
  if (version_ == decided_ && now == now_ && held == period_) {
    std::fill(changed_.begin(), changed_.end(), 0);
    return;
  }
  decide_at(now, held);
}

void Epoch::decide_at(double now, double held) {
  count_service(now);
  learn_programs(now);
  coming_.decide(now, next_id_);
  decided_ = ++version_;
  now_ = now;
  period_ = held;
  planned_.reset();
  // Who held what since the last decision; not before, so that its plan follows its own keys.
  for (const std::int64_t id : held_anew_) {
    if (const Index row = find(id); row != kNone) refresh(row);
  }
  held_anew_.clear();
  if (minima_stale_) {  // sums this large lose their last digits
    minima_ = 0.0;
    for (const double low : low_) minima_ += low;
    minima_stale_ = minima_ > 4e15;
  }
  std::fill(changed_.begin(), changed_.end(), 0);
  affected_.clear();
  look_up_keys();
  by_key_ = slots_ > 0 && period_ == 0.0 && keyed() && minima_ <= static_cast<double>(slots_);
  if (slots_ == 0) {
    decide_nothing();
  } else if (period_ > 0.0) {
    decide_for_period();
  } else if (by_key_) {
    decide_by_key();
  } else if (!decide_fair()) {
    decide_by_instance();
  }
  touched_.clear();
  for (std::size_t k = 0; k < affected_.size(); ++k) {
    const Index next = affected_[std::min(k + kFetchAhead, affected_.size() - 1)].row;
    fetch(&given_[next]);
    fetch(&changed_[next]);
    const auto [row, before] = affected_[k];
    changed_[row] = given_[row] != before;
    marked_[row] = 0;
    if (options_.hysteresis > 0.0 && changed_[row]) held_anew_.push_back(id_[row]);
  }
  note_programs();
}

// The weights of a waterline; empty: equal ones.
std::span<const double> Epoch::shared_by() const {
  return shares_ == Shares::kWeighted ? std::span<const double>(weight_)
                                      : std::span<const double>();
}

void Epoch::recall() {
  if (held()) {
    if (!built_) build_held();
    return;
  }
  if (!by_key_) {
    if (!built_) build_instance(work_);
    built_ = true;
    if (!concave() && order_.size() < id_.size()) make_order();
    return;
  }
  build_instance(work_);
  order_.resize(id_.size());
  sorter_.sort(key_, order_);
}

// Who has work never ends, whatever the schedule.
void Epoch::plan_nothing(Plan& plan) {
  const std::size_t n = id_.size();
  plan.order = order_;
  plan.completion.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    plan.completion[r] = work_[r] > 0.0 ? kInfinity : now_;
    if (work_[r] > 0.0) plan.status = Status::kInfeasible;
  }
  plan.start = plan.completion;
  plan.value = plan.lower_bound = evaluate(penalties_, options_.aggregate, plan.completion);
}

// Its order follows from the optimal level of a maximum.
bool Epoch::levelled() const {
  return options_.policy == EpochPolicy::kFlex && options_.aggregate == Aggregate::kMax &&
         options_.min_mode != MinMode::kGang && !options_.effort && !has_strict();
}

void Epoch::plan_in_order(bool detail, Plan& plan) {
  if (levelled()) {
    flex_.plan_level(problem_, penalties_, order_, detail, plan);
  } else {
    flex_.plan_order(problem_, penalties_, options_.aggregate, order_, detail, plan);
  }
}

// Its slots now are those of the decision.
Plan Epoch::plan() {
  Plan plan;
  if (looped()) {
    throw std::invalid_argument(
        held() ? "period = " + std::to_string(period_) +
                     ": what follows a decision that is held depends on its loop"
               : "predictable: what follows a decision that tells ends depends on its loop");
  }
  recall();
  if (slots_ == 0) {
    plan_nothing(plan);
  } else if (planned_) {
    plan = *planned_;
  } else if (concave()) {
    concave_.plan_decided(concave_task(), true, plan);
  } else if (shares_ != Shares::kByOrder) {
    baseline_.waterline(problem_, penalties_, options_.aggregate, shared_by(), plan);
  } else {
    plan_in_order(true, plan);
  }
  plan.allocation.assign(given_.begin(), given_.end());
  return plan;
}

void Epoch::state(State& s) {
  s(options_, slots_, now_, period_, latest_arrival_, version_, decided_, next_id_, id_, arrival_,
    work_, size_);
  s(done_, history_, coming_);
  s(min_slots_, max_slots_, weight_, deadline_, sla_, steps_);
  s(kind_, of_kind_, exponent_, rates_, curved_);
  s(program_, work_then_, programs_);
  s(low_, room_, key_, minima_, minima_stale_, given_, winners_, touched_, held_anew_);
  s(keys_, lead_, start_, level_, line_level_);
  s(all_touched_, by_key_, selection_, planned_);
  if (!by_key_) s(order_);  // else the keys say it
  if (concave()) s(concave_);
  if (options_.predictable) s(told_ends_);
  if (!s.reading()) return;
  look_up();
  seen_.assign(id_.size(), {});
  for (auto* column : {&changed_, &marked_}) column->assign(id_.size(), 0);
  built_ = false;
  find_rows();
}

Epoch::Assessment Epoch::assess() {
  if (planned_ || shares_ != Shares::kByOrder || slots_ == 0 || looped()) {
    const Plan whole = plan();
    return {whole.value, whole.lower_bound};
  }
  recall();
  sketch_.start.clear();  // of an assessment before, maybe of other jobs
  sketch_.pieces.clear();
  if (concave()) {
    concave_.plan_decided(concave_task(), false, sketch_);
    return {sketch_.value, sketch_.lower_bound};
  }
  plan_in_order(false, sketch_);
  return {sketch_.value, sketch_.lower_bound};
}

}  // namespace malleable
