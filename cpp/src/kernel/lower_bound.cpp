#include "malleable/kernel/lower_bound.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

double LowerBound::run(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       std::span<const double> completion, double value, bool quick) {
  const std::size_t n = problem.size();
  if (n == 0) return 0.0;
  if (quick && aggregate == Aggregate::kSum && penalties.linear()) {
    return std::min(mean_busy_time_.quick_bound(problem, penalties, completion), value);
  }
  earliest_.resize(n);
  absolute_.resize(n);
  earliest_completions(problem, earliest_);
  for (std::size_t j = 0; j < n; ++j) {
    absolute_[j] = problem.work[j] > 0.0 ? problem.now + earliest_[j] : problem.idle_end[j];
  }
  double bound = evaluate(penalties, aggregate, absolute_);
  if (!(value > bound)) return value;
  if (aggregate == Aggregate::kMax) {
    return forced_work_.level(problem, penalties, bound, value, 1.0);
  }
  bool steps = !penalties.linear();
  for (std::size_t j = 0; steps && j < n; ++j) steps = penalties.steps(j);
  if (steps) {
    // The envelope of a step is so weak that the mean-busy-time program adds nothing here
    // (measured).
    const std::size_t tries = std::clamp<std::size_t>(8000 / n, 2, 64);
    bound = std::max(bound, forced_work_.step_bound(problem, penalties, earliest_, tries));
    return std::min(bound, value);
  }
  const int rounds = std::clamp(static_cast<int>(2000 / n), 1, 60);
  bound = std::max(bound, mean_busy_time_.bound(problem, penalties, completion, earliest_, rounds));
  if (!penalties.linear() && rounds > 1) {
    // Kinks stop the method early, at a place that depends on where it starts: try later starts,
    // too.
    double end = 0.0;
    for (const double work : problem.work) end += work / problem.slots;
    for (const double share : {0.4, 0.8}) {
      for (std::size_t j = 0; j < n; ++j) absolute_[j] = std::max(earliest_[j], share * end);
      bound =
          std::max(bound, mean_busy_time_.bound(problem, penalties, absolute_, earliest_, rounds));
    }
  }
  // Rounding must not lift a bound above a schedule that exists.
  return std::min(bound, value);
}

}  // namespace malleable
