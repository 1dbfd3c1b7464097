#include "malleable/kernel/on_time_set.hpp"

#include <algorithm>

#include "malleable/kernel/quantiles.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: forced work is the work that a job must have done by a time so that it ends by `due`; room
// is the work that still fits before each time of the grid. A gang runs on at least its minimum, or
// not at all.
struct Column {
  double work, low, high, due;
};

// room += sign * work forced beyond the minimum.
MALLEABLE_VECTOR_CLONES
void add_forced(const Column& job, double sign, const double* time, double* room, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k) {
    const double before = job.due > time[k] ? job.due - time[k] : 0.0;
    const double forced = job.work - job.high * before, own = job.low * time[k];
    const double least = own < job.work ? own : job.work;
    room[k] += sign * (forced > least ? forced - least : 0.0);
  }
}

// The first block of times in which the demand does not fit; n: none.
MALLEABLE_VECTOR_CLONES
std::size_t first_over(const Column& job, const double* time, const double* room, std::size_t n) {
  constexpr std::size_t kBlock = 64;  // looked at together, as vectors
  for (std::size_t from = 0; from < n; from += kBlock) {
    const std::size_t to = from + kBlock < n ? from + kBlock : n;
    int over = 0;
#pragma omp simd reduction(| : over)
    for (std::size_t k = from; k < to; ++k) {
      const double before = job.due > time[k] ? job.due - time[k] : 0.0;
      const double forced = job.work - job.high * before, own = job.low * time[k];
      const double least = own < job.work ? own : job.work;
      over |= (forced > least ? forced - least : 0.0) > room[k];
    }
    if (over != 0) return from;
  }
  return n;
}

}  // namespace

// The grid: at most so many due times, and the end of all work.
void OnTimeSet::choose_times(const Problem& problem, std::span<const double> due,
                             std::size_t times) {
  const std::size_t n = problem.size();
  double total = 0.0;
  for (const double work : problem.work) total += work;
  const double end = total / problem.slots;
  times_.clear();
  for (const double d : due) {
    if (d > 0.0 && d < end) times_.push_back(d);
  }
  for (std::size_t j = 0; j < n && !problem.gang; ++j) {  // where a minimum has done all
    const double alone = problem.low[j] > 0.0 ? problem.work[j] / problem.low[j] : kInfinity;
    if (alone < end) times_.push_back(alone);
  }
  // Quantiles of a regular sample are close to those of all.
  const std::size_t stride = times_.size() / (16 * times) + 1;
  for (std::size_t k = 0; stride > 1 && k * stride < times_.size(); ++k) {
    times_[k] = times_[k * stride];
  }
  times_.resize((times_.size() + stride - 1) / stride);
  keep_quantiles(times_, times);
  if (times_.empty() || times_.back() < end) times_.push_back(end);
}

// An empty set; `spare`: the part of the slots that it leaves free.
void OnTimeSet::begin(const Problem& problem, std::span<const double> due, std::size_t times,
                      double spare) {
  problem_ = &problem;
  choose_times(problem, due, times);
  // The room that all minima leave.
  const std::size_t m = times_.size(), n = problem.size();
  std::vector<double> level(m + 1, 0.0), ramp(m + 1, 0.0);
  for (std::size_t j = 0; j < n && !problem.gang; ++j) {
    if (!(problem.low[j] > 0.0)) continue;
    const double alone = problem.work[j] / problem.low[j];
    const auto at = std::lower_bound(times_.begin(), times_.end(), alone) - times_.begin();
    ramp[0] += problem.low[j];
    ramp[static_cast<std::size_t>(at)] -= problem.low[j];
    level[static_cast<std::size_t>(at)] += problem.work[j];
  }
  room_.resize(m);
  double done = 0.0, rate = 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    done += level[k];
    rate += ramp[k];
    room_[k] =
        (1.0 - spare) * problem.slots * times_[k] * (1.0 + kRounding) - done - rate * times_[k];
  }
  tight_ = 0;
}

// A job with a due time; `first` is the first time of the grid at which more than its minimum is
// forced.
OnTimeSet::Demand OnTimeSet::demand(Index job, double due) const {
  const Problem& problem = *problem_;
  Demand own{problem.work[job], problem.gang ? 0.0 : problem.low[job], problem.high[job], due, 0};
  if (due < times_.back()) {  // rounded down to the grid
    const auto after = std::upper_bound(times_.begin(), times_.end(), due);
    own.due = after == times_.begin() ? 0.0 : *(after - 1);
  }
  const double spare = own.high - own.low;
  const double turn = spare > 0.0 ? (own.high * own.due - own.work) / spare : kInfinity;
  own.first = static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), turn) -
                                       times_.begin());
  return own;
}

// Tests first the time at which the last job did not fit (tight_).
bool OnTimeSet::fits(const Demand& job) {
  if (job.work > job.high * job.due) return false;
  if (job.first >= times_.size()) return true;
  if (more(job, tight_) > room_[tight_]) return false;
  const std::size_t count = times_.size() - job.first;
  const std::size_t over = first_over({job.work, job.low, job.high, job.due}, &times_[job.first],
                                      &room_[job.first], count);
  if (over == count) return true;
  tight_ = job.first + over;
  while (more(job, tight_) <= room_[tight_]) ++tight_;
  return false;
}

// Takes the forced work of a job from the room, or gives it back (`sign` 1).
void OnTimeSet::take(const Demand& job, double sign) {
  if (job.first >= times_.size()) return;
  add_forced({job.work, job.low, job.high, job.due}, sign, &times_[job.first], &room_[job.first],
             times_.size() - job.first);
}

// Adds a job if it fits with this due time.
bool OnTimeSet::add(Index job, double due) {
  if (!(due > 0.0)) return false;
  const Demand own = demand(job, due);
  if (own.work <= own.low * due) return true;  // on its minimum
  if (!fits(own)) return false;
  take(own, -1.0);
  return true;
}

void OnTimeSet::drop(Index job, double due) {
  const Demand own = demand(job, due);
  if (!(own.work <= own.low * due)) take(own, 1.0);
}

}  // namespace malleable
