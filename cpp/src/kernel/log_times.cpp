#include "malleable/kernel/log_times.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace malleable {
namespace {

constexpr double kLeastDeviation = 1e-3;  // because times are divided by it
constexpr double kFar = 30.0;             // beyond it normal_above() has no digits

}  // namespace

double normal_above(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

double LogTimes::scatter() const { return std::max(deviation, kLeastDeviation); }

double LogTimes::seconds() const {
  const double s = scatter();
  return std::exp(mean + 0.5 * s * s);
}

// The mean time left of a task that has run for `age`.
double LogTimes::left_after(double age) const {
  if (!(age > 0.0)) return seconds();
  const double s = scatter(), z = (std::log(age) - mean) / s;
  if (z >= std::max(kFar, 2.0 * s)) {
    // Far out, normal_above(z) is nearly the normal density at z over z + 1 / z.
    const double u = z - s;
    return age * s * (1.0 - 1.0 / (z * u)) / (u + 1.0 / u);
  }
  return std::max(0.0, seconds() * normal_above(z - s) / normal_above(z) - age);
}

}  // namespace malleable
