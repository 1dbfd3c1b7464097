// The jobs of an epoch: columns that callers fill and change, ids, and what follows from them.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// Both limits of a row as they would be after a change; by_max: the maximum alone changes.
void check_limits(std::size_t k, std::int64_t low, std::int64_t high, bool by_max) {
  if (high < 1)
    throw FieldError("max_slots", k, static_cast<long long>(high), "must be at least 1");
  if (by_max && low > high) {
    throw FieldError("max_slots", k, static_cast<long long>(high),
                     "must be at least min_slots = " + std::to_string(low));
  }
  if (low < 0 || low > high) {
    throw FieldError("min_slots", k, static_cast<long long>(low),
                     "must be at least 0 and at most max_slots = " + std::to_string(high));
  }
  if (low > kMostSlots) {
    throw FieldError("min_slots", k, static_cast<long long>(low), "must be at most 2^50");
  }
}

void check_kind(Kind own, std::size_t j, const JobsView& jobs, bool custom, bool told) {
  const KindInfo& kind = info(own);
  if (kind.needs_deadline) check_needed_deadline(own, j, jobs.deadline[j]);
  const char* wrong = kind.custom && !custom ? "needs a penalty function"
                      : told && !kind.steady
                          ? "ends are told for response, completion, stretch and lateness"
                          : nullptr;
  if (wrong == nullptr) return;
  throw std::invalid_argument("kind[" + std::to_string(j) + "] = " + kind.name + ": " + wrong);
}

}  // namespace

// Small is urgent.
double Epoch::smith_key(std::size_t row) const {
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

void Epoch::set_key(std::size_t row) {
  switch (keys_) {
    case Keys::kSmith:
      key_[row] = smith_key(row);
      break;
    case Keys::kApparentCost: {
      const Aim first = aim(row);
      lead_[row] = first.lead;
      start_[row] = first.start;
      break;
    }
    case Keys::kLevel:
      set_line(row);
      break;
  }
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
  set_key(row);
}

std::int64_t Epoch::add(const JobsView& given, std::span<const Kind> kinds,
                        std::span<const std::int64_t> programs) {
  SpeedupColumns spare;
  check_programs(given, programs);
  const JobsView jobs = learnt(given, programs, spare);
  if (!kinds.empty() && kinds.size() != jobs.size()) {
    throw std::invalid_argument("kind has " + counted(kinds.size(), "entry", "entries") +
                                " but work has " + std::to_string(jobs.size()));
  }
  const auto kind_at = [&](std::size_t j) { return kinds.empty() ? options_.kind : kinds[j]; };
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    check_kind(kind_at(j), j, jobs, custom_ != nullptr, options_.predictable.has_value());
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
  add_speedups(jobs);
  add_programs(jobs.size(), programs);
  const std::size_t rows = id_.size() + jobs.size();
  for (auto* column : {&low_, &room_, &key_, &lead_, &start_}) column->resize(rows, 0.0);
  seen_.resize(rows);
  given_.resize(rows, 0);
  for (auto* column : {&changed_, &marked_}) column->resize(rows, 0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::size_t row = id_.size();
    done_.push_back(std::max(0.0, jobs.original[j] - jobs.work[j]));
    kind_.push_back(kind_at(j));
    if (period_ > 0.0) {
      history_.arrive(period_ * slot_periods(jobs.work[j], period_), size_[row],
                      value_of_second(row));
    }
    ++of_kind_[static_cast<std::size_t>(kind_at(j))];
    steps_.replace(sla_.emplace_back(), jobs.sla.of(j));
    latest_arrival_ = std::max(latest_arrival_, jobs.arrival[j]);
    const auto page = static_cast<std::size_t>(next_id_) / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page].rows.empty()) pages_[page].rows.assign(kPage, kNone);
    ++pages_[page].live;
    slot_of(next_id_) = static_cast<Index>(row);
    coming_.add(next_id_);
    id_.push_back(next_id_++);
    refresh(row);
  }
  if (jobs.size() > 0) ++version_;
  return first_id;
}

// Before the ids of the jobs.
void Epoch::add_speedups(const JobsView& jobs) {
  if (!concave() && !jobs.speedup.curved()) return;
  const std::size_t before = id_.size();
  if (!concave()) {
    exponent_.assign(before, 1.0);
    rates_.resize(before);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto own = jobs.speedup.table(j);
    exponent_.push_back(jobs.speedup.power(j));
    rates_.emplace_back(own.begin(), own.end());
    curved_ += jobs.speedup.curved(j) ? 1 : 0;
  }
}

std::int64_t Epoch::add_columns(JobsView jobs, std::span<const Kind> kinds,
                                std::span<const std::int64_t> programs) {
  const std::size_t count = jobs.size();
  TermColumns spare;  // what was left out
  std::vector<std::int64_t> all;
  if (jobs.deadline.empty() || !jobs.sla.given()) spare.complete(count);
  if (jobs.deadline.empty()) jobs.deadline = spare.deadline;
  if (!jobs.sla.given()) jobs.sla.offset = spare.sla.offset;
  if (jobs.original.empty()) jobs.original = jobs.work;
  if (jobs.max_slots.empty()) {
    all.assign(count, kAllSlots);
    jobs.max_slots = all;
  }
  validate(jobs);
  return add(jobs, kinds, programs);
}

Index& Epoch::slot_of(std::int64_t id) {
  return pages_[static_cast<std::size_t>(id) / kPage].rows[static_cast<std::size_t>(id) % kPage];
}

std::span<const Index> Epoch::rows_of(std::span<const std::int64_t> ids) {
  return named_.of(ids, id_.size(), [this](std::int64_t id) { return find(id); });
}

std::span<const Index> Epoch::check_changes(std::span<const std::int64_t> ids,
                                            const Changes& changes) {
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
    check_limits(k, low, high, changes.min_slots.empty());
  }
  return rows;
}

void Epoch::update(std::span<const std::int64_t> ids, const Changes& changes) {
  const std::span<const Index> rows = check_changes(ids, changes);
  const bool limits = !changes.min_slots.empty() || !changes.max_slots.empty();
  bool changed = changes.sla.given() && !ids.empty();
  const auto set = [&](auto& own, auto value) {
    changed |= own != value;
    own = value;
  };
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = rows[k];
    const bool had_work = work_[row] > 0.0;
    if (!changes.work.empty()) set(work_[row], left_of(changes.work[k]));
    if (!changes.min_slots.empty()) set(min_slots_[row], changes.min_slots[k]);
    if (!changes.max_slots.empty()) set(max_slots_[row], changes.max_slots[k]);
    if (!changes.deadline.empty()) set(deadline_[row], changes.deadline[k]);
    if (!changes.weight.empty()) set(weight_[row], changes.weight[k]);
    if (changes.sla.given()) steps_.replace(sla_[row], changes.sla.of(k));
    if (limits || had_work != (work_[row] > 0.0)) {
      refresh(row);
    } else {
      set_key(row);
    }
  }
  tidy_steps();
  if (changed) ++version_;
}

void Epoch::finish(std::span<const std::int64_t> ids) {
  for (const Index row : rows_of(ids)) note_size(row);
  if (options_.predictable) told_ends_.finish(ids);
  remove(ids);
}

void Epoch::remove(std::span<const std::int64_t> ids) {
  rows_of(ids);
  for (const std::int64_t id : ids) {
    const Index row = find(id);  // rows move as others leave
    slot_of(id) = kNone;
    Page& page = pages_[static_cast<std::size_t>(id) / kPage];
    const std::size_t next_page = (static_cast<std::size_t>(id) / kPage + 1) * kPage;
    if (--page.live == 0 && next_page <= static_cast<std::size_t>(next_id_)) page.rows = {};
    minima_ -= low_[row];
    minima_stale_ |= low_[row] > 4e9;
    steps_.drop(sla_[row]);
    coming_.remove(id);
    if (!exponent_.empty() && (exponent_[row] < 1.0 || !rates_[row].empty())) --curved_;
    --of_kind_[static_cast<std::size_t>(kind_[row])];
    if (options_.stable) {
      gaps_.push_back(row);
    } else {
      erase(row);
    }
  }
  if (options_.stable) close_gaps();
  if (id_.empty()) latest_arrival_ = -kInfinity;
  if (curved_ == 0) {
    exponent_.clear();
    rates_.clear();
  }
  tidy_steps();
  if (!ids.empty()) ++version_;
}

template <typename Close>
void Epoch::each_column(Close close) {
  for (auto* column :
       {&work_, &size_, &arrival_, &weight_, &deadline_, &low_, &room_, &key_, &lead_, &start_}) {
    close(*column);
  }
  for (auto* column : {&id_, &min_slots_, &max_slots_}) close(*column);
  close(given_);
  close(sla_);
  close(seen_);
  close(done_);
  for (auto* column : {&changed_, &marked_}) close(*column);
  close(kind_);
  if (!program_.empty()) {
    close(program_);
    close(work_then_);
  }
  if (exponent_.empty()) return;
  close(exponent_);
  close(rates_);
}

// The last row takes the place of this one.
void Epoch::erase(std::size_t row) {
  const std::size_t last = id_.size() - 1;
  if (row != last) slot_of(id_[last]) = static_cast<Index>(row);
  each_column([&](auto& column) {
    column[row] = std::move(column[last]);
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

void Epoch::find_rows() {
  pages_.clear();
  pages_.resize((static_cast<std::size_t>(next_id_) + kPage - 1) / kPage);
  for (std::size_t row = 0; row < id_.size(); ++row) {
    Page& page = pages_[static_cast<std::size_t>(id_[row]) / kPage];
    if (page.rows.empty()) page.rows.assign(kPage, kNone);
    ++page.live;
    slot_of(id_[row]) = static_cast<Index>(row);
  }
}

}  // namespace malleable
