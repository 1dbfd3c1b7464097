#include "malleable/kernel/backup_gain.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
namespace {

constexpr double kOfStragglers = 500.0;  // one task in so many is a straggler
// Least seconds of both attempts together, over the seconds of one.
constexpr double kLeastBoth = 1.0 / 3.0;

// Gauss and Hermite's points and weights of a standard normal.
struct Draw {
  double z, weight;
};
constexpr Draw kDraws[] = {
    {-3.7504397177257425, 5.4826885597221787e-4}, {-2.3667594107345413, 3.0757123967586497e-2},
    {-1.1544053947399682, 0.24012317860501271},   {0.0, 0.45714285714285713},
    {1.1544053947399682, 0.24012317860501271},    {2.3667594107345413, 3.0757123967586497e-2},
    {3.7504397177257425, 5.4826885597221787e-4},
};

// The time T of a task: log-normal with mean 1, or, for a straggler, P(T > t) = 1 / (1 + t)^2.
// After t: the chance that it still runs, and E[max(0, T - t)].
class Times {
 public:
  explicit Times(double scatter) : scatter_(scatter) {}
  double goes_on(double t) const {
    const double far = 1.0 / (1.0 + t);
    return kOrdinary * normal_above(place(t)) + kStraggler * far * far;
  }
  double left(double t) const {
    const double z = place(t), ordinary = normal_above(z - scatter_) - t * normal_above(z);
    return kOrdinary * std::max(0.0, ordinary) + kStraggler / (1.0 + t);
  }
  double draw(double z) const { return std::exp(scatter_ * (z - 0.5 * scatter_)); }

 private:
  // chances that a task is a straggler, and that it is not
  static constexpr double kStraggler = 1.0 / kOfStragglers, kOrdinary = 1.0 - kStraggler;

  double place(double t) const { return std::log(t) / scatter_ + 0.5 * scatter_; }

  double scatter_;
};

}  // namespace

// gain: the seconds that a second attempt saves, over the seconds that both run; chance: that it
// ends first. The second attempt copies first, for `copying` seconds.
BackupGain backup_gain(double age, const LogTimes& times, double copying) {
  const Times one(times.scatter());
  const double mean = times.seconds(), old = std::max(0.0, age) / mean, copies = copying / mean;
  double saved = 0.0, chance = 0.0;
  for (const auto& [z, weight] : kDraws) {
    const double ends = old + copies + one.draw(z);
    saved += weight * one.left(ends);
    chance += weight * one.goes_on(ends);
  }
  const double here = one.goes_on(old), both = one.left(old) - saved;
  return {saved / std::max(kLeastBoth * here * (1.0 + copies), both), chance / here};
}

}  // namespace malleable
