#include "malleable/policy/epoch/catch_up_rule.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr double kHalf = 0.5;   // chosen with benchmarks/rivals, section events
constexpr double kSteps = 4.0;  // steps while it doubles

// Rounds a time to kSteps steps for each doubling.
double in_steps(double time) {
  return std::exp2(std::round(std::log2(std::max(time, kTiny)) * kSteps) / kSteps);
}

}  // namespace

void CatchUpRule::state(State& s) { s(key_, selection_, beside_); }

void CatchUpRule::changed(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const double work = jobs.work[row], most = jobs.low[row] + jobs.room[row];
  double& key = key_[row];
  key = 0.0;
  if (!(work > 0.0)) return;
  key = jobs.smith_ratio(row) / (beside_ + (most > 0.0 ? work / most : 0.0));
  if (at.favoured(row)) key /= 1.0 + at.options.hysteresis;
}

bool CatchUpRule::decide(Scene& at) {
  const double beside = in_steps(kHalf * at.jobs.all_work / at.capacity());
  if (beside != beside_) {
    beside_ = beside;
    for (std::size_t row = 0; row < key_.size(); ++row) changed(at, row);
  }
  return KeyRule::decide(at);
}

}  // namespace malleable
