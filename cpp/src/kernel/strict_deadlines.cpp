#include "malleable/kernel/strict_deadlines.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/model/problem.hpp"

namespace malleable {
namespace {

constexpr double kLightest = 1e-6;  // share of the largest weight; below it, weights count as this
constexpr double kProof = 1e-3;     // share of the cheapest miss; a bound above it is no rounding

}  // namespace

// Replaces infinite penalties by finite ones (`miss_`) that outweigh all others; false if there are
// none.
bool StrictDeadlines::study(const Penalties& penalties, double now, double horizon,
                            std::span<const double> work, std::span<const double> idle_end) {
  const std::size_t n = work.size();
  if (!penalties.may_be_infinite()) return false;
  now_ = now;
  limit_.assign(n, kInfinity);
  exact_.assign(n, false);
  bool any = false;
  double heaviest = 0.0, others = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    limit_[j] = penalties.last_finite(j);
    exact_[j] = penalties.is_custom(j);
    if (limit_[j] < kInfinity) {
      any = true;
      heaviest = std::max(heaviest, penalties.weight(j));
    }
  }
  if (!any) return false;
  pure_ = true;
  lost_ = false;
  for (std::size_t j = 0; j < n; ++j) {
    const bool idle = work[j] == 0.0;
    if (idle) lost_ |= penalties(j, idle_end[j]) == kInfinity;
    const double end = std::min(idle ? idle_end[j] : now + horizon, limit_[j]);
    if (end == -kInfinity) continue;
    const double early = penalties(j, std::min(now, end)), late = penalties(j, end);
    if (late < kInfinity) others += std::max(std::fabs(early), std::fabs(late));
    pure_ &= early == 0.0 && late == 0.0;
  }
  miss_.assign(n, kInfinity);  // finite penalties are not cut
  least_ = kInfinity;
  for (std::size_t j = 0; j < n; ++j) {
    if (limit_[j] == kInfinity) continue;
    const double share = heaviest > 0.0 ? penalties.weight(j) / heaviest : 1.0;
    miss_[j] = std::max(share, kLightest) * (others > 0.0 ? 2.0 / kLightest * others : 1.0);
    least_ = std::min(least_, miss_[j]);
  }
  finite_.build_finite(penalties, miss_);
  return true;
}

// The last times, from now, of finite penalties; `stretch` times their tolerance later.
void StrictDeadlines::due(double stretch, std::span<double> due) const {
  for (std::size_t j = 0; j < limit_.size(); ++j) {
    const double limit = limit_[j];
    due[j] = !std::isfinite(limit) ? limit
             : exact_[j]           ? limit - now_
                                   : limit + stretch * tolerance(limit) - now_;
  }
}

// Value, bound and status of a plan for the true penalties.
void StrictDeadlines::settle(const Penalties& penalties, Aggregate aggregate,
                             std::span<const double> completion, bool impossible, double& value,
                             double& lower_bound, Status& status) const {
  value = evaluate(penalties, aggregate, completion);
  // If only strict deadlines count, a bound above 0 means a miss.
  impossible |= lost_ || (pure_ && lower_bound > kProof * least_);
  if (pure_) lower_bound = 0.0;
  if (value == kInfinity) {
    if (impossible) {
      lower_bound = kInfinity;
      status = Status::kInfeasible;
    } else if (status != Status::kInfeasible && status != Status::kTruncated) {
      status = Status::kUnmet;
    }
  }
  lower_bound = std::min(lower_bound, value);
}

}  // namespace malleable
