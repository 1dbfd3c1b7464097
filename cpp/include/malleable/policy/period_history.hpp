// What an epoch learns from its loop.
//
// Load: arriving work, rounded up to whole slot-periods (one slot for one period), over time; the
// last 500 arrivals count most. Beyond 1 no rule is stable. The penalties of jobs a second are
// averaged with their work as weight, so that many small jobs, which hardly wait, count little.
//
// Errors of sizes: a job that ends between two decisions has done between what it did before and
// that and the work of its slots until then. The spread of log(work / estimate) is found by the
// likelihood of these intervals for a few spreads; the last 200 jobs count most. O(1) a job.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "malleable/kernel/log_times.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class PeriodHistory {
 public:
  // Notes arriving work [slot-seconds in whole slot-periods], or time that passed [s]. A job of
  // this size pays `value` a second.
  void arrive(double work, double size = 0.0, double value = 0.0) {
    constexpr double kKept = 1.0 - 1.0 / kArrivals;
    for (double* sum : {&arrivals_, &work_, &seconds_, &size_, &worth_}) *sum *= kKept;
    arrivals_ += 1.0;
    work_ += work;
    size_ += size;
    worth_ += size * value;
  }
  void pass(double seconds) { seconds_ += seconds; }
  // Notes the end of a job that has done more than `least` and at most `most`.
  void finish(double estimate, double least, double most) {
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

  // Whether the load of `slots` is above 1, as far as it is known.
  bool overloaded(double slots) const {
    if (!(seconds_ > 0.0) || !(slots > 0.0)) return false;
    return arrivals_ >= kFewArrivals && work_ / (seconds_ * slots) > 1.0;
  }
  // The expected sum of what jobs that come within `seconds` pay a second. If no time has passed
  // yet, it counts as many jobs as are `here`, of the same `value`.
  double coming(double seconds, std::size_t here, double value) const {
    const double jobs = seconds_ > 0.0 ? seconds * arrivals_ / seconds_ : static_cast<double>(here);
    return jobs * (size_ > 0.0 ? worth_ / size_ : value);
  }
  // The expected spread of log(work / estimate). O(1).
  double spread() const {
    const auto belief = beliefs();
    const double highest = *std::ranges::max_element(belief);
    double sum = 0.0, total = 0.0;
    for (std::size_t k = 0; k < kSpreads.size(); ++k) {
      const double odds = std::exp(belief[k] - highest);
      sum += odds * kSpreads[k];
      total += odds;
    }
    return sum / total;
  }
  // The likeliest one; 0: sizes are right.
  double likeliest_spread() const {
    const auto belief = beliefs();
    const auto best = std::ranges::max_element(belief) - belief.begin();
    return best == 0 ? 0.0 : kSpreads[static_cast<std::size_t>(best)];
  }

  void state(State& s) { s(arrivals_, work_, seconds_, size_, worth_, likelihood_); }

 private:
  static constexpr double kArrivals = 500.0, kJobsRemembered = 200.0;  // that count most
  // Fewer arrivals do not show a load, because sizes differ too much.
  static constexpr double kFewArrivals = 50.0;
  // Prior of the spread: the log-likelihood falls by this per unit of spread.
  static constexpr double kSmallSpread = 6.0;
  // Chance of a job whose size is unrelated to its estimate.
  static constexpr double kStray = 1e-6;
  static constexpr std::array<double, 6> kSpreads{0.05, 0.25, 0.5, 0.75, 1.0, 1.5};

  std::array<double, kSpreads.size()> beliefs() const {  // logarithms, by spread
    std::array<double, kSpreads.size()> belief = likelihood_;
    for (std::size_t k = 0; k < kSpreads.size(); ++k) belief[k] -= kSmallSpread * kSpreads[k];
    return belief;
  }

  double arrivals_ = 0.0, work_ = 0.0, seconds_ = 0.0;  // recent arrivals, their work, and the time
  // of recent arrivals: sums of sizes, and of values times sizes
  double size_ = 0.0, worth_ = 0.0;
  std::array<double, kSpreads.size()> likelihood_{};  // logarithms
};

}  // namespace malleable
