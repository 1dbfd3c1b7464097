#include "malleable/policy/slotted_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/map_reduce.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

void check_task_counts(const char* field, std::span<const std::int64_t> values, std::size_t count) {
  if (values.empty()) return;
  if (values.size() != count) throw std::invalid_argument(std::string(field) + ": one entry a job");
  for (std::size_t k = 0; k < count; ++k) {
    if (values[k] < 0 || values[k] > kMostUnits) {
      throw FieldError(field, k, static_cast<long long>(values[k]), "must be from 0 to 2^40");
    }
  }
}

void check_work_left(const char* field, std::span<const double> values, std::size_t count) {
  if (values.empty()) return;
  if (values.size() != count) throw std::invalid_argument(std::string(field) + ": one entry a job");
  check_amounts(field, values, kLeftRange);
}

void check_slots(std::int64_t slots) {
  if (slots >= 0 && slots <= kMostUnits) return;
  throw std::invalid_argument("slots = " + std::to_string(slots) + ": must be from 0 to 2^40");
}

void check(const SlottedEpoch::Columns& columns, std::size_t count) {
  check_task_counts("maps", columns.maps, count);
  check_task_counts("reduces", columns.reduces, count);
  check_task_counts("running", columns.running, count);
  check_work_left("map_left", columns.map_left, count);
  check_work_left("reduce_left", columns.reduce_left, count);
}

}  // namespace

SlottedEpoch::SlottedEpoch(std::int64_t slots, double slot_seconds, const std::string& policy,
                           double period)
    : slots_(slots),
      slot_seconds_(slot_seconds),
      policy_name_(policy),
      policy_(make_slotted_policy(policy, false)) {
  check_slots(slots);
  set_period(period);
  check_amount("slot_seconds", slot_seconds, kRateRange);
}

void SlottedEpoch::set_period(double period) {
  check_amount("period", period, kWeightRange);
  period_ = period;
}

// In slots of machines that run tasks of one job for whole periods.
void SlottedEpoch::count_arrival(const SlottedJob& job) {
  if (!(held_for_ > 0.0)) return;
  const double whole = std::max(1.0, std::floor(held_for_ / slot_seconds_ + kCount));
  load_.arrive(whole * (slot_periods(job.map_left, whole) + slot_periods(job.reduce_left, whole)));
}

std::int64_t SlottedEpoch::slot_of(double now) const {
  return static_cast<std::int64_t>(std::floor((now - origin_) / slot_seconds_ + kCount));
}

// Slots are counted in doubles.
bool SlottedEpoch::in_reach(double now, double first) const {
  const double origin = now_ == -kInfinity ? first : origin_;
  return (now - origin) / slot_seconds_ < static_cast<double>(kLastSlot);
}

void SlottedEpoch::hear(double now) {
  if (now_ == -kInfinity) origin_ = now;
  now_ = std::max(now_, now);
}

void SlottedEpoch::tell(std::int64_t slot) {
  if (slot > told_ && slots_ > 0) policy_->pass(slots_, static_cast<double>(slot - told_));
  told_ = std::max(told_, slot);
}

void SlottedEpoch::set_map_left(Index row, double work) {
  SlottedJob& job = jobs_[row];
  job.map_left = work / slot_seconds_;
  if (job.maps > 0) map_task_[row] = job.map_left / static_cast<double>(job.maps);
}

void SlottedEpoch::add(std::span<const double> arrival, const Columns& columns,
                       std::span<std::int64_t> ids) {
  const std::size_t count = ids.size();
  if (arrival.size() != count || columns.maps.size() != count || columns.reduces.size() != count ||
      columns.running.size() != count || columns.reduce_left.size() != count) {
    throw std::invalid_argument("columns: one entry a job");
  }
  check(columns, count);
  check_times("arrival", arrival);
  for (std::size_t k = 0; k < count; ++k) {
    if (!in_reach(arrival[k], arrival[0])) {
      throw FieldError("arrival", k, arrival[k], "more than 2^50 slots after the first call");
    }
  }
  if (count > 0) stands_ = false;
  for (std::size_t k = 0; k < count; ++k) {
    hear(arrival[k]);
    tell(slot_of(now_) - 1);
    const Index row = ids_.add();
    if (row == jobs_.size()) {
      jobs_.emplace_back();
      map_task_.push_back(1.0);
      held_.grow(jobs_.size());
    }
    jobs_[row] = {sequence_++,
                  columns.maps[k],
                  columns.reduces[k],
                  columns.running[k],
                  static_cast<double>(columns.maps[k]),
                  columns.reduce_left[k] / slot_seconds_};
    map_task_[row] = 1.0;
    if (!columns.map_left.empty()) set_map_left(row, columns.map_left[k]);
    running_ += columns.running[k];
    if (columns.running[k] > 0) held_.note(row);
    ids[k] = ids_.id_of(row);
    count_arrival(jobs_[row]);
    policy_->arrive(jobs_, row);
  }
}

void SlottedEpoch::update(std::span<const std::int64_t> ids, const Columns& columns) {
  check(columns, ids.size());
  const std::span<const Index> rows = ids_.rows_of(ids);
  if (!ids.empty()) stands_ = false;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Index row = rows[k];
    SlottedJob& job = jobs_[row];
    if (!columns.maps.empty()) {
      job.maps = columns.maps[k];
      job.map_left = static_cast<double>(job.maps) * map_task_[row];
    }
    if (!columns.reduces.empty()) job.ready = columns.reduces[k];
    if (!columns.running.empty()) {
      running_ += columns.running[k] - job.running;
      job.running = columns.running[k];
      if (job.running > 0) held_.note(row);
    }
    if (!columns.map_left.empty()) set_map_left(row, columns.map_left[k]);
    if (!columns.reduce_left.empty()) job.reduce_left = columns.reduce_left[k] / slot_seconds_;
    policy_->update(jobs_, row);
  }
}

void SlottedEpoch::remove(std::span<const std::int64_t> ids, bool cancelled) {
  for (const Index row : ids_.rows_of(ids)) {
    stands_ = false;
    policy_->leave(jobs_, row, cancelled);
    running_ -= jobs_[row].running;
    jobs_[row] = {};
    ids_.remove(row);
    held_.forget(row);
  }
}

// What waits, as machines that run tasks of their job one after the other for so many slots.
std::span<const SlottedJob> SlottedEpoch::cap(double slots) {
  if (slots <= 1.0) return jobs_;
  const auto machines = [](std::int64_t tasks, double each) {
    const double needed = std::ceil(static_cast<double>(tasks) / each);
    return std::min(tasks, static_cast<std::int64_t>(needed));
  };
  capped_.assign(jobs_.begin(), jobs_.end());
  for (SlottedJob& job : capped_) {
    job.maps = machines(job.maps, slots);
    if (job.ready == 0) continue;
    const double length = std::max(1.0, job.reduce_left / static_cast<double>(job.ready));
    job.ready = machines(job.ready, std::max(1.0, std::floor(slots / length + kCount)));
  }
  return capped_;
}

// Machines that are left over go to jobs whose waiting tasks end earlier by them.
std::int64_t SlottedEpoch::hand_out_rest(double slots, std::int64_t idle) {
  const std::size_t n = grants_.size();
  if (slots <= 1.0 || idle <= 0) return idle;
  for (auto* column : {&rest_.work, &rest_.high, &machines_}) column->resize(n);
  rest_.low.assign(n, 0.0);
  double used = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    const SlottedGrant& grant = grants_[k];
    const SlottedJob& job = jobs_[grant.row];
    // Either kind of task waits, not both.
    rest_.work[k] = job.maps > 0 ? static_cast<double>(job.maps) : job.reduce_left;
    rest_.high[k] = static_cast<double>(job.maps > 0 ? job.maps : job.ready);
    machines_[k] = static_cast<double>(grant.maps + grant.reduces);
    used += machines_[k];
  }
  rest_.slots = used + static_cast<double>(idle);
  left_over_.hand_out(rest_, slots, {}, machines_);
  for (std::size_t k = 0; k < n; ++k) {
    SlottedGrant& grant = grants_[k];
    const auto more = static_cast<std::int64_t>(machines_[k]) - grant.maps - grant.reduces;
    (jobs_[grant.row].maps > 0 ? grant.maps : grant.reduces) += more;
    idle -= more;
  }
  return idle;
}

void SlottedEpoch::line_up() {
  line_.clear();
  for (const SlottedGrant& grant : grants_) line_.push_back(grant.row);
  const std::size_t first = line_.size();
  for (Index row = 0; row < jobs_.size(); ++row) {
    if (ids_.has(row) && jobs_[row].maps + jobs_[row].ready > 0) line_.push_back(row);
  }
  std::sort(line_.begin() + static_cast<std::ptrdiff_t>(first), line_.end(),
            [this](Index a, Index b) { return jobs_[a].sequence < jobs_[b].sequence; });
  std::vector<std::uint8_t> seen(jobs_.size(), 0);
  for (const Index row : line_) {
    if (seen[row]++ == 0) order_.push_back(ids_.id_of(row));
  }
}

std::span<const SlottedEpoch::Grant> SlottedEpoch::decide(double now,
                                                          std::optional<std::int64_t> slots,
                                                          std::optional<double> period) {
  if (slots) check_slots(*slots);
  if (period) check_amount("period", *period, kWeightRange);
  check_now(now, now_);
  if (!in_reach(now, now))
    throw FieldError("now", now, "more than 2^50 slots after the first call");
  const bool same = slots.value_or(slots_) == slots_ && period.value_or(period_) == held_for_;
  if (stands_ && same && now == decided_) return again();
  if (held_for_ > 0.0) load_.pass((now - decided_) / slot_seconds_);
  decided_ = now;
  hear(now);
  const std::int64_t slot = slot_of(now);
  tell(slot - 1);
  slots_ = slots.value_or(slots_);
  grants_.clear();
  std::int64_t idle = std::max<std::int64_t>(slots_ - running_, 0);
  held_for_ = period.value_or(period_);
  const double whole = std::floor(held_for_ / slot_seconds_ + kCount);  // slots
  if (slots_ > 0) {
    policy_->decide(cap(whole), slots_, idle, told_ < slot, grants_);
    told_ = slot;
  }
  for (const SlottedGrant& grant : grants_) idle -= grant.maps + grant.reduces;
  idle = hand_out_rest(whole, idle);
  order_.clear();
  if (held_for_ > 0.0) line_up();
  shown_.clear();
  held_.begin();
  for (const SlottedGrant& grant : grants_) {
    if (grant.maps + grant.reduces == 0) continue;
    const HeldSlots<1>::Slots held = {jobs_[grant.row].running + grant.maps + grant.reduces};
    show(grant, held, held_.name(grant.row, held), idle);
  }
  held_.name_rest([this](Index row) { return HeldSlots<1>::Slots{jobs_[row].running}; },
                  [&](Index row, const HeldSlots<1>::Slots& held, bool changed) {
                    show({row, 0, 0}, held, changed, idle);
                  });
  stands_ = true;
  return shown_;
}

// The last decision, seen from itself: nothing has changed, and who lost all is not named.
std::span<const SlottedEpoch::Grant> SlottedEpoch::again() {
  std::erase_if(shown_, [](const Grant& grant) { return grant.slots == 0; });
  for (Grant& grant : shown_) grant.changed = false;
  return shown_;
}

void SlottedEpoch::show(const SlottedGrant& grant, const HeldSlots<1>::Slots& slots, bool changed,
                        std::int64_t idle) {
  const SlottedJob& job = jobs_[grant.row];
  const std::int64_t started = grant.maps + grant.reduces;
  Bound bound = idle > 0 ? Bound::kOrder : Bound::kNoSlots;
  if (job.maps + job.ready == started) bound = started > 0 ? Bound::kAll : Bound::kNothing;
  shown_.push_back({ids_.id_of(grant.row), grant.maps, grant.reduces, slots[0], changed, bound});
}

void SlottedEpoch::state(State& s) {
  s(policy_name_);
  if (s.reading()) policy_ = make_slotted_policy(policy_name_, false);
  policy_->state(s);
  s(slots_, slot_seconds_, period_, jobs_, map_task_, ids_, held_, origin_, now_, sequence_,
    running_, told_, held_for_, decided_, load_, stands_, shown_, order_);
}

}  // namespace malleable
