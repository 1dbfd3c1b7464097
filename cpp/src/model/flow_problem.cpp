#include "malleable/model/flow_problem.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace malleable {

// Finds the topological order of a flow's jobs, the longest paths before and after each, and the
// flow's time alone on all slots. Counts `parents` down.
void FlowProblem::find_paths(std::size_t j) {
  const std::size_t begin = topological.size();
  for (std::size_t i = job_offset[j]; i < job_offset[j + 1]; ++i) {
    if (parents[i] == 0) topological.push_back(static_cast<Index>(i));
  }
  for (std::size_t at = begin; at < topological.size(); ++at) {
    const Index i = topological[at];
    const double end = head[i] + work[i] / high[i];
    path[j] = std::max(path[j], end);
    for (std::size_t e = child_offset[i]; e < child_offset[i + 1]; ++e) {
      head[child[e]] = std::max(head[child[e]], end);
      if (--parents[child[e]] == 0) topological.push_back(child[e]);
    }
  }
  assert(topological.size() == job_offset[j + 1]);
  for (std::size_t at = topological.size(); at-- > begin;) {
    const Index i = topological[at];
    for (std::size_t e = child_offset[i]; e < child_offset[i + 1]; ++e) {
      const Index c = child[e];
      tail[i] = std::max(tail[i], tail[c] + work[c] / high[c]);
    }
  }
  alone[j] = std::max(path[j], volume[j] / slots);
}

// Builds the columns: of jobs (work, high: most slots, head and tail: the longest paths before and
// behind them), and of flows (release: from now, volume: all work, alone: the least time).
void FlowProblem::build(const FlowsView& flows, std::int64_t slot_count, double time) {
  const std::size_t f = flows.flows(), n = flows.jobs();
  now = time;
  slots = static_cast<double>(slot_count);
  released = true;
  job_offset.assign(flows.job_offset.begin(), flows.job_offset.end());
  work.assign(flows.work.begin(), flows.work.end());
  for (auto* column : {&release, &idle_end, &volume, &path, &alone}) column->assign(f, 0.0);
  for (auto* column : {&high, &head, &tail}) column->assign(n, 0.0);
  flow.resize(n);
  parents.resize(n);
  child_offset.assign(n + 1, 0);
  child.resize(flows.parent.size());
  topological.clear();

  for (const std::int64_t p : flows.parent) ++child_offset[static_cast<std::size_t>(p) + 1];
  for (std::size_t i = 0; i < n; ++i) child_offset[i + 1] += child_offset[i];
  for (std::size_t i = n; i-- > 0;) {
    parents[i] = static_cast<Index>(flows.parent_offset[i + 1] - flows.parent_offset[i]);
    for (std::int64_t e = flows.parent_offset[i]; e < flows.parent_offset[i + 1]; ++e) {
      const auto p = static_cast<std::size_t>(flows.parent[static_cast<std::size_t>(e)]);
      child[--child_offset[p + 1]] = static_cast<Index>(i);
    }
  }
  // The filling from the end left each row's start one place too far on.
  for (std::size_t i = 0; i < n; ++i) child_offset[i] = child_offset[i + 1];
  child_offset[n] = child.size();

  for (std::size_t j = 0; j < f; ++j) {
    release[j] = std::max(0.0, flows.arrival[j] - now);
    // No job may start before its arrival, not even by rounding.
    while (now + release[j] < flows.arrival[j]) release[j] = std::nextafter(release[j], kInfinity);
    released &= release[j] == 0.0;
    idle_end[j] = flows.arrival[j];
    for (std::size_t i = job_offset[j]; i < job_offset[j + 1]; ++i) {
      flow[i] = static_cast<Index>(j);
      high[i] = std::min(static_cast<double>(flows.max_slots[i]), slots);
      if (flows.speedup.given()) {
        const double each = flows.speedup.most_per_slot(i);
        high[i] = std::min(high[i], flows.speedup.at(i, high[i]) / each);
        work[i] /= each;
      }
      volume[j] += work[i];
    }
    find_paths(j);
  }
  for (std::size_t i = 0; i < n; ++i) {
    parents[i] = static_cast<Index>(flows.parent_offset[i + 1] - flows.parent_offset[i]);
  }
}

}  // namespace malleable
