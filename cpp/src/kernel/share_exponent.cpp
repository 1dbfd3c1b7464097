#include "malleable/kernel/share_exponent.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

// Terms: x is the share exponent (0: equal shares, 1: the order of sizes); s tasks of a job do s^p.

// How much more of 1 - x is best for each part of the slots that coming work needs.
constexpr double kComingWeight = 2.25;
// Equal shares are never best, because sizes carry information.
constexpr double kMostRest = 0.7;
// The number of exponents, between which 1 - x falls by equal factors; the last one is the order.
constexpr std::size_t kShareExponents = 14;
constexpr double kStep = 0.8;  // that factor
// Cost of an x that is too large or too small: in a batch, and the addition while work keeps
// coming.
constexpr double kOver = 0.11, kUnder = 0.075, kMoreOver = 0.1, kMoreUnder = -0.04;

// The load is that of at least so many jobs, and over so many times the time that the slots need
// for the present work.
constexpr std::uint64_t kLeast = 64;
constexpr double kAhead = 4.0;
// The weight of a job that left is multiplied by this for each job that leaves after it.
constexpr double kRemembered = 1.0 - 1.0 / 256.0;

}  // namespace

// The exponent of least expected cost over the chances of p; `load`: the part of the slots that
// coming work needs.
double share_exponent(const SpeedupCurve& chances, double load) {
  const double part = std::min(1.0, 2.0 * load);
  const double over = kOver + kMoreOver * part, under = kUnder + kMoreUnder * part;
  const double step = -std::log(kStep), most = step * static_cast<double>(kShareExponents - 1);
  SpeedupCurve best;  // -log(1 - x)
  for (std::size_t g = 0; g < kSpeedups; ++g) {
    const double rest = (1.0 - speedup_at(g)) * (1.0 + kComingWeight * load);
    best[g] = rest <= 0.0 ? most : std::min(most, -std::log(std::min(rest, kMostRest)));
  }
  std::size_t chosen = 0;
  double least = 0.0;
  for (std::size_t k = 0; k < kShareExponents; ++k) {
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
  return chosen + 1 == kShareExponents ? 1.0 : 1.0 - std::pow(kStep, static_cast<double>(chosen));
}

void ComingLoad::came(double now, double work) {
  jobs_[count_++ % kJobs] = {now, came_};
  came_ += work;
  there_ += work;
  ++present_;
}

// A job has left that was believed to have this work and took so many slot-seconds.
void ComingLoad::left(double work, double took) {
  if (present_ > 0) --present_;
  there_ = present_ == 0 ? 0.0 : std::max(0.0, there_ - work);
  believed_ = kRemembered * believed_ + work;
  took_ = kRemembered * took_ + took;
}

// The first job from `first` on that came after a time.
std::uint64_t ComingLoad::later(std::uint64_t first, double time) const {
  std::uint64_t end = count_;
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (jobs_[middle % kJobs].time <= time) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

// The work of the last jobs that came, over what the slots could do meanwhile, corrected by how
// much longer or shorter than believed earlier jobs were.
double ComingLoad::load(double now, double slots) const {
  if (count_ == 0 || !(slots > 0.0)) return 0.0;
  const double times = believed_ > 0.0 && took_ > 0.0 ? took_ / believed_ : 1.0;
  const double need = there_ * times;
  const std::uint64_t oldest = count_ > kJobs ? count_ - kJobs : 0;
  const std::uint64_t first = std::min(std::max(oldest, count_ - std::min(count_, kLeast)),
                                       later(oldest, now - kAhead * need / slots));
  const double since = jobs_[first % kJobs].time, could = slots * (now - since);
  if (!(could > 0.0)) return 0.0;
  // Jobs that came at the first moment do not count, because no time passed before them.
  const std::uint64_t next = later(first, since);
  const double came = next == count_ ? 0.0 : came_ - jobs_[next % kJobs].before;
  return std::min(1.0, came * times / could) * could / (could + need);
}

}  // namespace malleable
