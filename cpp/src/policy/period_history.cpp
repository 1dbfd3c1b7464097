#include "malleable/policy/period_history.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/log_times.hpp"

namespace malleable {
namespace {

constexpr double kArrivals = 500.0, kJobsRemembered = 200.0;  // that count most
// Fewer arrivals do not show a load, because sizes differ too much.
constexpr double kFewArrivals = 50.0;
// Prior of the spread: the log-likelihood falls by this per unit of spread.
constexpr double kSmallSpread = 6.0;
// Chance of a job whose size is unrelated to its estimate.
constexpr double kStray = 1e-6;

}  // namespace

// A job has come: its work in whole slot-periods, its size, the value of a second.
void PeriodHistory::arrive(double work, double size, double value) {
  constexpr double kKept = 1.0 - 1.0 / kArrivals;
  arrivals_ = arrivals_ * kKept + 1.0;
  work_ = work_ * kKept + work;
  seconds_ *= kKept;
  size_ = size_ * kKept + size;
  worth_ = worth_ * kKept + size * value;
}

// A job has ended whose size lay between two limits, because decisions hold for a period.
void PeriodHistory::finish(double estimate, double least, double most) {
  if (!(estimate > 0.0) || !(most > 0.0)) return;
  // so that a size equal to the limit is in the interval
  const double above = std::log(most / estimate) + 1e-6;
  const double below = least > 0.0 ? std::log(least / estimate) - 1e-6 : -1e300;
  for (std::size_t k = 0; k < kSpreads.size(); ++k) {
    const double part = normal_above(-above / kSpreads[k]) - normal_above(-below / kSpreads[k]);
    likelihood_[k] =
        likelihood_[k] * (1.0 - 1.0 / kJobsRemembered) + std::log(std::max(part, 0.0) + kStray);
  }
}

double PeriodHistory::load(double slots) const {
  if (!(seconds_ > 0.0) || !(slots > 0.0)) return 0.0;
  return work_ / (seconds_ * slots);
}

bool PeriodHistory::overloaded(double slots) const {
  return arrivals_ >= kFewArrivals && load(slots) > 1.0;
}

// The value of jobs that will come in so many seconds; as many as are here if nothing is known.
double PeriodHistory::coming(double seconds, std::size_t here, double value) const {
  const double jobs = seconds_ > 0.0 ? seconds * arrivals_ / seconds_ : static_cast<double>(here);
  return jobs * (size_ > 0.0 ? worth_ / size_ : value);
}

// The scatter of sizes around their estimates (of logarithms), from the limits seen.
double PeriodHistory::spread() const {
  double sum = 0.0, total = 0.0;
  std::array<double, kSpreads.size()> belief = likelihood_;
  for (std::size_t k = 0; k < kSpreads.size(); ++k) belief[k] -= kSmallSpread * kSpreads[k];
  const double highest = *std::ranges::max_element(belief);
  for (std::size_t k = 0; k < kSpreads.size(); ++k) {
    const double odds = std::exp(belief[k] - highest);
    sum += odds * kSpreads[k];
    total += odds;
  }
  return sum / total;
}

}  // namespace malleable
