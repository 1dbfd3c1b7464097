// The bound that fits the objective: by demand for max, by prices of times for sums of steps and of
// bent lines, by mean busy times for linear and custom penalties. `value` is that of a schedule,
// which no bound exceeds.
#include "malleable/kernel/lower_bound.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

double LowerBound::run(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       std::span<const double> completion, double value, bool quick,
                       std::span<const double> earliest) {
  const std::size_t n = problem.size();
  if (n == 0) return 0.0;
  if (earliest.empty()) {
    earliest_.resize(n);
    earliest_completions(problem, earliest_);
    earliest = earliest_;
  }
  absolute_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    absolute_[j] = problem.work[j] > 0.0 ? problem.now + earliest[j] : problem.idle_end[j];
  }
  double bound = evaluate(penalties, aggregate, absolute_);
  if (!(value > bound)) return value;
  if (aggregate == Aggregate::kMax) {
    return demand_bound_.level(problem, penalties, bound, value, 1.0);
  }
  if (!penalties.linear() &&
      prices_.begin(problem, penalties, earliest, completion, LagrangianBound::times(n, quick))) {
    bound = std::max(bound, prices_.improve(value, LagrangianBound::steps(n, quick)));
    return std::min(bound, value);
  }
  // Linear or custom penalties.
  const int rounds = quick ? 1 : std::clamp(static_cast<int>(2000 / n), 1, 60);
  bound = std::max(bound, mean_busy_time_.bound(problem, penalties, completion, earliest, rounds));
  // Rounding must not lift a bound above a schedule that exists.
  return std::min(bound, value);
}

}  // namespace malleable
