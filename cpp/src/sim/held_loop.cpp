#include "malleable/sim/held_loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr std::int64_t kPollEvery = 4096;  // calls
constexpr auto kNoPiece = std::numeric_limits<std::size_t>::max();

JobsView rows_of(const JobsView& jobs, std::size_t first, std::size_t count) {
  const auto part = [&](auto column) {
    return column.empty() ? column : column.subspan(first, count);
  };
  const auto offsets = [&](auto column) {
    return column.empty() ? column : column.subspan(first, count + 1);
  };
  JobsView some;
  some.arrival = part(jobs.arrival);
  some.weight = part(jobs.weight);
  some.deadline = part(jobs.deadline);
  some.original = part(jobs.original);
  some.sla = {offsets(jobs.sla.offset), jobs.sla.time, jobs.sla.penalty};
  some.work = part(jobs.work);
  some.min_slots = part(jobs.min_slots);
  some.max_slots = part(jobs.max_slots);
  some.speedup = {part(jobs.speedup.exponent), offsets(jobs.speedup.offset), jobs.speedup.rate};
  return some;
}

}  // namespace

HeldLoop::HeldLoop(Epoch epoch, const HeldLoopOptions& options)
    : epoch_(std::move(epoch)), options_(options) {}

void HeldLoop::begin(const JobsView& jobs, std::span<const double> believed) {
  jobs_ = jobs;
  believed_ = believed.empty() ? jobs.work : believed;
  const std::size_t n = jobs.size();
  left_.assign(jobs.work.begin(), jobs.work.end());
  start_.assign(n, kInfinity);
  completion_.assign(n, kInfinity);
  told_.assign(n, kInfinity);
  last_piece_.assign(n, kNoPiece);
}

void HeldLoop::feed(const JobsView& jobs, std::span<const double> believed,
                    std::span<const Kind> kinds) {
  begin(jobs, believed);
  kinds_ = kinds;
  plan_call();
}

void HeldLoop::adopt(const JobsView& jobs) {
  begin(jobs, {});
  arrived_ = jobs.size();
  for (std::size_t k = 0; k < jobs.size(); ++k) adopted_.emplace(epoch_.ids()[k], k);
  decided_ = true;
  if (!jobs.work.empty()) next_ = options_.start;
}

// Sets the time of the next call at which a job is in the system: infinite if there is none.
void HeldLoop::plan_call() {
  const double arrival = arrived_ < jobs_.size() ? jobs_.arrival[arrived_] : kInfinity;
  // Whoever has no slots now has none at the next call either, unless somebody comes.
  if (running_.empty() && arrival == kInfinity) {
    next_ = kInfinity;
    return;
  }
  if (options_.period == 0.0) {
    next_ = std::max(arrival, options_.start);
    for (const Running& job : running_) next_ = std::min(next_, job.end);
    return;
  }
  const auto time_of = [&](std::int64_t call) {
    return options_.start + static_cast<double>(call) * options_.period;
  };
  if (arrived_ == ended_count_) {
    const double calls = std::ceil((arrival - options_.start) / options_.period);
    call_ = std::max(call_, static_cast<std::int64_t>(calls));
    if (time_of(call_) < arrival) ++call_;
  }
  next_ = time_of(call_);
}

// What happened since the last call.
void HeldLoop::tell(double now) {
  epoch_.finish(gone_);
  if (!ran_.empty()) {
    Epoch::Changes changes;
    changes.work = seen_;
    epoch_.update(ran_, changes);
  }
  gone_.clear();
  ran_.clear();
  seen_.clear();
  const std::size_t first = arrived_;
  while (arrived_ < jobs_.size() && jobs_.arrival[arrived_] <= now) ++arrived_;
  if (arrived_ == first) return;
  const std::size_t count = arrived_ - first;
  JobsView some = rows_of(jobs_, first, count);
  some.work = believed_.subspan(first, count);
  const auto kinds = kinds_.size() > 1 ? kinds_.subspan(first, count) : std::span<const Kind>();
  const std::int64_t id = epoch_.add(some, kinds);
  rows_.resize(static_cast<std::size_t>(id) + count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t row = first + k;
    rows_[static_cast<std::size_t>(id) + k] = row;
    if (jobs_.work[row] > 0.0) continue;  // done when it came
    start_[row] = completion_[row] = jobs_.arrival[row];
    gone_.push_back(id + static_cast<std::int64_t>(k));
    ++ended_count_;
  }
  epoch_.remove(gone_);
  gone_.clear();
}

void HeldLoop::keep_piece(std::size_t row, std::int64_t slots, double from, double to) {
  if (!options_.pieces || !(to > from)) return;
  std::size_t& last = last_piece_[row];
  if (last != kNoPiece && pieces_.end[last] == from && pieces_.slots[last] == slots) {
    pieces_.end[last] = to;
    return;
  }
  last = pieces_.size();
  pieces_.add(static_cast<Index>(row), from, to, static_cast<double>(slots));
}

// The rows that have slots from `now` on, and when each would end if nothing changed.
void HeldLoop::list_running(double now) {
  running_.clear();
  const auto ids = epoch_.ids();
  const auto given = epoch_.given();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (given[k] == 0) continue;
    const std::size_t row = row_of(ids[k]);
    const auto slots = static_cast<double>(given[k]);
    const double rate = jobs_.speedup.given() ? jobs_.speedup.at(row, slots) : slots;
    running_.push_back({row, ids[k], given[k], now + left_[row] / rate});
    if (start_[row] < kInfinity) continue;
    start_[row] = now;
    order_.push_back(static_cast<Index>(row));
  }
}

void HeldLoop::note_told() {
  if (!epoch_.options().predictable) return;
  const auto ends = epoch_.told();
  for (std::size_t k = 0; k < ends.size(); ++k) told_[row_of(epoch_.ids()[k])] = ends[k];
}

// From `now` until the next call slots stay as decided.
void HeldLoop::hold(double now) {
  for (const Running& job : running_) {
    const std::size_t row = job.row;
    const double until = std::min(job.end, next_), slots = static_cast<double>(job.slots);
    const double rest = job.end > next_ ? left_[row] * ((job.end - next_) / (job.end - now)) : 0.0;
    keep_piece(row, job.slots, now, until);
    totals_.held += slots * (next_ - now);
    if (rest > kRounding * jobs_.work[row]) {
      left_[row] = rest;
      ran_.push_back(job.id);
      seen_.push_back(std::max(0.0, believed_[row] - (jobs_.work[row] - rest)));
      continue;
    }
    left_[row] = 0.0;
    completion_[row] = until;
    ++ended_count_;
    gone_.push_back(job.id);
    totals_.idle += slots * (next_ - until);
  }
}

bool HeldLoop::advance(double until) {
  while (next_ < until) {
    if (poll_ && totals_.calls % kPollEvery == kPollEvery - 1) poll_();
    const double now = next_;
    if (!decided_) tell(now);
    ++call_;
    if (arrived_ > ended_count_) {
      if (!decided_) epoch_.decide(now, std::nullopt, options_.told ? options_.period : 0.0);
      decided_ = false;
      ++totals_.calls;
      list_running(now);
      note_told();
      plan_call();
      if (next_ < kInfinity) hold(now);
    }
    if (arrived_ > ended_count_) continue;
    running_.clear();
    plan_call();
  }
  return next_ == kInfinity;
}

}  // namespace malleable
