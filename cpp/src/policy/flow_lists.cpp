// List schedules of flows: flows in a given order, the jobs of each with the longest path first.
#include "malleable/policy/flow_lists.hpp"

#include <algorithm>
#include <numeric>

namespace malleable {

void FlowLists::begin(const FlowProblem& problem) {
  problem_ = &problem;
  const std::size_t n = problem.jobs();
  inside_.resize(n);
  std::iota(inside_.begin(), inside_.end(), Index{0});
  const auto longer = [&problem](Index a, Index b) {
    const double first = problem.tail[a] + problem.work[a] / problem.high[a];
    const double second = problem.tail[b] + problem.work[b] / problem.high[b];
    return first != second ? first > second : a < b;
  };
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    std::sort(inside_.begin() + static_cast<std::ptrdiff_t>(problem.job_offset[j]),
              inside_.begin() + static_cast<std::ptrdiff_t>(problem.job_offset[j + 1]), longer);
  }
  rank_.resize(n);
  job_end_.resize(n);
  flow_end_.assign(problem.flows(), problem.now);
}

std::span<const Index> FlowLists::line(std::size_t flow) const {
  const std::size_t first = problem_->job_offset[flow];
  return std::span<const Index>(inside_).subspan(first, problem_->job_offset[flow + 1] - first);
}

double FlowLists::value(std::span<const Index> order, const Penalties& penalties,
                        Aggregate aggregate) {
  Index next = 0;
  for (const Index j : order) {
    for (const Index job : line(j)) rank_[job] = next++;
  }
  list_.run(*problem_, rank_, job_end_, [this](Index j, double end) {
    flow_end_[j] = problem_->now + end;
    return true;
  });
  return evaluate(penalties, aggregate, flow_end_);
}

}  // namespace malleable
