#include "malleable/policy/slotted_epoch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

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
  for (std::size_t k = 0; k < count; ++k) {
    if (!(std::isfinite(values[k]) && values[k] >= 0.0)) {
      throw FieldError(field, k, values[k], "must be finite and at least 0");
    }
  }
}

void check(const SlottedEpoch::Columns& columns, std::size_t count) {
  check_counts("maps", columns.maps, count);
  check_counts("reduces", columns.reduces, count);
  check_counts("running", columns.running, count);
  check_work("map_left", columns.map_left, count);
  check_work("reduce_left", columns.reduce_left, count);
}

}  // namespace

SlottedEpoch::SlottedEpoch(std::int64_t machines, double slot_seconds,
                           std::unique_ptr<SlottedPolicy> policy)
    : machines_(machines), slot_seconds_(slot_seconds), policy_(std::move(policy)) {
  validate_machines(machines);
  if (!(std::isfinite(slot_seconds) && slot_seconds > 0.0)) {
    throw std::invalid_argument("slot_seconds: must be finite and above 0");
  }
}

std::int64_t SlottedEpoch::slot_of(double now) const {
  return static_cast<std::int64_t>(std::floor((now - origin_) / slot_seconds_ + 1e-9));
}

void SlottedEpoch::move_to(double now) {
  if (!std::isfinite(now)) throw std::invalid_argument("now: must be finite");
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

Index SlottedEpoch::row_of(std::span<const std::int64_t> ids, std::size_t k) const {
  const std::int64_t id = ids[k];
  if (id >= 0) {
    const auto row = static_cast<std::size_t>(id % kRows);
    if (row < jobs_.size() && generation_[row] == id / kRows && jobs_[row].sequence >= 0) {
      return static_cast<Index>(row);
    }
  }
  throw FieldError("ids", k, static_cast<long long>(id), "no such job");
}

void SlottedEpoch::add(double now, const Columns& columns, std::span<std::int64_t> ids) {
  const std::size_t count = ids.size();
  if (columns.maps.size() != count || columns.reduces.size() != count ||
      columns.running.size() != count || columns.map_left.size() != count ||
      columns.reduce_left.size() != count) {
    throw std::invalid_argument("columns: one entry a job");
  }
  check(columns, count);
  move_to(now);
  tell(slot_of(now) - 1);
  for (std::size_t k = 0; k < count; ++k) {
    if (free_.empty()) {
      free_.push_back(static_cast<Index>(jobs_.size()));
      jobs_.emplace_back();
      generation_.push_back(0);
    }
    const Index row = free_.back();
    free_.pop_back();
    jobs_[row] = {sequence_++,
                  columns.maps[k],
                  columns.reduces[k],
                  columns.running[k],
                  columns.map_left[k] / slot_seconds_,
                  columns.reduce_left[k] / slot_seconds_};
    running_ += columns.running[k];
    ++live_;
    ids[k] = id_of(row);
    policy_->arrive(jobs_, row);
  }
}

void SlottedEpoch::update(std::span<const std::int64_t> ids, const Columns& columns) {
  check(columns, ids.size());
  for (std::size_t k = 0; k < ids.size(); ++k) row_of(ids, k);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const Index row = row_of(ids, k);
    SlottedJob& job = jobs_[row];
    if (!columns.maps.empty()) job.maps = columns.maps[k];
    if (!columns.reduces.empty()) job.ready = columns.reduces[k];
    if (!columns.running.empty()) {
      running_ += columns.running[k] - job.running;
      job.running = columns.running[k];
    }
    if (!columns.map_left.empty()) job.map_left = columns.map_left[k] / slot_seconds_;
    if (!columns.reduce_left.empty()) job.reduce_left = columns.reduce_left[k] / slot_seconds_;
    policy_->update(jobs_, row);
  }
}

void SlottedEpoch::remove(std::span<const std::int64_t> ids, bool cancelled) {
  named_.clear();
  for (std::size_t k = 0; k < ids.size(); ++k) named_.push_back(row_of(ids, k));
  std::sort(named_.begin(), named_.end());
  const auto twice = std::adjacent_find(named_.begin(), named_.end());
  if (twice != named_.end()) {
    throw std::invalid_argument("ids: " + std::to_string(id_of(*twice)) + " occurs twice");
  }
  for (const std::int64_t id : ids) {
    const auto row = static_cast<Index>(id % kRows);
    policy_->leave(jobs_, row, cancelled);
    running_ -= jobs_[row].running;
    jobs_[row] = {};
    ++generation_[row];
    free_.push_back(row);
    --live_;
  }
}

void SlottedEpoch::set_machines(std::int64_t machines) {
  validate_machines(machines);
  machines_ = machines;
}

std::span<const SlottedEpoch::Grant> SlottedEpoch::decide(double now) {
  move_to(now);
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

}  // namespace malleable
