#include "malleable/policy/finish_plan.hpp"

#include <algorithm>

namespace malleable {

void finish_plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                 std::span<const double> completion, LowerBound& lower_bound, Plan& plan,
                 bool quick_bound, std::span<const double> earliest) {
  const std::size_t n = problem.size();
  plan.completion.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const bool idle = problem.work[j] == 0.0;
    plan.completion[j] = idle ? problem.idle_end[j] : problem.now + completion[j];
    if (idle && !plan.start.empty()) plan.start[j] = problem.idle_end[j];
  }
  // A piece too short for the clock is not written: a job starts with the first one that is.
  const Pieces& pieces = plan.pieces;
  for (std::size_t k = 0; k < pieces.size(); ++k) plan.start[pieces.job[k]] = kInfinity;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    double& start = plan.start[pieces.job[k]];
    start = std::min(start, pieces.start[k]);
  }
  plan.value = evaluate(penalties, aggregate, plan.completion);
  // One bound is enough, but for mean busy times: they gain by a better schedule to start from.
  if (plan.lower_bound == -kInfinity || (aggregate == Aggregate::kSum && penalties.linear())) {
    plan.lower_bound =
        std::max(plan.lower_bound, lower_bound.run(problem, penalties, aggregate, completion,
                                                   plan.value, quick_bound, earliest));
  }
  plan.lower_bound = std::min(plan.lower_bound, plan.value);
  plan.status = problem.beyond_reach                ? Status::kInfeasible
                : plan.status == Status::kTruncated ? Status::kTruncated
                : problem.minima_scaled             ? Status::kMinimaScaled
                                                    : Status::kOk;
}

}  // namespace malleable
