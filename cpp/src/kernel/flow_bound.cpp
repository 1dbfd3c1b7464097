#include "malleable/kernel/flow_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: a profile says how much work a flow can do at most in each span of time after its release,
// if each job runs as early as possible (head), or before its end, if each runs as late as the
// longest path behind it allows (tail); `all_` is the head of all flows together. Times count from
// problem.now. `forced` is the work that a flow with a due time must have done by t.
namespace {

// Roundings of a time that may add up in a place of a profile.
constexpr double kClock = 8.0 * std::numeric_limits<double>::epsilon();
constexpr std::size_t kFewChanges = 256;  // up to this many changes a comparison sort is as fast

}  // namespace

// The work of a profile by time t.
double WorkProfiles::at(std::size_t row, double t) const {
  const auto first = time.begin() + static_cast<std::ptrdiff_t>(offset[row]);
  const auto end = time.begin() + static_cast<std::ptrdiff_t>(offset[row + 1]);
  const auto after = std::upper_bound(first, end, t);
  if (after == first) return 0.0;
  const auto k = static_cast<std::size_t>(after - time.begin()) - 1;
  return rate[k] == 0.0 ? done[k] : done[k] + rate[k] * (t - time[k]);
}

void FlowBound::sort_changes() {
  if (changes_.size() < kFewChanges) {
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.time < b.time; });
    return;
  }
  sweep_time_.resize(changes_.size());
  sweep_order_.resize(changes_.size());
  for (std::size_t k = 0; k < changes_.size(); ++k) sweep_time_[k] = changes_[k].time;
  sorter_.sort(sweep_time_, sweep_order_);
  sorted_.resize(changes_.size());
  for (std::size_t k = 0; k < changes_.size(); ++k) sorted_[k] = changes_[sweep_order_[k]];
  changes_.swap(sorted_);
}

// Appends the profile of work that comes in at the rates of `changes_` and is done at `limit` at
// most.
void FlowBound::append(WorkProfiles& profiles, double limit) {
  sort_changes();
  double time = 0.0, coming = 0.0, waiting = 0.0, done = 0.0;
  const auto point = [&](double rate) {
    const bool same_time =
        profiles.time.size() > profiles.offset.back() && profiles.time.back() == time;
    if (same_time) {
      profiles.rate.back() = rate;
      return;
    }
    if (profiles.rate.size() > profiles.offset.back() && profiles.rate.back() == rate) return;
    profiles.time.push_back(time);
    profiles.done.push_back(done);
    profiles.rate.push_back(rate);
  };
  // Whole slots add up exactly, so the incoming rate ends at 0.
  for (std::size_t k = 0; k <= changes_.size(); ++k) {
    const double next = k < changes_.size() ? changes_[k].time : kInfinity;
    if (waiting > 0.0 && coming < limit) {
      const double empty = time + waiting / (limit - coming);
      if (empty < next) {
        done += limit * (empty - time);
        time = empty;
        waiting = 0.0;
        point(coming);
      }
    }
    if (k == changes_.size()) break;
    const double rate = waiting > 0.0 ? limit : std::min(limit, coming);
    const double span = next - time;
    done += rate * span;
    waiting = std::max(0.0, waiting + (coming - rate) * span);
    time = next;
    coming += changes_[k].rate;
    if (k + 1 < changes_.size() && changes_[k + 1].time == time) continue;
    point(waiting > 0.0 ? limit : std::min(limit, coming));
  }
  profiles.offset.push_back(profiles.time.size());
}

// Computes from a flow's profiles its earliest completion, and the malleable job that represents
// it.
void FlowBound::shape(std::size_t j) {
  const double volume = problem_->volume[j];
  double high = volume / problem_->alone[j], left = 0.0;
  for (const WorkProfiles* profiles : {&head_, &tail_}) {
    for (std::size_t k = profiles->offset[j]; k < profiles->offset[j + 1]; ++k) {
      if (profiles->time[k] > 0.0) high = std::max(high, profiles->done[k] / profiles->time[k]);
      if (profiles->time[k] == 0.0) high = std::max(high, profiles->rate[k]);
    }
    const double end = profiles->time[profiles->offset[j + 1] - 1];
    earliest_[j] = std::max(earliest_[j], problem_->release[j] + end * (1.0 - kRounding));
  }
  for (std::size_t k = tail_.offset[j]; k + 1 < tail_.offset[j + 1]; ++k) {
    const double span = tail_.time[k + 1] - tail_.time[k];
    left += span * (volume - (tail_.done[k] + tail_.rate[k] * span / 2.0));
  }
  if (tail_.offset[j] < tail_.offset[j + 1]) left += tail_.time[tail_.offset[j]] * volume;
  high_[j] = high;
  // Time left after a unit of work, beyond that of a single job with this maximum.
  shift_[j] = std::max(0.0, left / volume * (1.0 - kRounding) - volume / (2.0 * high));
}

void FlowBound::build(const FlowProblem& problem, const std::function<bool()>* late) {
  problem_ = &problem;
  late_ = late;
  const std::size_t f = problem.flows();
  head_.clear();
  tail_.clear();
  all_.clear();
  earliest_.assign(f, 0.0);
  shift_.assign(f, 0.0);
  high_.assign(f, 1.0);
  sweep_.clear();
  for (std::size_t j = 0; j < f; ++j) {
    const auto gather = [&](const std::vector<double>& from, WorkProfiles& profiles) {
      changes_.clear();
      for (std::size_t i = problem.job_offset[j]; i < problem.job_offset[j + 1]; ++i) {
        if (problem.work[i] == 0.0) continue;
        changes_.push_back({from[i], problem.high[i]});
        changes_.push_back({from[i] + problem.work[i] / problem.high[i], -problem.high[i]});
      }
      append(profiles, problem.slots);
    };
    gather(problem.head, head_);
    for (const Change& change : changes_) {
      sweep_.push_back({problem.release[j] + change.time, change.rate});
    }
    gather(problem.tail, tail_);
    earliest_[j] = problem.release[j] + problem.alone[j];
    if (problem.volume[j] > 0.0) shape(j);
  }
  changes_.swap(sweep_);
  append(all_, problem.slots);
  steepest_.assign(f, 0.0);
  for (std::size_t j = 0; j < f; ++j) {
    for (const WorkProfiles* profiles : {&head_, &tail_}) {
      for (std::size_t k = profiles->offset[j]; k < profiles->offset[j + 1]; ++k) {
        steepest_[j] = std::max(steepest_[j], profiles->rate[k]);
      }
    }
  }
  steepest_all_ = 0.0;
  for (const double rate : all_.rate) steepest_all_ = std::max(steepest_all_, rate);
}

// How much rounding of times may change the work that is forced or possible by t: many slots do
// much work between two neighbouring doubles.
double FlowBound::rounding(std::size_t j, double due, double t) const {
  const double reach = std::fabs(due) + problem_->release[j] + t + std::fabs(problem_->now);
  return std::min(problem_->volume[j], steepest_[j] * kClock * reach);
}

double FlowBound::rounding(double t) const { return steepest_all_ * kClock * t; }

// The objective if every flow ended as early as it can alone.
double FlowBound::alone(const Penalties& penalties, Aggregate aggregate) const {
  double sum = 0.0, worst = -kInfinity;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    const double end =
        problem_->volume[j] > 0.0 ? problem_->now + earliest_[j] : problem_->idle_end[j];
    const double paid = penalties(j, end);
    sum += paid;
    worst = std::max(worst, paid);
  }
  if (problem_->flows() == 0) return 0.0;
  return aggregate == Aggregate::kSum ? sum : worst;
}

void FlowBound::deadlines(const Penalties& penalties, double level, std::span<double> due) const {
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    const double latest = penalties.latest(j, level);
    due[j] = std::isfinite(latest) ? latest + tolerance(latest) - problem_->now : latest;
  }
}

double FlowBound::forced(std::size_t j, double due, double t) const {
  const double volume = problem_->volume[j];
  if (due == kInfinity) return 0.0;
  if (t >= due) return volume;
  return std::max(0.0, volume - tail_.at(j, due - t));
}

// Replaces every flow by one malleable job with its volume and largest possible rate.
void FlowBound::relax(Problem& jobs) const {
  jobs.now = problem_->now;
  jobs.slots = problem_->slots;
  jobs.gang = jobs.minima_scaled = jobs.beyond_reach = false;
  jobs.work.assign(problem_->volume.begin(), problem_->volume.end());
  jobs.low.assign(problem_->flows(), 0.0);
  jobs.high.assign(high_.begin(), high_.end());
  jobs.idle_end.assign(problem_->idle_end.begin(), problem_->idle_end.end());
}

// A bound of the sum by mean busy times (the mean of the times at which a job's work is done) of
// the malleable jobs that represent the flows; -infinity if a penalty is not convex.
double FlowBound::busy_bound(const Penalties& penalties, std::span<const double> completion) {
  const std::size_t f = problem_->flows();
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] == 0.0) continue;
    if (penalties.is_custom(j) || !penalties.convex(j, -kInfinity, kInfinity)) return -kInfinity;
  }
  relax(jobs_);
  point_.resize(f);
  at_.resize(f);
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] == 0.0) shift_[j] = 0.0;
    point_[j] = completion[j] - shift_[j];
    at_[j] = earliest_[j] - shift_[j];
  }
  shifted_.build_shifted(penalties, shift_);
  const int rounds = std::clamp(static_cast<int>(2000 / std::max<std::size_t>(f, 1)), 1, 60);
  double bound = mean_busy_time_.bound(jobs_, shifted_, point_, at_, rounds);
  if (!penalties.linear() && rounds > 1) {
    const double end = std::accumulate(jobs_.work.begin(), jobs_.work.end(), 0.0) / problem_->slots;
    for (const double share : {0.3, 0.6, 0.9}) {
      if (is_late()) break;
      for (std::size_t j = 0; j < f; ++j) point_[j] = std::max(at_[j], share * end);
      bound = std::max(bound, mean_busy_time_.bound(jobs_, shifted_, point_, at_, rounds));
    }
  }
  return problem_->released ? bound : std::max(bound, released_bound(penalties));
}

// Simulates one machine as fast as all slots, which always serves the present flow with the largest
// slope per unit of work. The unit counts all work of the flow, which gives the least sum of
// weighted mean busy times (Goemans et al. 2002), or the work left (`by_left`).
void FlowBound::serve(const Penalties& penalties, bool by_left, std::span<double> busy,
                      std::span<double> end) {
  const std::size_t f = problem_->flows();
  by_release_.clear();
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] > 0.0) by_release_.push_back(static_cast<Index>(j));
  }
  std::sort(by_release_.begin(), by_release_.end(), [&](Index a, Index b) {
    return std::pair{problem_->release[a], a} < std::pair{problem_->release[b], b};
  });
  work_.assign(problem_->volume.begin(), problem_->volume.end());
  std::fill(busy.begin(), busy.end(), 0.0);
  std::copy(problem_->release.begin(), problem_->release.end(), end.begin());
  here_.clear();
  const auto come = [&](Index j) {
    const double slope = penalties.linear() ? penalties.slope()[j] : 1.0;
    here_.emplace_back(slope / (by_left ? work_[j] : problem_->volume[j]), ~j);
    std::push_heap(here_.begin(), here_.end());
  };
  double now = 0.0;
  for (std::size_t next = 0; next < by_release_.size() || !here_.empty();) {
    if (here_.empty()) now = std::max(now, problem_->release[by_release_[next]]);
    while (next < by_release_.size() && problem_->release[by_release_[next]] <= now) {
      come(by_release_[next++]);
    }
    std::pop_heap(here_.begin(), here_.end());
    const Index j = ~here_.back().second;
    here_.pop_back();
    const double done = now + work_[j] / problem_->slots;
    const double news =
        next < by_release_.size() ? problem_->release[by_release_[next]] : kInfinity;
    const double until = std::min(done, news);
    busy[j] += (until - now) * problem_->slots * (now + until) / 2.0 / problem_->volume[j];
    work_[j] -= (until - now) * problem_->slots;
    now = until;
    if (done > news && work_[j] > 0.0) {
      come(j);
    } else {
      end[j] = now;
    }
  }
}

void FlowBound::ends_by_work_left(const Penalties& penalties, std::span<double> end) {
  point_.resize(problem_->flows());
  serve(penalties, /*by_left=*/true, point_, end);
}

// The same for linear penalties and flows that arrive later.
double FlowBound::released_bound(const Penalties& penalties) {
  if (!penalties.linear()) return -kInfinity;
  const std::size_t f = problem_->flows();
  point_.resize(f);
  at_.resize(f);
  serve(penalties, /*by_left=*/false, point_, at_);
  double bound = 0.0, rising = 0.0;
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] == 0.0) {
      bound += penalties(j, problem_->idle_end[j]);
      continue;
    }
    const double left = shift_[j] + problem_->volume[j] / (2.0 * high_[j]);
    bound += penalties(j, problem_->now + point_[j] + left);
    rising += penalties.slope()[j] * (point_[j] + left);
  }
  return bound - static_cast<double>(f) * kRounding * rising;
}

}  // namespace malleable
