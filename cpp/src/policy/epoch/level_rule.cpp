#include "malleable/policy/epoch/level_rule.hpp"

#include <cmath>

#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr double kSteepestLine = 1e200;  // largest slope for which levels are found

// The latest starts of jobs for the deadlines of a level.
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

bool LevelRule::of_lines(const JobTable& jobs) {
  std::uint64_t lines = jobs.count(Kind::kTardiness);
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    if (kKinds[k].steady) lines += jobs.count(static_cast<Kind>(k));
  }
  return lines == jobs.rows();
}

void LevelRule::grow(std::size_t rows) {
  for (auto* column : {&slope_, &zero_}) column->resize(rows, 0.0);
}
void LevelRule::close(const RowsGone& gone) {
  for (auto* column : {&slope_, &zero_}) gone(*column);
}
void LevelRule::state(State& s) { s(slope_, zero_, line_level_, level_, selection_); }

// Slope and zero as in Penalties; slope 0 if no level can be found.
void LevelRule::changed(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const Kind kind = jobs.kind[row];
  double slope = jobs.weight[row];
  if (info(kind).per_size) {
    slope = jobs.size[row] > slope / kSteepestLine ? slope / jobs.size[row] : 0.0;
  }
  slope_[row] = slope;
  const bool due = kind == Kind::kLateness || kind == Kind::kTardiness;
  zero_[row] = due ? jobs.deadline[row] : kind == Kind::kCompletion ? 0.0 : jobs.arrival[row];
}

bool LevelRule::applies(const Scene& at) const {
  return at.jobs.rows() >= kManyLevels && !(at.options.hysteresis > 0.0) && KeyRule::applies(at);
}

bool LevelRule::decide(Scene& at) {
  const LinearLevel::Jobs jobs{at.jobs.work, at.jobs.low, at.jobs.room, zero_, slope_};
  // Tardiness is a line from 0 on, and 0 below.
  const double floor = at.jobs.count(Kind::kTardiness) > 0 ? 0.0 : -kInfinity;
  const auto found = line_level_.find(jobs, at.capacity(), at.now, level_, floor);
  if (!found) return false;
  level_ = *found;
  key_.resize(at.jobs.rows());
  starts_of_lines(jobs, level_, at.now, key_.data());
  select(at, key_);
  return true;
}

}  // namespace malleable
