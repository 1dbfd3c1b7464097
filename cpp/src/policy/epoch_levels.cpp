// Decisions of maxima: by the latest start for the deadlines of the optimal level, of many jobs by
// a selection. Who is where behind those who get slots is looked up when it is asked for.
//
// Such slots begin an optimal schedule. Let t be the first time before which the work that the
// deadlines force (kernel forced_work) fills all slots. To stay at the level, jobs that are past
// their latest start at t must share now what minima leave. Together they can use it all, and their
// latest starts come before those of all others. A job whose latest start is now must get its
// maximum, and comes first.
//
// Where all penalties are lines, each row keeps its own, and the level is found from the last one
// without an instance (kernel linear_level). Three or four passes, O(J). Other penalties: by way of
// an instance, O(J log J).
#include <algorithm>
#include <cmath>

#include "malleable/kernel/forced_work.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// Of fewer jobs the whole order is made at once.
constexpr std::size_t kManyLevels = 20'000;
constexpr double kSteepestLine = 1e200;  // slope that levels are found by

MALLEABLE_VECTOR_CLONES
void starts_of_lines(const LinearLevel::Jobs& jobs, double level, double now, double* start) {
  const double *work = jobs.work.data(), *low = jobs.low.data(), *room = jobs.room.data();
  const double *at = jobs.at.data(), *slope = jobs.slope.data();
  const std::size_t n = jobs.size();
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) {
    const double latest = at[r] + level / slope[r];
    const double due = latest + tolerance(latest) - now;
    start[r] = room[r] > 0.0 ? ((low[r] + room[r]) * due - work[r]) / room[r] : kInfinity;
  }
}

}  // namespace

// As in Penalties; 0 where there is none that a level can be found by.
void Epoch::set_line(std::size_t row) {
  const Kind kind = kind_[row];
  double slope = weight_[row];
  if (info(kind).per_size) {
    slope = size_[row] > slope / kSteepestLine ? slope / size_[row] : 0.0;
  }
  lead_[row] = slope;
  const bool due = kind == Kind::kLateness || kind == Kind::kTardiness;
  start_[row] = due ? deadline_[row] : kind == Kind::kCompletion ? 0.0 : arrival_[row];
}

// From the last level, without an instance; false: not this way.
bool Epoch::decide_by_level() {
  if (keys_ != Keys::kLevel || id_.size() < kManyLevels || concave()) return false;
  if (options_.min_mode == MinMode::kGang || options_.effort || options_.predictable) return false;
  if (options_.hysteresis > 0.0 || minima_ > static_cast<double>(slots_)) return false;
  const LinearLevel::Jobs jobs{work_, low_, room_, start_, lead_};
  // Tardiness is a line from 0 on, and nothing below that.
  const double floor = of_kind_[static_cast<std::size_t>(Kind::kTardiness)] > 0 ? 0.0 : -kInfinity;
  const auto found = line_level_.find(jobs, static_cast<double>(slots_), now_, level_, floor);
  if (!found) return false;
  level_ = *found;
  rank_.resize(id_.size());
  starts_of_lines(jobs, level_, now_, rank_.data());
  select(rank_);
  built_ = false;
  order_.clear();
  return true;
}

// By way of an instance.
bool Epoch::share_by_level(const Problem& problem) {
  constexpr double kLess = 0.01;  // the level seldom falls by as much
  if (options_.policy != EpochPolicy::kFlex || options_.aggregate != Aggregate::kMax) return false;
  if (options_.effort || options_.hysteresis > 0.0 || problem.gang || has_strict()) return false;
  const std::size_t n = id_.size();
  if (n < kManyLevels || &problem != &problem_) return false;
  rank_.resize(n);
  const double before = level_ - kLess * std::fabs(level_);
  level_ = flex_.own_level(problem, penalties_, before, rank_);
  double free = problem.slots;
  rest_.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    rank_[r] = minimum_until(problem.work[r], problem.low[r], problem.high[r], rank_[r]);
    share_[r] = problem.low[r];
    free -= problem.low[r];
    rest_[r] = problem.high[r] - problem.low[r];
  }
  selection_.reset();
  selection_.run(rank_, rest_, free, [&](Index r, double slots) { share_[r] += slots; });
  order_.clear();
  return true;
}

}  // namespace malleable
