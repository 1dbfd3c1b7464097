#include "malleable/kernel/early_reduces.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

constexpr double kQuantile = 0.25;  // CopySeconds::low(): this quantile of the last copying times

// The chance that a standard normal is above b if it is above a, a <= b.
double above_given(double a, double b) {
  constexpr double kFar = 30.0;  // beyond it normal_above() has no digits
  if (a < kFar) return normal_above(b) / normal_above(a);
  return std::exp(0.5 * (a - b) * (a + b)) * (a / b);
}

}  // namespace

// The chance that all maps end within `seconds`: running ones of these ages, and waiting ones.
// Computing stops once it is below `enough`.
double chance_of_ends(std::span<const double> ages, double waiting, const LogTimes& times,
                      double seconds, double enough) {
  const double s = times.scatter();
  const auto running = static_cast<double>(ages.size());
  if (running == 0.0 || !(seconds > 0.0)) return 0.0;
  double chance = 1.0;
  if (waiting > 0.0) {
    // Waiting maps start when running ones have ended, one after the other in each slot.
    seconds -= waiting * times.seconds() / running;
    if (!(seconds > 0.0)) return 0.0;
    chance =
        std::pow(normal_above(-(std::log(seconds) - times.mean) / s), std::min(waiting, running));
  }
  for (const double age : ages) {
    if (chance < enough) break;
    const double now = age > 0.0 ? (std::log(age) - times.mean) / s : -HUGE_VAL;
    const double then = (std::log(age + seconds) - times.mean) / s;
    chance *= 1.0 - (age > 0.0 ? above_given(now, then) : normal_above(then));
  }
  return chance;
}

void CopySeconds::learn(double seconds) {
  last_[count_++ % kKept] = seconds;
  const auto known = static_cast<std::size_t>(std::min<std::uint64_t>(count_, kKept));
  if (known < kLeast) return;
  std::array<double, kKept> sorted = last_;
  const auto place = static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(known - 1));
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(known);
  std::nth_element(sorted.begin(), sorted.begin() + place, end);
  low_ = sorted[static_cast<std::size_t>(place)];
  most_ = *std::max_element(sorted.begin(), end);
}

}  // namespace malleable
