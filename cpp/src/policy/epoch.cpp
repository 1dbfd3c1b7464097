#include "malleable/policy/epoch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {

Epoch::Epoch(std::int64_t slots, const EpochOptions& options) : options_(options), slots_(slots) {
  validate_capacity(slots);
  check_amount("hysteresis", options.hysteresis, kWeightRange);
  const Policy& policy = find_policy(options.policy);
  if (!policy.promises.follows_objective && (options.hysteresis > 0.0 || options.effort)) {
    throw std::invalid_argument("hysteresis and effort apply to the policy flex only");
  }
  look_up();
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

// Small is urgent.
inline double Epoch::key_of(std::size_t row) const {
  const bool fifo = options_.policy == EpochPolicy::kFifo;
  if (!(work_[row] > 0.0)) return fifo ? -2.0 * kLatestTime : 0.0;  // before all others
  if (fifo) return arrival_[row];
  // Smith's ratio: work over the rate at which the penalty rises.
  const double size = info(kind_[row]).per_size ? size_[row] : 1.0;
  double key = kInfinity;
  if (weight_[row] > 0.0 && size > 0.0) key = work_[row] * (size / weight_[row]);
  if (options_.hysteresis > 0.0 && given_[row] > static_cast<std::int64_t>(low_[row])) {
    key /= 1.0 + options_.hysteresis;
  }
  return key;
}

// Brings what is derived from a row's columns up to date.
void Epoch::refresh(std::size_t row) {
  const double low = ignores_minima_ ? 0.0 : static_cast<double>(min_slots_[row]);
  if (low != low_[row]) {
    minima_ += low - low_[row];
    minima_stale_ |= std::max(low, low_[row]) > 4e9 || minima_ > 4e15;
    low_[row] = low;
    touched_.push_back(id_[row]);
  }
  const std::int64_t most = work_[row] > 0.0 ? max_slots_[row] : kept_by(row);
  room_[row] = std::max(0.0, static_cast<double>(std::min(most, slots_)) - low);
  key_[row] = key_of(row);
}

std::int64_t Epoch::add(const JobsView& jobs, std::span<const Kind> kinds) {
  if (!kinds.empty() && kinds.size() != jobs.size()) {
    throw std::invalid_argument("kind has " + counted(kinds.size(), "entry", "entries") +
                                " but work has " + std::to_string(jobs.size()));
  }
  const auto kind_at = [&](std::size_t j) { return kinds.empty() ? options_.kind : kinds[j]; };
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const KindInfo& kind = info(kind_at(j));
    if (kind.needs_deadline) check_needed_deadline(kind_at(j), j, jobs.deadline[j]);
    if (kind.custom && custom_ == nullptr) {
      throw std::invalid_argument("kind[" + std::to_string(j) +
                                  "] = custom: needs a penalty function");
    }
  }
  const std::int64_t first_id = next_id_;
  const auto append = [](auto& column, const auto& values) {
    column.insert(column.end(), values.begin(), values.end());
  };
  append(work_, jobs.work);
  append(size_, jobs.original);
  append(arrival_, jobs.arrival);
  append(weight_, jobs.weight);
  append(deadline_, jobs.deadline);
  append(min_slots_, jobs.min_slots);
  append(max_slots_, jobs.max_slots);
  const std::size_t rows = id_.size() + jobs.size();
  for (auto* column : {&low_, &room_, &key_}) column->resize(rows, 0.0);
  for (auto* column : {&due_seen_, &limit_seen_}) {
    column->resize(rows, std::numeric_limits<double>::quiet_NaN());
  }
  for (auto* column : {&given_, &before_}) column->resize(rows, 0);
  for (auto* column : {&changed_, &marked_}) column->resize(rows, 0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::size_t row = id_.size();
    kind_.push_back(kind_at(j));
    ++of_kind_[static_cast<std::size_t>(kind_at(j))];
    steps_.replace(sla_.emplace_back(), jobs.sla.of(j));
    latest_arrival_ = std::max(latest_arrival_, jobs.arrival[j]);
    const auto page = static_cast<std::size_t>(next_id_) / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page].rows.empty()) pages_[page].rows.assign(kPage, kNoRow);
    ++pages_[page].live;
    slot_of(next_id_) = static_cast<Index>(row);
    id_.push_back(next_id_++);
    refresh(row);
  }
  ++version_;
  return first_id;
}

Index& Epoch::slot_of(std::int64_t id) {
  return pages_[static_cast<std::size_t>(id) / kPage].rows[static_cast<std::size_t>(id) % kPage];
}

Index Epoch::find(std::int64_t id) const {
  if (id < 0 || id >= next_id_) return kNoRow;
  const Page& page = pages_[static_cast<std::size_t>(id) / kPage];
  return page.rows.empty() ? kNoRow : page.rows[static_cast<std::size_t>(id) % kPage];
}

std::span<const Index> Epoch::rows_of(std::span<const std::int64_t> ids) {
  return named_.of(ids, id_.size(), [this](std::int64_t id) { return find(id); });
}

void Epoch::update(std::span<const std::int64_t> ids, const Changes& changes) {
  const auto length = [&](const char* field, std::size_t entries) {
    if (entries != 0) check_length(field, entries, ids.size(), "ids");
  };
  length("work", changes.work.size());
  length("weight", changes.weight.size());
  length("deadline", changes.deadline.size());
  length("min_slots", changes.min_slots.size());
  length("max_slots", changes.max_slots.size());
  const std::span<const Index> rows = rows_of(ids);
  check_amounts("work", changes.work, kLeftRange);
  check_amounts("weight", changes.weight, kWeightRange);
  check_deadlines(changes.deadline);
  if (changes.sla.given()) validate(changes.sla, ids.size(), "ids");
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = rows[k];
    if (!changes.deadline.empty() && info(kind_[row]).needs_deadline) {
      check_needed_deadline(kind_[row], k, changes.deadline[k]);
    }
    if (changes.min_slots.empty() && changes.max_slots.empty()) continue;
    const std::int64_t low = changes.min_slots.empty() ? min_slots_[row] : changes.min_slots[k];
    const std::int64_t high = changes.max_slots.empty() ? max_slots_[row] : changes.max_slots[k];
    if (high < 1) {
      throw FieldError("max_slots", k, static_cast<long long>(high), "must be at least 1");
    }
    if (changes.min_slots.empty() && low > high) {
      throw FieldError("max_slots", k, static_cast<long long>(high),
                       "must be at least min_slots = " + std::to_string(low));
    }
    if (low < 0 || low > high) {
      throw FieldError("min_slots", k, static_cast<long long>(low),
                       "must be at least 0 and at most max_slots = " + std::to_string(high));
    }
    if (low > kMostSlots)
      throw FieldError("min_slots", k, static_cast<long long>(low), "must be at most 2^50");
  }
  const bool limits = !changes.min_slots.empty() || !changes.max_slots.empty();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = rows[k];
    const bool had_work = work_[row] > 0.0;
    if (!changes.work.empty()) work_[row] = left_of(changes.work[k]);
    if (!changes.min_slots.empty()) min_slots_[row] = changes.min_slots[k];
    if (!changes.max_slots.empty()) max_slots_[row] = changes.max_slots[k];
    if (!changes.deadline.empty()) deadline_[row] = changes.deadline[k];
    if (!changes.weight.empty()) weight_[row] = changes.weight[k];
    if (changes.sla.given()) steps_.replace(sla_[row], changes.sla.of(k));
    if (limits || had_work != (work_[row] > 0.0)) {
      refresh(row);
    } else {
      key_[row] = key_of(row);
    }
  }
  tidy_steps();
  ++version_;
}

void Epoch::remove(std::span<const std::int64_t> ids) {
  rows_of(ids);
  for (const std::int64_t id : ids) {
    const Index row = find(id);  // rows move as others leave
    slot_of(id) = kNoRow;
    Page& page = pages_[static_cast<std::size_t>(id) / kPage];
    const std::size_t next_page = (static_cast<std::size_t>(id) / kPage + 1) * kPage;
    if (--page.live == 0 && next_page <= static_cast<std::size_t>(next_id_)) page.rows = {};
    minima_ -= low_[row];
    minima_stale_ |= low_[row] > 4e9;
    steps_.drop(sla_[row]);
    --of_kind_[static_cast<std::size_t>(kind_[row])];
    if (options_.stable) {
      gaps_.push_back(row);
    } else {
      erase(row);
    }
  }
  if (options_.stable) close_gaps();
  if (id_.empty()) latest_arrival_ = -kInfinity;
  tidy_steps();
  ++version_;
}

template <typename Close>
void Epoch::each_column(Close close) {
  for (auto* column : {&work_, &size_, &arrival_, &weight_, &deadline_, &low_, &room_, &key_,
                       &due_seen_, &limit_seen_}) {
    close(*column);
  }
  for (auto* column : {&id_, &min_slots_, &max_slots_, &given_, &before_}) close(*column);
  close(sla_);
  for (auto* column : {&changed_, &marked_}) close(*column);
  close(kind_);
}

// The last row takes the place of this one.
void Epoch::erase(std::size_t row) {
  const std::size_t last = id_.size() - 1;
  if (row != last) slot_of(id_[last]) = static_cast<Index>(row);
  each_column([&](auto& column) {
    column[row] = column[last];
    column.pop_back();
  });
}

// Rows whose ids are gone leave; the others keep their order.
void Epoch::close_gaps() {
  if (gaps_.empty()) return;
  std::sort(gaps_.begin(), gaps_.end());
  each_column([&](auto& column) {
    auto kept = column.begin() + static_cast<std::ptrdiff_t>(gaps_.front());
    for (std::size_t k = 0; k < gaps_.size(); ++k) {
      const std::size_t end = k + 1 < gaps_.size() ? gaps_[k + 1] : column.size();
      kept = std::move(column.begin() + static_cast<std::ptrdiff_t>(gaps_[k] + 1),
                       column.begin() + static_cast<std::ptrdiff_t>(end), kept);
    }
    column.erase(kept, column.end());
  });
  for (std::size_t row = gaps_.front(); row < id_.size(); ++row) {
    slot_of(id_[row]) = static_cast<Index>(row);
  }
  gaps_.clear();
}

void Epoch::tidy_steps() {
  steps_.tidy([this](const auto& visit) {
    for (HeldSteps::Range& row : sla_) visit(row);
  });
}

// A priority that is a number per job, whatever the others do.
bool Epoch::keyed() const {
  if (options_.min_mode == MinMode::kGang || options_.effort) return false;
  if (options_.policy == EpochPolicy::kFifo) return true;
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kSum) return false;
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    if (of_kind_[k] > 0 && !kKinds[k].steady) return false;
  }
  return true;
}

// Back to the minimum, remembering what the job had.
void Epoch::reset(std::size_t row) {
  if (!marked_[row]) {
    marked_[row] = 1;
    before_[row] = given_[row];
    affected_.push_back(static_cast<Index>(row));
  }
  given_[row] = static_cast<std::int64_t>(low_[row]);
}

void Epoch::give(std::size_t row, double slots) {
  reset(row);
  given_[row] += static_cast<std::int64_t>(slots);
  winners_.push_back(id_[row]);
}

void Epoch::decide_by_key() {
  // Where most rows are to be looked at, in their order.
  if (all_touched_ || 4 * (winners_.size() + touched_.size()) > id_.size()) {
    for (std::size_t r = 0; r < id_.size(); ++r) reset(r);
  } else {
    for (const auto* ids : {&winners_, &touched_}) {
      for (const std::int64_t id : *ids) {
        if (const Index row = find(id); row != kNoRow) reset(row);
      }
    }
  }
  winners_.clear();
  selection_.run(key_, room_, static_cast<double>(slots_) - minima_,
                 [&](Index r, double slots) { give(r, slots); });
  all_touched_ = false;
}

void Epoch::build_instance() {
  const std::size_t n = id_.size();
  sla_columns_.clear();
  for (const HeldSteps::Range& row : sla_) sla_columns_.add(steps_.of(row));
  ended_.assign(n, now_);  // whoever has nothing left
  constexpr auto kOwn = static_cast<std::size_t>(Kind::kCustom);
  const std::span<const std::int64_t> names =
      of_kind_[kOwn] > 0 ? std::span<const std::int64_t>(id_) : std::span<const std::int64_t>();
  penalties_.build(planned_jobs(), planned_kinds(), custom_, names);
  if (!names.empty()) penalties_.remember(due_seen_, limit_seen_);
  problem_.build(work_, ended_, min_slots_, max_slots_, slots_, now_, options_.min_mode);
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
  } else if (options_.effort) {
    planned_.emplace();
    flex_.plan(problem_, penalties_, options_.aggregate, {*options_.effort, kInfinity}, *planned_);
    order_ = planned_->order;
  } else if (strict) {
    planned_.emplace();
    flex_.plan_strict_order(problem_, penalties_, options_.aggregate, *planned_);
    order_ = planned_->order;
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

// Any policy, by way of an instance of all jobs.
void Epoch::decide_by_instance() {
  build_instance();
  built_ = true;
  const Problem& problem = set_kept_aside();
  share_.assign(id_.size(), 0.0);
  if (shares_ != Shares::kNone) {
    waterline_.allocate(problem, shared_by(), share_);
  } else {
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

void Epoch::decide(double now, std::optional<std::int64_t> slots) {
  if (slots) validate_capacity(*slots);
  check_time("now", now);
  if (now < now_) {
    throw FieldError("now", now, "before " + std::to_string(now_) + ", times never fall");
  }
  if (latest_arrival_ > now) {
    for (std::size_t r = 0; r < id_.size(); ++r) {
      if (arrival_[r] > now) {
        throw std::invalid_argument("arrival of job " + std::to_string(id_[r]) + " = " +
                                    std::to_string(arrival_[r]) +
                                    ": after now = " + std::to_string(now));
      }
    }
  }
  if (slots) set_slots(*slots);
  ++version_;
  now_ = now;
  planned_.reset();
  // Who held what since the last decision; not before, so that its plan follows its own keys.
  for (const std::int64_t id : held_anew_) {
    if (const Index row = find(id); row != kNoRow) refresh(row);
  }
  held_anew_.clear();
  if (minima_stale_) {  // sums this large lose their last digits
    minima_ = 0.0;
    for (const double low : low_) minima_ += low;
    minima_stale_ = minima_ > 4e15;
  }
  std::fill(changed_.begin(), changed_.end(), 0);
  affected_.clear();
  by_key_ = slots_ > 0 && keyed() && minima_ <= static_cast<double>(slots_);
  if (slots_ == 0) {
    decide_nothing();
  } else if (by_key_) {
    decide_by_key();
  } else {
    decide_by_instance();
  }
  touched_.clear();
  for (const Index r : affected_) {
    changed_[r] = given_[r] != before_[r];
    marked_[r] = 0;
    if (options_.hysteresis > 0.0 && changed_[r]) held_anew_.push_back(id_[r]);
  }
}

// The weights of a waterline; empty: equal ones.
std::span<const double> Epoch::shared_by() const {
  return shares_ == Shares::kWeighted ? std::span<const double>(weight_)
                                      : std::span<const double>();
}

void Epoch::recall() {
  if (!by_key_) {
    if (!built_) build_instance();
    built_ = true;
    return;
  }
  build_instance();
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

// Its slots now are those of the decision.
Plan Epoch::plan() {
  Plan plan;
  recall();
  if (slots_ == 0) {
    plan_nothing(plan);
  } else if (planned_) {
    plan = *planned_;
  } else if (shares_ != Shares::kNone) {
    baseline_.waterline(problem_, penalties_, options_.aggregate, shared_by(), plan);
  } else {
    flex_.plan_order(problem_, penalties_, options_.aggregate, order_, true, plan);
  }
  plan.allocation.assign(given_.begin(), given_.end());
  return plan;
}

void Epoch::find_rows() {
  pages_.clear();
  pages_.resize((static_cast<std::size_t>(next_id_) + kPage - 1) / kPage);
  for (std::size_t row = 0; row < id_.size(); ++row) {
    Page& page = pages_[static_cast<std::size_t>(id_[row]) / kPage];
    if (page.rows.empty()) page.rows.assign(kPage, kNoRow);
    ++page.live;
    slot_of(id_[row]) = static_cast<Index>(row);
  }
}

void Epoch::state(State& s) {
  s(options_, slots_, now_, latest_arrival_, version_, next_id_, id_, arrival_, work_, size_);
  s(min_slots_, max_slots_, weight_, deadline_, sla_, steps_);
  s(kind_, of_kind_);
  s(low_, room_, key_, minima_, minima_stale_, given_, winners_, touched_, held_anew_);
  s(all_touched_, by_key_, selection_, planned_);
  if (!by_key_) s(order_);  // else the keys say it
  if (!s.reading()) return;
  look_up();
  for (auto* column : {&due_seen_, &limit_seen_}) {
    column->assign(id_.size(), std::numeric_limits<double>::quiet_NaN());
  }
  before_.assign(id_.size(), 0);
  for (auto* column : {&changed_, &marked_}) column->assign(id_.size(), 0);
  built_ = false;
  find_rows();
}

Epoch::Assessment Epoch::assess() {
  if (planned_ || shares_ != Shares::kNone || slots_ == 0) {
    const Plan whole = plan();
    return {whole.value, whole.lower_bound};
  }
  recall();
  flex_.plan_order(problem_, penalties_, options_.aggregate, order_, false, sketch_);
  return {sketch_.value, sketch_.lower_bound};
}

}  // namespace malleable
