// The loop that asks an epoch (sim/periodic_loop.hpp) at each call and lets the jobs run until the
// next one. Terms: a row is the place of a job in the given jobs; a call is a decision of the
// epoch. `restart` is what a change of slots costs a job: it works from `works` on.
#include "malleable/sim/periodic_loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr std::int64_t kPollEvery = 4096;  // calls
constexpr auto kNoPiece = std::numeric_limits<std::size_t>::max();
constexpr double kCallCost = 50.0;  // cost of a call beside its jobs, in jobs

// The jobs of rows `first` to `first + count`.
JobsView rows_of(const JobsView& jobs, std::size_t first, std::size_t count) {
  JobsView some = jobs;
  some.work = jobs.work.subspan(first, count);
  JobColumns::each(some, [&](const char*, auto& column, std::size_t rows, bool) {
    if (rows != kAnyLength && !column.empty()) column = column.subspan(first, rows);
  });
  return some;
}

// The speed of a job with so many slots.
double rate_of(const JobsView& jobs, std::size_t row, double slots) {
  return jobs.speedup.given() ? jobs.speedup.at(row, slots) : slots;
}

}  // namespace

PeriodicLoop::PeriodicLoop(Epoch epoch, const PeriodicLoopOptions& options)
    : epoch_(std::move(epoch)), options_(options) {}

void PeriodicLoop::begin(const JobsView& jobs) {
  jobs_ = jobs;
  const std::size_t n = jobs.size();
  left_.assign(jobs.work.begin(), jobs.work.end());
  if (believed_.empty()) believed_ = left_;
  for (auto* times : {&plan_.start, &plan_.completion, &promised_}) times->assign(n, kInfinity);
  plan_.allocation.assign(n, 0);
  last_piece_.assign(n, kNoPiece);
  if (jobs.restart.given()) options_.exact = kInfinity;
}

// Begins with jobs that have not arrived; `believed` is the work that the epoch is told.
void PeriodicLoop::feed(const JobsView& jobs, std::vector<double> believed,
                        std::vector<Kind> kinds) {
  believed_ = std::move(believed);
  kinds_ = std::move(kinds);
  begin(jobs);
  plan_call();
}

// Begins with the jobs of the epoch, which has decided already.
void PeriodicLoop::adopt(const JobsView& jobs) {
  begin(jobs);
  arrived_ = jobs.size();
  for (std::size_t k = 0; k < jobs.size(); ++k) adopted_.emplace(epoch_.ids()[k], k);
  decided_ = true;
  if (!jobs.work.empty()) next_ = options_.start;
}

// Sets the time of the next call at which a job is in the system: infinite if there is none.
void PeriodicLoop::plan_call() {
  const double arrival = arrived_ < jobs_.size() ? jobs_.arrival[arrived_] : kInfinity;
  // If no job has slots now, none will have any at the next call, unless a job comes.
  if (running_.empty() && arrival == kInfinity) {
    next_ = kInfinity;
    return;
  }
  double end = kInfinity;
  for (const Running& job : running_) end = std::min(end, job.end);
  if (options_.period == 0.0) {
    next_ = std::min(end, std::max(arrival, options_.start));
    return;
  }
  const auto call_from = [this](double time) {
    call_ = std::max(call_, std::ceil((time - options_.start) / options_.period));
  };
  if (arrived_ == ended_count_) {
    call_from(arrival);
    if (time_of(call_) < arrival) ++call_;
  }
  if (rare()) call_from(end);
  // Doubles may not tell multiples apart.
  next_ = rare() ? std::max(time_of(call_), end) : time_of(call_);
}

void PeriodicLoop::report_left() {
  Epoch::Changes changes;
  changes.work = seen_;
  epoch_.update(ran_, changes);
}

// Tells the epoch what happened since the last call.
void PeriodicLoop::report_changes(double now) {
  // Ends between rare calls show nothing about sizes.
  if (rare()) {
    epoch_.remove(gone_);
  } else {
    epoch_.finish(gone_);
  }
  if (!ran_.empty() && !epoch_.options().unknown) report_left();
  gone_.clear();
  ran_.clear();
  seen_.clear();
  const std::size_t first = arrived_;
  while (arrived_ < jobs_.size() && jobs_.arrival[arrived_] <= now) ++arrived_;
  if (arrived_ == first) return;
  const std::size_t count = arrived_ - first;
  JobsView some = rows_of(jobs_, first, count);
  some.work = std::span(believed_).subspan(first, count);
  const auto kinds =
      kinds_.size() > 1 ? std::span(kinds_).subspan(first, count) : std::span<Kind>();
  const std::int64_t id = epoch_.add(some, kinds);
  rows_.resize(static_cast<std::size_t>(id) + count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t row = first + k;
    rows_[static_cast<std::size_t>(id) + k] = row;
    if (jobs_.work[row] > 0.0) continue;  // done on arrival
    plan_.start[row] = plan_.completion[row] = jobs_.arrival[row];
    gone_.push_back(id + static_cast<std::int64_t>(k));
    ++ended_count_;
  }
  epoch_.remove(gone_);
  gone_.clear();
}

// Records that the job held its slots until `to`.
void PeriodicLoop::keep_piece(const Running& job, double to) {
  if (!options_.pieces || !(to > job.from)) return;
  Pieces& pieces = plan_.pieces;
  std::size_t& last = last_piece_[job.row];
  if (last != kNoPiece && pieces.end[last] == job.from && pieces.slots[last] == job.slots) {
    pieces.end[last] = to;
    return;
  }
  last = pieces.size();
  pieces.add(static_cast<Index>(job.row), job.from, to, static_cast<double>(job.slots));
  if (jobs_.restart.given()) pieces.works.push_back(job.works);
}

// Lists the rows with slots from `now` on, and their ends if nothing changes.
void PeriodicLoop::list_running(double now) {
  running_.clear();
  const auto ids = epoch_.ids();
  const auto given = epoch_.given();
  const auto ready = epoch_.ready();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = row_of(ids[k]);
    const double works = ready.empty() ? now : std::max(now, ready[k]);
    if (given[k] == 0) continue;
    const auto slots = static_cast<double>(given[k]);
    if (totals_.calls == 1) plan_.allocation[row] = given[k];
    const double end = works + left_[row] / rate_of(jobs_, row, slots);
    running_.push_back({row, ids[k], given[k], now, end, works});
    if (plan_.start[row] < kInfinity) continue;
    plan_.start[row] = now;
    plan_.order.push_back(static_cast<Index>(row));
  }
}

// Holds the slots until the next call; they idle from the end of the job on.
void PeriodicLoop::pass_period() {
  for (const Running& job : running_) {
    double rest = job.end > next_ ? left_[job.row] : 0.0;
    if (next_ > job.works) rest *= (job.end - next_) / (job.end - job.works);
    const double end = std::min(job.end, next_);
    keep_piece(job, end);
    totals_.held += static_cast<double>(job.slots) * (next_ - job.from);
    totals_.idle += static_cast<double>(job.slots) * (next_ - end);
    if (rest > kRounding * jobs_.work[job.row]) {
      left_[job.row] = rest;
      ran_.push_back(job.id);
      seen_.push_back(std::max(0.0, believed_[job.row] - (jobs_.work[job.row] - rest)));
    } else {
      left_[job.row] = 0.0;
      plan_.completion[job.row] = end;
      ++ended_count_;
      gone_.push_back(job.id);
    }
  }
}

// Ends all jobs as a plan without a period does, their work being counted in whole slot-periods.
void PeriodicLoop::run_ahead(double now) {
  const auto ids = epoch_.ids();
  ran_.assign(ids.begin(), ids.end());
  for (const std::int64_t id : ran_) {
    const double whole = options_.period * slot_periods(left_[row_of(id)], options_.period);
    seen_.push_back(std::min(whole, kWorkRange.most));
  }
  report_left();
  epoch_.decide_at(now, /*period=*/0.0);
  const Plan rest = epoch_.plan(/*detail=*/false);
  for (std::size_t k = 0; k < ran_.size(); ++k) {
    const std::size_t row = row_of(ran_[k]);
    const auto most = static_cast<double>(std::min(jobs_.max_slots[row], epoch_.slots()));
    const double unused = (seen_[k] - left_[row]) / rate_of(jobs_, row, most);
    plan_.completion[row] = std::max(now, rest.completion[k] - unused);
  }
  ended_count_ = jobs_.size();
  next_ = kInfinity;
}

bool PeriodicLoop::advance(double until) {
  while (next_ < until) {
    if (poll_ && totals_.calls % kPollEvery == kPollEvery - 1) poll_();
    const double now = next_;
    if (!decided_) report_changes(now);
    ++call_;
    if (arrived_ > ended_count_) {
      if (options_.ahead && rare()) {
        run_ahead(now);
        break;
      }
      if (!decided_) epoch_.decide_at(now, options_.knows_period ? options_.period : 0.0);
      decided_ = false;
      ++totals_.calls;
      totals_.overloaded += epoch_.overloaded() ? 1 : 0;
      jobs_looked_at_ += static_cast<double>(epoch_.size()) + kCallCost;
      list_running(now);
      const auto ends = epoch_.options().predictable ? epoch_.promised() : std::vector<double>();
      for (std::size_t k = 0; k < ends.size(); ++k) promised_[row_of(epoch_.ids()[k])] = ends[k];
      plan_call();
      if (next_ < kInfinity) pass_period();
    }
    if (arrived_ > ended_count_) continue;
    running_.clear();
    plan_call();
  }
  return next_ == kInfinity;
}

}  // namespace malleable
