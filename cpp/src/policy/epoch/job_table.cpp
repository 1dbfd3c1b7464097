#include "malleable/policy/epoch/job_table.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"

namespace malleable {
namespace {

// Checks both limits of a row after a change; by_max: only the maximum changes.
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

}  // namespace

void JobTable::append(const JobsView& jobs, std::span<const Kind> kinds, Kind otherwise, double now,
                      MinMode mode) {
  const auto add = [](auto& column, const auto& values) {
    column.insert(column.end(), values.begin(), values.end());
  };
  append_speedups(jobs);
  append_restarts(jobs);
  add(work, jobs.work);
  add(size, jobs.original);
  add(arrival, jobs.arrival);
  add(weight, jobs.weight);
  add(deadline, jobs.deadline);
  add(min_slots, jobs.min_slots);
  add(max_slots, jobs.max_slots);
  outliving_.reserve(work.capacity());  // so that no decision allocates
  arrival.resize(work.size(), now);     // if left out
  const auto add_if_used = [&](auto& column, const auto& values, std::int64_t spare) {
    if (column.empty() && values.empty()) return;
    column.resize(id.size(), spare);
    add(column, values);
    column.resize(work.size(), spare);
  };
  add_if_used(min_mode, jobs.min_mode, static_cast<std::int64_t>(mode));
  add_if_used(preferred, jobs.preferred, 0);
  if (!sla.empty() || !jobs.sla.time.empty()) sla.resize(work.size());
  for (auto* column : {&low, &room}) column->resize(work.size(), 0.0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    kind.push_back(kinds.empty() ? otherwise : kinds[j]);
    ++of_kind_[static_cast<std::size_t>(kind.back())];
    if (!sla.empty()) sla[id.size()].set(jobs.sla.of(j));
    latest_arrival = std::max(latest_arrival, arrival[id.size()]);
    const std::int64_t made = next_id_++;
    enter(made, id.size());
    id.push_back(made);
    const std::size_t row = id.size() - 1;
    done.push_back(std::max(0.0, size[row] - work[row]));
    since.push_back(now);
    outlived.push_back(0);
    work[row] = stated_left(row, work[row]);
    all_work += work[row];
    all_work_error_ += all_work;
  }
}

bool JobTable::arrive(std::size_t row, double now) {
  if (arrival[row] > -kInfinity) return false;
  arrival[row] = latest_arrival = now;
  return true;
}

// Call it before the ids of the jobs are added.
void JobTable::append_speedups(const JobsView& jobs) {
  if (!concave() && !jobs.speedup.curved()) return;
  exponent.resize(id.size(), 1.0);
  rates.resize(id.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto own = jobs.speedup.table(j);
    exponent.push_back(jobs.speedup.power(j));
    rates.emplace_back(own.begin(), own.end());
    curved_ += jobs.speedup.curved(j) ? 1 : 0;
  }
}

// Before the ids of the jobs.
void JobTable::append_restarts(const JobsView& jobs) {
  if (restart.empty() && !jobs.restart.given()) return;
  restart.resize(id.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) restart.push_back(jobs.restart.of(j));
  ready.resize(restart.size(), -kInfinity);
}

bool JobTable::change_restart(std::size_t row, const RestartView& to, std::size_t k) {
  restart.resize(id.size());
  ready.resize(id.size(), -kInfinity);
  const Restart before = std::exchange(restart[row], to.of(k, restart[row]));
  return before != restart[row];
}

bool JobTable::change_speedup(std::size_t row, const SpeedupView& to, std::size_t k) {
  const auto own = to.table(k);
  if (exponent.empty()) {
    if (!to.curved(k)) return false;
    exponent.assign(id.size(), 1.0);
    rates.resize(id.size());
  }
  if (exponent[row] == to.power(k) && std::ranges::equal(rates[row], own)) return false;
  if (curved(row)) --curved_;
  exponent[row] = to.power(k);
  rates[row].assign(own.begin(), own.end());
  if (curved(row)) ++curved_;
  return true;
}

std::span<const Index> JobTable::check(std::span<const std::int64_t> ids, const Changes& changes) {
  check_lengths(changes, ids.size());
  const std::span<const Index> found = rows_of(ids);
  check_amounts("work", changes.work, kLeftRange);
  check_amounts("weight", changes.weight, kWeightRange);
  check_deadlines(changes.deadline);
  if (changes.sla.given()) validate(changes.sla, ids.size(), "ids");
  validate(changes.speedup, ids.size(), "ids");
  validate(changes.restart, ids.size(), "ids");
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = found[k];
    if (!changes.deadline.empty() && info(kind[row]).needs_deadline) {
      check_needed_deadline(kind[row], k, changes.deadline[k]);
    }
    if (changes.min_slots.empty() && changes.max_slots.empty()) continue;
    const std::int64_t least = changes.min_slots.empty() ? min_slots[row] : changes.min_slots[k];
    const std::int64_t most = changes.max_slots.empty() ? max_slots[row] : changes.max_slots[k];
    check_limits(k, least, most, changes.min_slots.empty());
  }
  return found;
}

// A part of the work done (kernel slot_periods), within the allowed range of work.
double JobTable::believed_left(std::size_t row) const {
  return std::min(still_left(std::max(done[row], size[row])), kLeftRange.most);
}

// A job with nothing left, of which nothing was ever done, has not outlived its estimate.
double JobTable::left_now(std::size_t row, double stated) {
  const double believed = believed_left(row);
  const bool outlives = stated == 0.0 && believed >= kWorkRange.least;
  if (outlives && !outlived[row]) outliving_.push_back(id[row]);
  outlived[row] = outlives ? 1 : 0;
  return outlives ? believed : stated;
}

void JobTable::tidy() {
  if (curved_ == 0) {
    exponent.clear();
    rates.clear();
  }
}

bool JobTable::limit(std::size_t row, std::int64_t slots, double least) {
  const double before = low[row];
  if (least != before) {
    minima += least - before;
    minima_stale_ |= std::max(least, before) > 4e9 || minima > 4e15;
    low[row] = least;
  }
  const std::int64_t most = work[row] > 0.0 ? max_slots[row] : kept_by(row);
  room[row] = std::max(0.0, static_cast<double>(std::min(most, slots)) - least);
  return least != before;
}

void JobTable::sum_up() {
  // the relative error that the sum may have, and that of one addition
  constexpr double kDigits = 1e-9, kUnit = 0x1p-53;
  if (kUnit * all_work_error_ > kDigits * all_work) {
    all_work = sum_of(work);
    all_work_error_ = 0.0;
  }
  if (!minima_stale_) return;
  minima = 0.0;
  for (const double least : low) minima += least;
  minima_stale_ = minima > 4e15;
}

double JobTable::rate(std::size_t row, double slots) const {
  if (exponent.empty()) return slots;
  const std::int64_t offset[] = {0, static_cast<std::int64_t>(rates[row].size())};
  return SpeedupView{{&exponent[row], 1}, offset, rates[row]}.at(0, slots);
}

void JobTable::enter(std::int64_t of, std::size_t row) {
  const auto at = static_cast<std::size_t>(of) / kPage;
  if (at >= pages_.size()) pages_.resize(at + 1);
  if (pages_[at].rows.empty()) pages_[at].rows.assign(kPage, kNone);
  ++pages_[at].live;
  place_of(of) = static_cast<Index>(row);
}

void JobTable::leave(std::int64_t of, std::size_t row) {
  place_of(of) = kNone;
  Page& page = pages_[static_cast<std::size_t>(of) / kPage];
  const std::size_t next_page = (static_cast<std::size_t>(of) / kPage + 1) * kPage;
  if (--page.live == 0 && next_page <= static_cast<std::size_t>(next_id_)) page.rows = {};
  minima -= low[row];
  minima_stale_ |= low[row] > 4e9;
  all_work_error_ += all_work;
  all_work -= work[row];
  if (curved(row)) --curved_;
  --of_kind_[static_cast<std::size_t>(kind[row])];
}

void JobTable::state(State& s) {
  each_column(s);
  s(next_id_, outliving_, of_kind_, curved_, minima, minima_stale_, latest_arrival);
  s(all_work, all_work_error_);
  if (!s.reading()) return;
  pages_.clear();
  pages_.resize((static_cast<std::size_t>(next_id_) + kPage - 1) / kPage);
  for (std::size_t row = 0; row < id.size(); ++row) enter(id[row], row);
}

}  // namespace malleable
