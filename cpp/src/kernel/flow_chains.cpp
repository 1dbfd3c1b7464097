// Cuts each flow, run alone as early as possible, at every start and end of its jobs: between two
// cuts it needs a number of slots (height) for a time (length).
#include "malleable/kernel/flow_chains.hpp"

#include <algorithm>

namespace malleable {

void FlowChains::build(const FlowProblem& problem) {
  const std::size_t f = problem.flows(), n = problem.jobs();
  offset.assign(1, 0);
  length.clear();
  height.clear();
  first.assign(n, 0);
  end.assign(n, 0);
  for (std::size_t j = 0; j < f; ++j) {
    const std::size_t begin = problem.job_offset[j], stop = problem.job_offset[j + 1];
    cuts_.clear();
    for (std::size_t i = begin; i < stop; ++i) {
      if (problem.work[i] == 0.0) continue;
      cuts_.push_back(problem.head[i]);
      cuts_.push_back(problem.head[i] + problem.work[i] / problem.high[i]);
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    const std::size_t base = length.size();
    for (std::size_t k = 0; k + 1 < cuts_.size(); ++k) {
      length.push_back(cuts_[k + 1] - cuts_[k]);
      height.push_back(0.0);
    }
    const auto place = [&](double t) {
      const auto at = std::lower_bound(cuts_.begin(), cuts_.end(), t);
      return base + static_cast<std::size_t>(at - cuts_.begin());
    };
    for (std::size_t i = begin; i < stop; ++i) {
      if (problem.work[i] == 0.0) continue;
      first[i] = place(problem.head[i]);
      end[i] = place(problem.head[i] + problem.work[i] / problem.high[i]);
      for (std::size_t k = first[i]; k < end[i]; ++k) height[k] += problem.high[i];
    }
    offset.push_back(length.size());
  }
}

}  // namespace malleable
