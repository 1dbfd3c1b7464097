#include "malleable/kernel/steepness.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// How much more of 1 - x is best for each part of the slots that coming work needs.
constexpr double kComing = 2.5;
// 1 - x falls so from one steepness to the next; the last one is the order.
constexpr std::size_t kSteps = 14;
constexpr double kStep = 0.8;
// What an x that is too large or too small costs: in a batch, and more where work keeps coming.
constexpr double kOver = 0.11, kUnder = 0.075, kMoreOver = 0.1, kMoreUnder = -0.04;

}  // namespace

double steepness(const SpeedupCurve& chances, double load) {
  const double part = std::min(1.0, 2.0 * load);
  const double over = kOver + kMoreOver * part, under = kUnder + kMoreUnder * part;
  const double step = -std::log(kStep), most = step * static_cast<double>(kSteps - 1);
  SpeedupCurve best;  // -log(1 - x)
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double rest = (1.0 - speedup_at(g)) * (1.0 + kComing * load);
    best[g] = rest >= 1.0 ? 0.0 : rest <= 0.0 ? most : std::min(most, -std::log(rest));
  }
  std::size_t chosen = 0;
  double least = 0.0;
  for (std::size_t k = 0; k < kSteps; ++k) {
    double cost = 0.0;
    for (std::size_t g = 0; g < kSpeedups; ++g) {
      const double off = step * static_cast<double>(k) - best[g];
      cost += chances[g] * (off > 0.0 ? over : under) * off * off;
    }
    if (k == 0 || cost < least) {
      chosen = k;
      least = cost;
    }
  }
  return chosen + 1 == kSteps ? 1.0 : 1.0 - std::pow(kStep, static_cast<double>(chosen));
}

void ComingLoad::came(double now, double work) {
  Job& place = jobs_[count_++ % kJobs];
  kept_ = std::max(0.0, kept_ - place.work) + work;
  place = {now, work};
  there_ += work;
  ++present_;
}

void ComingLoad::left(double work) {
  if (present_ > 0) --present_;
  there_ = present_ == 0 ? 0.0 : std::max(0.0, there_ - work);
}

double ComingLoad::load(double now, double slots) const {
  if (count_ == 0) return 0.0;
  const std::uint64_t first = count_ > kJobs ? count_ - kJobs : 0;
  const double since = jobs_[first % kJobs].time, could = slots * (now - since);
  if (!(could > 0.0)) return 0.0;
  double before = 0.0;  // of those that came at the first moment
  for (std::uint64_t k = first; k < count_ && jobs_[k % kJobs].time <= since; ++k) {
    before += jobs_[k % kJobs].work;
  }
  const double part = std::min(1.0, std::max(0.0, kept_ - before) / could);
  return part * could / (could + there_);
}

}  // namespace malleable
