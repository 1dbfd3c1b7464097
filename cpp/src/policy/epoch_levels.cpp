// Decisions of maxima of many jobs: by the deadlines of the optimal level, ties by longest path,
// which a selection sees as the last digits. Who is where behind those who get slots is looked up
// when it is asked for.
//
// Where all penalties are lines, each row keeps its own, and the level is found from the last one
// without an instance (kernel linear_level). Three or four passes, O(J). Other penalties: by way of
// an instance, O(J log J).
#include <algorithm>
#include <cmath>

#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {
namespace {

// Of fewer jobs the whole order is made at once.
constexpr std::size_t kManyLevels = 20'000;
constexpr double kSteepestLine = 1e200;  // slope that levels are found by

// A deadline that a selection takes for earlier where the job needs longer.
inline double with_path(double due, double path) {
  return due - kSameTime * std::fabs(due) * path / (path + 1.0);
}

MALLEABLE_VECTOR_CLONES
void deadlines_of_lines(const LinearLevel::Jobs& jobs, double level, double now, double* due) {
  const double *work = jobs.work.data(), *low = jobs.low.data(), *room = jobs.room.data();
  const double *at = jobs.at.data(), *slope = jobs.slope.data();
  const std::size_t n = jobs.size();
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) {
    const double latest = at[r] + level / slope[r];
    due[r] = with_path(latest + tolerance(latest) - now, work[r] / (low[r] + room[r]));
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
  start_[row] = kind == Kind::kLateness     ? deadline_[row]
                : kind == Kind::kCompletion ? 0.0
                                            : arrival_[row];
}

// From the last level, without an instance; false: not this way.
bool Epoch::decide_by_level() {
  if (keys_ != Keys::kLevel || id_.size() < kManyLevels || concave()) return false;
  if (options_.min_mode == MinMode::kGang || options_.effort || options_.predictable) return false;
  if (options_.hysteresis > 0.0 || minima_ > static_cast<double>(slots_)) return false;
  const LinearLevel::Jobs jobs{work_, low_, room_, start_, lead_};
  const auto found = line_level_.find(jobs, static_cast<double>(slots_), now_, level_);
  if (!found) return false;
  level_ = *found;
  rank_.resize(id_.size());
  deadlines_of_lines(jobs, level_, now_, rank_.data());
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
    if (rank_[r] < kInfinity) rank_[r] = with_path(rank_[r], problem.work[r] / problem.high[r]);
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
