// The loop that asks an epoch (sim/periodic_loop.hpp) at each call and lets the jobs run until the
// next one. Terms: a row is the place of a job in the given jobs; a call is a decision of the
// epoch; a rare call comes after more than one period, and slots that become free before it go to
// the next jobs in the epoch's order. `restart` is what a change of slots costs a job: it works
// from `works` on.
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
constexpr double kCallCost = 50.0;      // cost of a call beside its jobs, in jobs
constexpr double kRareCalls = 4.0;      // the next rare call comes after the time so far over this
constexpr std::size_t kMostTried = 64;  // most gangs that are tried for slots that became free

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

// Comparison for heaps whose top is the first event.
constexpr auto later = [](const auto& a, const auto& b) {
  return a.time != b.time ? a.time > b.time : a.place > b.place;
};

}  // namespace

PeriodicLoop::PeriodicLoop(Epoch epoch, const PeriodicLoopOptions& options)
    : epoch_(std::move(epoch)), options_(options) {}

void PeriodicLoop::begin(const JobsView& jobs, std::span<const double> believed) {
  jobs_ = jobs;
  believed_ = believed.empty() ? jobs.work : believed;
  const std::size_t n = jobs.size();
  left_.assign(jobs.work.begin(), jobs.work.end());
  start_.assign(n, kInfinity);
  completion_.assign(n, kInfinity);
  promised_.assign(n, kInfinity);
  allocation_.assign(n, 0);
  last_piece_.assign(n, kNoPiece);
  if (!jobs.restart.given()) return;
  had_.assign(n, 0);
  ready_.assign(n, -kInfinity);
  options_.exact = kInfinity;
}

// Begins with jobs that have not arrived; `believed` is the work that the epoch is told.
void PeriodicLoop::feed(const JobsView& jobs, std::span<const double> believed,
                        std::span<const Kind> kinds) {
  begin(jobs, believed);
  kinds_ = kinds;
  plan_call();
}

// Begins with the jobs of the epoch, which has decided already.
void PeriodicLoop::adopt(const JobsView& jobs) {
  begin(jobs, {});
  arrived_ = jobs.size();
  for (std::size_t k = 0; k < jobs.size(); ++k) adopted_.emplace(epoch_.ids()[k], k);
  if (!epoch_.ready().empty()) {
    had_.assign(epoch_.given().begin(), epoch_.given().end());
    ready_.assign(epoch_.ready().begin(), epoch_.ready().end());
  }
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
  if (options_.period == 0.0) {
    next_ = std::max(arrival, options_.start);
    for (const Running& job : running_) next_ = std::min(next_, job.end);
    return;
  }
  if (arrived_ == ended_count_) {
    call_ = std::max(call_, std::ceil((arrival - options_.start) / options_.period));
    if (time_of(call_) < arrival) ++call_;
  }
  next_ = time_of(call_);
}

// Tells the epoch what happened since the last call.
void PeriodicLoop::report_changes(double now) {
  // Ends between rare calls show nothing about sizes.
  if (rare()) {
    epoch_.remove(gone_);
  } else {
    epoch_.finish(gone_);
  }
  if (!ran_.empty() && !epoch_.options().unknown) {
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
    if (jobs_.work[row] > 0.0) continue;  // done on arrival
    start_[row] = completion_[row] = jobs_.arrival[row];
    gone_.push_back(id + static_cast<std::int64_t>(k));
    ++ended_count_;
  }
  epoch_.remove(gone_);
  gone_.clear();
}

// Records that the job held its slots until `to`.
void PeriodicLoop::keep_piece(const Running& job, double to) {
  if (!options_.pieces || !(to > job.from)) return;
  std::size_t& last = last_piece_[job.row];
  if (last != kNoPiece && pieces_.end[last] == job.from && pieces_.slots[last] == job.slots) {
    pieces_.end[last] = to;
    return;
  }
  last = pieces_.size();
  pieces_.add(static_cast<Index>(job.row), job.from, to, static_cast<double>(job.slots));
  if (!had_.empty()) pieces_.works.push_back(job.works);
}

// From when on a job works that has so many slots from now on.
double PeriodicLoop::works_from(std::size_t row, double now, std::int64_t slots) {
  if (had_.empty()) return now;
  if (const std::int64_t had = std::exchange(had_[row], slots); had != slots) {
    ready_[row] = now + jobs_.restart.of(row).cost(had, slots);
  }
  return std::max(now, ready_[row]);
}

// Lists the rows with slots from `now` on, and their ends if nothing changes.
void PeriodicLoop::list_running(double now) {
  running_.clear();
  const auto ids = epoch_.ids();
  const auto given = epoch_.given();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t row = row_of(ids[k]);
    const double works = works_from(row, now, given[k]);
    if (given[k] == 0) continue;
    const auto slots = static_cast<double>(given[k]);
    if (totals_.calls == 1) allocation_[row] = given[k];
    const double end = works + left_[row] / rate_of(jobs_, row, slots);
    running_.push_back({row, ids[k], given[k], now, end, works});
    if (start_[row] < kInfinity) continue;
    start_[row] = now;
    order_.push_back(static_cast<Index>(row));
  }
}

void PeriodicLoop::note_promised() {
  if (!epoch_.options().predictable) return;
  const auto ends = epoch_.promised();
  for (std::size_t k = 0; k < ends.size(); ++k) promised_[row_of(epoch_.ids()[k])] = ends[k];
}

// Counts the slots that a job held until a call, idle ones from its end on.
void PeriodicLoop::count_held(const Running& job, double call) {
  const auto slots = static_cast<double>(job.slots);
  keep_piece(job, std::min(job.end, call));
  totals_.held += slots * (call - job.from);
  totals_.idle += slots * std::max(0.0, call - job.end);
}

void PeriodicLoop::end(const Running& job, double time) {
  left_[job.row] = 0.0;
  completion_[job.row] = time;
  ++ended_count_;
  gone_.push_back(job.id);
}

// Holds the slots until the next call.
void PeriodicLoop::pass_period() {
  for (const Running& job : running_) {
    const double rest = job.end > next_ ? left_after(job, next_) : 0.0;
    count_held(job, next_);
    if (rest > kRounding * jobs_.work[job.row]) {
      left_[job.row] = rest;
      ran_.push_back(job.id);
      seen_.push_back(std::max(0.0, believed_[job.row] - (jobs_.work[job.row] - rest)));
    } else {
      end(job, std::min(job.end, next_));
    }
  }
}

// The work that a running job has left at a time.
double PeriodicLoop::left_after(const Running& job, double time) const {
  if (!(time > job.works)) return left_[job.row];
  return left_[job.row] * ((job.end - time) / (job.end - job.works));
}

// The first multiple of the period from a time on, or the time itself if doubles cannot tell
// multiples apart.
double PeriodicLoop::call_after(double time) const {
  const double call = std::ceil((time - options_.start) / options_.period);
  for (const double near : {call - 1.0, call, call + 1.0}) {
    if (time_of(near) >= time) return time_of(near);
  }
  return time;
}

// Ends a job before a call; returns its slots, which are free from then on.
double PeriodicLoop::end_before(Running& job, double call) {
  count_held(job, call);
  end(job, job.end);
  return static_cast<double>(std::exchange(job.slots, 0));
}

// Returns the slots that a job cannot use in its last period, which are free from the start of that
// period.
double PeriodicLoop::trim(Running& job, double call) {
  const double left = left_after(job, call), slots = static_cast<double>(job.slots);
  count_held(job, call);
  const double kept =
      std::max(slot_periods(left, options_.period), static_cast<double>(jobs_.min_slots[job.row]));
  left_[job.row] = left;
  job.slots = static_cast<std::int64_t>(std::min(slots, kept));
  job.from = job.works = call;
  job.end = call + left / static_cast<double>(job.slots);
  return slots - static_cast<double>(job.slots);
}

// Adds the events of a job: its end, and before it the call at which it needs fewer slots.
void PeriodicLoop::expect(std::size_t place) {
  const auto add = [&](double time) {
    events_.push_back({time, place, running_[place].end});
    std::push_heap(events_.begin(), events_.end(), later);
  };
  const Running& job = running_[place];
  add(job.end);
  if (jobs_.speedup.given()) return;
  const double last = time_of(std::floor((job.end - options_.start) / options_.period));
  if (last > job.from && last < job.end) add(last);
}

// Gives the job as many free slots as it can use from a call on; false: too few for it.
bool PeriodicLoop::give(std::int64_t id, double call, double& free) {
  const std::size_t row = row_of(id), place = place_[row];
  if (!(left_[row] > 0.0)) return true;
  const bool runs = place != kNoPiece;
  const double held = runs ? static_cast<double>(running_[place].slots) : 0.0;
  const double left = runs ? left_after(running_[place], call) : left_[row];
  auto most = static_cast<double>(std::min(jobs_.max_slots[row], epoch_.slots()));
  if (!jobs_.speedup.given()) most = std::min(most, slot_periods(left, options_.period));
  const double all = held + std::min(free, most - held);
  if (!(all > held)) return true;
  const auto least = static_cast<double>(jobs_.min_slots[row]);
  if (epoch_.options().min_mode == MinMode::kGang && all < least) return false;
  if (runs) {
    count_held(running_[place], call);
    left_[row] = left;
  } else {
    place_[row] = running_.size();
    running_.push_back({row, id, 0, 0.0, 0.0, 0.0});
    if (start_[row] == kInfinity) order_.push_back(static_cast<Index>(row));
    start_[row] = std::min(start_[row], call);
  }
  Running& job = running_[place_[row]];
  job.slots = static_cast<std::int64_t>(all);
  job.from = job.works = call;
  job.end = call + left / rate_of(jobs_, row, all);
  free -= all - held;
  expect(place_[row]);
  return true;
}

// Gives free slots down the order of jobs.
void PeriodicLoop::hand_out(std::span<const std::int64_t> line, double call, double& free) {
  std::size_t tried = 0;
  for (std::size_t k = served_; k < line.size() && free > 0.0 && tried < kMostTried; ++k) {
    const bool served = give(line[k], call, free);
    if (!served) ++tried;
    if (served && k == served_ && free > 0.0) ++served_;
  }
}

// Hands on the slots that become free before the next call.
void PeriodicLoop::pass_on_slots() {
  const std::vector<std::int64_t> line = epoch_.order();
  served_ = 0;
  place_.assign(jobs_.size(), kNoPiece);
  events_.clear();
  double free = static_cast<double>(epoch_.slots());
  for (std::size_t k = 0; k < running_.size(); ++k) {
    place_[running_[k].row] = k;
    expect(k);
    free -= static_cast<double>(running_[k].slots);
  }
  while (!events_.empty()) {
    const double call = call_after(events_.front().time);
    if (!(call < next_)) break;
    while (!events_.empty() && events_.front().time <= call) {
      std::pop_heap(events_.begin(), events_.end(), later);
      const Event event = events_.back();
      events_.pop_back();
      Running& job = running_[event.place];
      if (job.slots == 0 || job.end != event.end) continue;
      if (event.time == event.end) {
        free += end_before(job, call);
      } else if (event.end > call) {
        free += trim(job, call);
        expect(event.place);
      }
    }
    hand_out(line, call, free);
  }
  std::erase_if(running_, [](const Running& job) { return job.slots == 0; });
}

bool PeriodicLoop::advance(double until) {
  while (next_ < until) {
    if (poll_ && totals_.calls % kPollEvery == kPollEvery - 1) poll_();
    const double now = next_;
    if (!decided_) report_changes(now);
    const double before = call_++;
    if (arrived_ > ended_count_) {
      if (!decided_) epoch_.decide_at(now, options_.knows_period ? options_.period : 0.0);
      decided_ = false;
      ++totals_.calls;
      totals_.overloaded += epoch_.overloaded() ? 1 : 0;
      jobs_looked_at_ += static_cast<double>(epoch_.size()) + kCallCost;
      list_running(now);
      note_promised();
      if (rare()) call_ = std::max(call_, before + std::floor(before / kRareCalls));
      plan_call();
      if (rare() && next_ < kInfinity) pass_on_slots();
      if (next_ < kInfinity) pass_period();
    }
    if (arrived_ > ended_count_) continue;
    running_.clear();
    plan_call();
  }
  return next_ == kInfinity;
}

}  // namespace malleable
