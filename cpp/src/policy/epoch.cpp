#include "malleable/policy/epoch.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "malleable/model/error.hpp"

namespace malleable {

Epoch::Epoch(std::int64_t slots, const EpochOptions& options) : options_(options), slots_(slots) {
  validate_slots(slots);
  if (!(options.hysteresis >= 0.0) || options.hysteresis == kInfinity) {
    throw std::invalid_argument("hysteresis must be finite and at least 0");
  }
  if (options.kind == Kind::kCustom) {
    throw std::invalid_argument("objective custom: an epoch has no place for the caller's function");
  }
  if (options.policy != EpochPolicy::kFlex && (options.hysteresis > 0.0 || options.effort)) {
    throw std::invalid_argument("hysteresis and effort apply to the policy flex only");
  }
}

void Epoch::set_slots(std::int64_t slots) {
  validate_slots(slots);
  if (slots == slots_) return;
  slots_ = slots;
  ++version_;
  for (std::size_t r = 0; r < id_.size(); ++r) {
    if (id_[r] >= 0) refresh(r);
  }
  selection_.reset();
}

// Brings what is derived from a row's columns up to date.
void Epoch::refresh(std::size_t row) {
  const bool fifo = options_.policy == EpochPolicy::kFifo;
  const bool has_work = work_[row] > 0.0;
  const std::int64_t minimum = has_work && !fifo ? min_slots_[row] : 0;
  const double low = static_cast<double>(std::min(minimum, kMostSlots));
  if (low != low_[row]) {
    minima_ += low - low_[row];
    minima_stale_ |= std::max(low, low_[row]) > 4e9 || minima_ > 4e15;
    low_[row] = low;
    touched_.push_back(static_cast<Index>(row));
  }
  const double high = static_cast<double>(std::min(max_slots_[row], slots_));
  room_[row] = has_work ? std::max(0.0, high - low) : 0.0;
  double key = kInfinity;
  if (has_work && fifo) {
    key = arrival_[row];
  } else if (has_work) {
    // Smith's ratio: work over the rate at which the penalty rises.
    const double size = options_.kind == Kind::kStretch ? size_[row] : 1.0;
    if (weight_[row] > 0.0 && size > 0.0) key = work_[row] * (size / weight_[row]);
    if (given_[row] > static_cast<std::int64_t>(low)) key /= 1.0 + options_.hysteresis;
  }
  key_[row] = key;
}

std::int64_t Epoch::add(const JobsView& jobs, std::span<const double> size) {
  validate(jobs);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (options_.kind == Kind::kLateness && !std::isfinite(jobs.deadline[j])) {
      throw FieldError("deadline", j, jobs.deadline[j], "lateness needs a deadline");
    }
    if (!std::isfinite(size[j]) || size[j] < 0.0) {
      throw FieldError("size", j, size[j], "must be finite and at least 0");
    }
  }
  if (10 * (id_.size() - live_) > id_.size()) compact();
  const std::int64_t first_id = next_id_;
  const auto append = [](auto& column, const auto& values) {
    column.insert(column.end(), values.begin(), values.end());
  };
  append(work_, jobs.work);
  append(size_, size);
  append(arrival_, jobs.arrival);
  append(weight_, jobs.weight);
  append(deadline_, jobs.deadline);
  append(min_slots_, jobs.min_slots);
  append(max_slots_, jobs.max_slots);
  const std::size_t rows = id_.size() + jobs.size();
  for (auto* column : {&low_, &room_, &key_}) column->resize(rows, 0.0);
  for (auto* column : {&given_, &before_}) column->resize(rows, 0);
  for (auto* column : {&changed_, &marked_}) column->resize(rows, 0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::size_t row = id_.size();
    const auto begin = static_cast<std::size_t>(jobs.sla_offset[j]);
    const auto end = static_cast<std::size_t>(jobs.sla_offset[j + 1]);
    sla_first_.push_back(sla_time_.size());
    sla_count_.push_back(end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      sla_time_.push_back(jobs.sla_time[k]);
      sla_penalty_.push_back(jobs.sla_penalty[k]);
    }
    latest_arrival_ = std::max(latest_arrival_, jobs.arrival[j]);
    const auto page = static_cast<std::size_t>(next_id_) / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page].rows.empty()) pages_[page].rows.assign(kPage, kNoRow);
    pages_[page].rows[static_cast<std::size_t>(next_id_) % kPage] = static_cast<Index>(row);
    ++pages_[page].live;
    id_.push_back(next_id_++);
    refresh(row);
  }
  live_ += jobs.size();
  ++version_;
  ++membership_;
  return first_id;
}

std::size_t Epoch::row_of(std::span<const std::int64_t> ids, std::size_t k) const {
  const std::int64_t id = ids[k];
  if (id >= 0 && id < next_id_) {
    const Page& page = pages_[static_cast<std::size_t>(id) / kPage];
    if (!page.rows.empty()) {
      const Index row = page.rows[static_cast<std::size_t>(id) % kPage];
      if (row != kNoRow) return row;
    }
  }
  throw FieldError("ids", k, static_cast<long long>(id), "no such job");
}

void Epoch::update(std::span<const std::int64_t> ids, const Changes& changes) {
  const auto length = [&](const char* field, std::size_t entries) {
    if (entries != 0 && entries != ids.size()) {
      throw std::invalid_argument(std::string(field) + " has " + std::to_string(entries) +
                                  " entries but ids has " + std::to_string(ids.size()));
    }
  };
  length("work", changes.work.size());
  length("weight", changes.weight.size());
  length("deadline", changes.deadline.size());
  length("min_slots", changes.min_slots.size());
  length("max_slots", changes.max_slots.size());
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = row_of(ids, k);
    const auto amount = [&](const char* field, std::span<const double> values) {
      if (!values.empty() && !(std::isfinite(values[k]) && values[k] >= 0.0)) {
        throw FieldError(field, k, values[k], "must be finite and at least 0");
      }
    };
    amount("work", changes.work);
    amount("weight", changes.weight);
    if (!changes.deadline.empty()) {
      const double due = changes.deadline[k];
      if (std::isnan(due) || due == -kInfinity) {
        throw FieldError("deadline", k, due, "must be a time (none: infinity)");
      }
      if (options_.kind == Kind::kLateness && due == kInfinity) {
        throw FieldError("deadline", k, due, "lateness needs a deadline");
      }
    }
    const std::int64_t low = changes.min_slots.empty() ? min_slots_[row] : changes.min_slots[k];
    const std::int64_t high = changes.max_slots.empty() ? max_slots_[row] : changes.max_slots[k];
    if (low < 0 || low > high) {
      throw FieldError("min_slots", k, static_cast<long long>(low),
                       "must be at least 0 and at most max_slots = " + std::to_string(high));
    }
    if (high < 1) throw FieldError("max_slots", k, static_cast<long long>(high), "must be at least 1");
  }
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = row_of(ids, k);
    if (!changes.work.empty()) work_[row] = changes.work[k];
    if (!changes.min_slots.empty()) min_slots_[row] = changes.min_slots[k];
    if (!changes.max_slots.empty()) max_slots_[row] = changes.max_slots[k];
    if (!changes.deadline.empty()) deadline_[row] = changes.deadline[k];
    if (!changes.weight.empty()) weight_[row] = changes.weight[k];
    refresh(row);
  }
  ++version_;
}

void Epoch::remove(std::span<const std::int64_t> ids) {
  for (std::size_t k = 0; k < ids.size(); ++k) row_of(ids, k);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const auto id = static_cast<std::size_t>(ids[k]);
    Page& page = pages_[id / kPage];
    const Index row = page.rows.empty() ? kNoRow : page.rows[id % kPage];
    if (row == kNoRow) continue;  // named twice
    page.rows[id % kPage] = kNoRow;
    if (--page.live == 0 && (id / kPage + 1) * kPage <= static_cast<std::size_t>(next_id_)) {
      page.rows = {};
    }
    work_[row] = 0.0;
    refresh(row);
    id_[row] = -1;
    given_[row] = 0;
    --live_;
  }
  ++version_;
  ++membership_;
}

// Closes the holes; rows stay in order of id.
void Epoch::compact() {
  std::size_t to = 0, steps = 0;
  latest_arrival_ = -kInfinity;
  for (std::size_t from = 0; from < id_.size(); ++from) {
    if (id_[from] < 0) continue;
    const std::size_t first = sla_first_[from];
    sla_first_[to] = steps;
    sla_count_[to] = sla_count_[from];
    for (std::size_t k = 0; k < sla_count_[to]; ++k, ++steps) {
      sla_time_[steps] = sla_time_[first + k];
      sla_penalty_[steps] = sla_penalty_[first + k];
    }
    latest_arrival_ = std::max(latest_arrival_, arrival_[from]);
    const auto id = static_cast<std::size_t>(id_[from]);
    pages_[id / kPage].rows[id % kPage] = static_cast<Index>(to++);
  }
  const auto close = [&](auto& column) {
    std::size_t kept = 0;
    for (std::size_t r = 0; r < id_.size(); ++r) {
      column[kept] = column[r];
      kept += id_[r] >= 0;
    }
    column.resize(to);
  };
  for (auto* column : {&work_, &size_, &arrival_, &weight_, &deadline_, &low_, &room_, &key_}) {
    close(*column);
  }
  for (auto* column : {&min_slots_, &max_slots_, &given_, &before_}) close(*column);
  std::erase_if(id_, [](std::int64_t id) { return id < 0; });
  changed_.assign(to, 0);
  marked_.assign(to, 0);
  sla_first_.resize(to);
  sla_count_.resize(to);
  sla_time_.resize(steps);
  sla_penalty_.resize(steps);
  winners_.clear();
  touched_.clear();
  affected_.clear();
  all_touched_ = true;
}

// A priority that is a number per job, whatever the others do.
bool Epoch::keyed() const {
  if (options_.min_mode == MinMode::kGang || options_.effort) return false;
  if (options_.policy == EpochPolicy::kFifo) return true;
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kSum) return false;
  return options_.kind == Kind::kResponse || options_.kind == Kind::kCompletion ||
         options_.kind == Kind::kStretch || options_.kind == Kind::kLateness;
}

// Back to the minimum, remembering what the job had.
void Epoch::reset(std::size_t row) {
  if (!marked_[row]) {
    marked_[row] = 1;
    before_[row] = given_[row];
    affected_.push_back(static_cast<Index>(row));
  }
  given_[row] = id_[row] >= 0 ? static_cast<std::int64_t>(low_[row]) : 0;
}

void Epoch::give(std::size_t row, double slots) {
  reset(row);
  given_[row] += static_cast<std::int64_t>(slots);
  winners_.push_back(static_cast<Index>(row));
}

void Epoch::decide_by_key() {
  if (all_touched_) {
    for (std::size_t r = 0; r < id_.size(); ++r) reset(r);
  } else {
    for (const Index r : winners_) reset(r);
    for (const Index r : touched_) reset(r);
  }
  winners_.swap(order_);  // who held more than the minimum until now
  winners_.clear();
  selection_.run(key_, room_, static_cast<double>(slots_) - minima_,
                 [&](Index r, double slots) { give(r, slots); });
  if (options_.hysteresis > 0.0) {
    for (const Index r : order_) refresh(r);
    for (const Index r : winners_) refresh(r);
  }
  all_touched_ = false;
}

void Epoch::build_instance() {
  live_rows_.clear();
  for (std::size_t r = 0; r < id_.size(); ++r) {
    if (id_[r] >= 0) live_rows_.push_back(static_cast<Index>(r));
  }
  const std::size_t n = live_rows_.size();
  const auto gather = [&](auto& to, const auto& from) {
    to.resize(n);
    for (std::size_t k = 0; k < n; ++k) to[k] = from[live_rows_[k]];
  };
  gather(live_work_, work_);
  gather(live_size_, size_);
  gather(live_arrival_, arrival_);
  gather(live_weight_, weight_);
  gather(live_deadline_, deadline_);
  gather(live_min_, min_slots_);
  gather(live_max_, max_slots_);
  live_offset_.assign(1, 0);
  live_time_.clear();
  live_penalty_.clear();
  live_ended_.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t r = live_rows_[k];
    for (std::size_t s = sla_first_[r]; s < sla_first_[r] + sla_count_[r]; ++s) {
      live_time_.push_back(sla_time_[s]);
      live_penalty_.push_back(sla_penalty_[s]);
    }
    live_offset_.push_back(static_cast<std::int64_t>(live_time_.size()));
    // A job that ran and has nothing left ends now at the latest; one that never had work, at once.
    live_ended_[k] = size_[r] > 0.0 ? now_ : arrival_[r];
  }
  penalties_.build(planned_jobs(), live_size_, {&options_.kind, 1});
  problem_.build(live_work_, live_ended_, live_min_, live_max_, slots_, now_, options_.min_mode);
  if (options_.policy == EpochPolicy::kFifo) problem_.drop_minima();
}

void Epoch::make_order() {
  const std::size_t n = live_rows_.size();
  order_.resize(n);
  if (options_.policy == EpochPolicy::kFifo) {
    sorter_.sort(live_arrival_, order_);
  } else if (options_.effort) {
    planned_.emplace();
    flex_.plan(problem_, penalties_, options_.aggregate, {*options_.effort, kInfinity}, *planned_);
    order_ = planned_->order;
  } else {
    flex_.own_order(problem_, penalties_, options_.aggregate, order_);
  }
  if (options_.hysteresis > 0.0) {
    // Ranks stand in for keys.
    rank_.resize(n);
    for (std::size_t p = 0; p < n; ++p) {
      const Index k = order_[p];
      const bool holds = static_cast<double>(given_[live_rows_[k]]) > problem_.low[k];
      rank_[k] = static_cast<double>(p + 1) / (holds ? 1.0 + options_.hysteresis : 1.0);
    }
    planned_.reset();
    sorter_.sort(rank_, order_);
  }
}

// The first layer of the packing.
void Epoch::decide_by_order(std::span<const Index> order) {
  double free = problem_.slots;
  if (!problem_.gang) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      share_[k] = problem_.low[k];
      free -= problem_.low[k];
    }
  }
  for (const Index k : order) {
    if (free <= 0.0) break;
    if (problem_.work[k] == 0.0 || (problem_.gang && problem_.low[k] > free)) continue;
    const double base = problem_.gang ? 0.0 : problem_.low[k];
    const double more = std::min(problem_.high[k] - base, free);
    share_[k] = base + more;
    free -= more;
  }
}

// Any policy, by way of an instance of all jobs.
void Epoch::decide_by_instance() {
  build_instance();
  share_.assign(live_rows_.size(), 0.0);
  if (options_.policy == EpochPolicy::kFair || options_.policy == EpochPolicy::kWdeq) {
    const std::span<const double> weight =
        options_.policy == EpochPolicy::kWdeq ? std::span<const double>(live_weight_)
                                              : std::span<const double>();
    waterline_.allocate(problem_, weight, share_);
  } else {
    make_order();
    if (planned_) {  // water-filling may give what no order does
      share_.assign(planned_->allocation.begin(), planned_->allocation.end());
    } else {
      decide_by_order(order_);
    }
  }
  for (std::size_t r = 0; r < id_.size(); ++r) reset(r);
  for (std::size_t k = 0; k < live_rows_.size(); ++k) {
    given_[live_rows_[k]] = static_cast<std::int64_t>(share_[k]);
  }
  winners_.clear();
  all_touched_ = true;
}

void Epoch::decide(double now) {
  if (!std::isfinite(now)) throw std::invalid_argument("now must be finite");
  if (latest_arrival_ > now) {
    for (std::size_t r = 0; r < id_.size(); ++r) {
      if (id_[r] >= 0 && arrival_[r] > now) {
        throw std::invalid_argument("arrival of job " + std::to_string(id_[r]) + " = " +
                                    std::to_string(arrival_[r]) + ": after now = " +
                                    std::to_string(now));
      }
    }
  }
  now_ = now;
  planned_.reset();
  if (minima_stale_) {  // sums this large lose their last digits
    minima_ = 0.0;
    for (const double low : low_) minima_ += low;
    minima_stale_ = minima_ > 4e15;
  }
  for (const Index r : affected_) changed_[r] = 0;
  affected_.clear();
  by_key_ = keyed() && minima_ <= static_cast<double>(slots_);
  if (by_key_) {
    decide_by_key();
  } else {
    decide_by_instance();
  }
  touched_.clear();
  for (const Index r : affected_) {
    changed_[r] = given_[r] != before_[r];
    marked_[r] = 0;
  }
}

void Epoch::copy(std::int64_t* slots, bool* changed) const {
  if (live_ == id_.size()) {
    std::copy(given_.begin(), given_.end(), slots);
    std::copy(changed_.begin(), changed_.end(), changed);
    return;
  }
  std::size_t k = 0;
  for (std::size_t r = 0; r < id_.size(); ++r) {
    if (id_[r] < 0) continue;
    slots[k] = given_[r];
    changed[k++] = changed_[r] != 0;
  }
}

void Epoch::copy_ids(std::int64_t* ids) const {
  for (const std::int64_t id : id_) {
    if (id >= 0) *ids++ = id;
  }
}

Plan Epoch::plan() {
  if (planned_) return *planned_;
  Plan plan;
  if (by_key_) build_instance();
  if (options_.policy == EpochPolicy::kFair || options_.policy == EpochPolicy::kWdeq) {
    const std::span<const double> weight =
        options_.policy == EpochPolicy::kWdeq ? std::span<const double>(live_weight_)
                                              : std::span<const double>();
    baseline_.waterline(problem_, penalties_, options_.aggregate, weight, plan);
    return plan;
  }
  if (by_key_) {
    // With hysteresis the keys already favour today's holders, as the next decision will.
    rank_.resize(live_rows_.size());
    for (std::size_t k = 0; k < live_rows_.size(); ++k) rank_[k] = key_[live_rows_[k]];
    order_.resize(live_rows_.size());
    sorter_.sort(rank_, order_);
  }
  flex_.plan_order(problem_, penalties_, options_.aggregate, order_, true, plan);
  return plan;
}

}  // namespace malleable
