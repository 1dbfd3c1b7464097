#include "malleable/policy/slotted_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/map_reduce.hpp"

namespace malleable {
namespace {

constexpr std::int64_t kRows = std::int64_t{1} << 32;

void check_counts(const char* field, std::span<const std::int64_t> values, std::size_t count) {
  if (values.empty()) return;
  if (values.size() != count) throw std::invalid_argument(std::string(field) + ": one entry a job");
  for (std::size_t k = 0; k < count; ++k) {
    if (values[k] < 0 || values[k] > kMostUnits) {
      throw FieldError(field, k, static_cast<long long>(values[k]), "must be from 0 to 2^40");
    }
  }
}

void check_work(const char* field, std::span<const double> values, std::size_t count) {
  if (values.empty()) return;
  if (values.size() != count) throw std::invalid_argument(std::string(field) + ": one entry a job");
  check_amounts(field, values, kLeftRange);
}

void check(const SlottedEpoch::Columns& columns, std::size_t count) {
  check_counts("maps", columns.maps, count);
  check_counts("reduces", columns.reduces, count);
  check_counts("running", columns.running, count);
  check_work("map_left", columns.map_left, count);
  check_work("reduce_left", columns.reduce_left, count);
}

}  // namespace

SlottedEpoch::SlottedEpoch(std::int64_t machines, double slot_seconds, const std::string& policy)
    : machines_(machines),
      slot_seconds_(slot_seconds),
      policy_name_(policy),
      policy_(make_slotted_policy(policy, false)) {
  validate_machines(machines);
  check_amount("slot_seconds", slot_seconds, kRateRange);
}

std::int64_t SlottedEpoch::slot_of(double now) const {
  return static_cast<std::int64_t>(std::floor((now - origin_) / slot_seconds_ + 1e-9));
}

void SlottedEpoch::move_to(double now) {
  check_time("now", now);
  if (began_ && now < now_) {
    throw std::invalid_argument("now = " + std::to_string(now) + ": before the call before");
  }
  if (began_ && !((now - origin_) / slot_seconds_ < static_cast<double>(kLastSlot))) {
    throw std::invalid_argument("now: more than 2^50 slots after the first call");
  }
  if (!began_) origin_ = now;
  began_ = true;
  now_ = now;
}

void SlottedEpoch::tell(std::int64_t slot) {
  if (slot > told_) policy_->pass(machines_, static_cast<double>(slot - told_));
  told_ = std::max(told_, slot);
}

std::int64_t SlottedEpoch::id_of(Index row) const { return generation_[row] * kRows + row; }

std::span<const Index> SlottedEpoch::rows_of(std::span<const std::int64_t> ids) {
  return named_.of(ids, jobs_.size(), [this](std::int64_t id) {
    const auto row = static_cast<std::size_t>(id % kRows);
    const bool known =
        id >= 0 && row < jobs_.size() && generation_[row] == id / kRows && jobs_[row].sequence >= 0;
    return known ? static_cast<Index>(row) : NamedRows::kNone;
  });
}

void SlottedEpoch::set_map_left(Index row, double work) {
  SlottedJob& job = jobs_[row];
  job.map_left = work / slot_seconds_;
  if (job.maps > 0) map_task_[row] = job.map_left / static_cast<double>(job.maps);
}

void SlottedEpoch::add(double now, const Columns& columns, std::span<std::int64_t> ids) {
  const std::size_t count = ids.size();
  if (columns.maps.size() != count || columns.reduces.size() != count ||
      columns.running.size() != count || columns.reduce_left.size() != count) {
    throw std::invalid_argument("columns: one entry a job");
  }
  check(columns, count);
  move_to(now);
  tell(slot_of(now) - 1);
  for (std::size_t k = 0; k < count; ++k) {
    if (free_.empty()) {
      free_.push_back(static_cast<Index>(jobs_.size()));
      jobs_.emplace_back();
      map_task_.push_back(1.0);
      generation_.push_back(0);
    }
    const Index row = free_.back();
    free_.pop_back();
    jobs_[row] = {sequence_++,
                  columns.maps[k],
                  columns.reduces[k],
                  columns.running[k],
                  static_cast<double>(columns.maps[k]),
                  columns.reduce_left[k] / slot_seconds_};
    map_task_[row] = 1.0;
    if (!columns.map_left.empty()) set_map_left(row, columns.map_left[k]);
    running_ += columns.running[k];
    ++live_;
    ids[k] = id_of(row);
    policy_->arrive(jobs_, row);
  }
}

void SlottedEpoch::update(std::span<const std::int64_t> ids, const Columns& columns) {
  check(columns, ids.size());
  const std::span<const Index> rows = rows_of(ids);
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
    }
    if (!columns.map_left.empty()) set_map_left(row, columns.map_left[k]);
    if (!columns.reduce_left.empty()) job.reduce_left = columns.reduce_left[k] / slot_seconds_;
    policy_->update(jobs_, row);
  }
}

void SlottedEpoch::remove(std::span<const std::int64_t> ids, bool cancelled) {
  for (const Index row : rows_of(ids)) {
    policy_->leave(jobs_, row, cancelled);
    running_ -= jobs_[row].running;
    jobs_[row] = {};
    ++generation_[row];
    free_.push_back(row);
    --live_;
  }
}

std::span<const SlottedEpoch::Grant> SlottedEpoch::decide(double now,
                                                          std::optional<std::int64_t> machines) {
  if (machines) validate_machines(*machines);
  move_to(now);
  machines_ = machines.value_or(machines_);
  const std::int64_t slot = slot_of(now);
  tell(slot - 1);
  grants_.clear();
  policy_->decide(jobs_, machines_, std::max<std::int64_t>(machines_ - running_, 0), told_ < slot,
                  grants_);
  told_ = slot;
  shown_.clear();
  for (const SlottedGrant& grant : grants_) {
    if (grant.maps + grant.reduces > 0) {
      shown_.push_back({id_of(grant.row), grant.maps, grant.reduces});
    }
  }
  return shown_;
}

void SlottedEpoch::state(State& s) {
  s(policy_name_);
  if (s.reading()) policy_ = make_slotted_policy(policy_name_, false);
  policy_->state(s);
  s(machines_, slot_seconds_, jobs_, map_task_, generation_, free_, origin_, now_, began_);
  s(sequence_, running_, told_, live_);
}

}  // namespace malleable
