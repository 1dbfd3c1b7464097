// One decision's flows in the form that the kernels read: times from `now`, maxima cut to the
// slots, jobs in topological order, and two lower bounds of each flow's length (FlowFlex: Nagarajan
// et al. 2013, section 3): the total load and the critical path. The length of a path is the sum of
// its jobs' times on as many slots as each can use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/flows.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

struct FlowProblem {
  double now = 0.0;
  double slots = 0.0;
  bool released = true;  // every flow has arrived

  // Per flow. `release` is 0 for flows that have arrived. A flow without work ends at `idle_end`
  // (absolute), its arrival.
  std::vector<std::size_t> job_offset;
  std::vector<double> release, idle_end;
  std::vector<double> volume;  // all of its work [slot-seconds]
  std::vector<double> path;    // its critical path [s]
  std::vector<double> alone;   // the larger of path and volume / slots

  // Per job. `high`: most slots; `head`: earliest start after the flow's release, `tail`: longest
  // path behind its end [s].
  std::vector<double> work, high, head, tail;
  std::vector<Index> flow;
  std::vector<std::size_t> child_offset;
  std::vector<Index> child;
  std::vector<Index> parents;      // number of parents
  std::vector<Index> topological;  // all jobs, flow by flow, parents first

  std::size_t flows() const { return release.size(); }
  std::size_t jobs() const { return work.size(); }

  // `flows` is valid and has no cycle. Jobs with a speed-up become linear jobs (s slots do s times
  // as much as one) that are nowhere slower, with maxima that may be fractions. Allocates nothing
  // if the vectors are large enough. O(flows + jobs + parents).
  void build(const FlowsView& flows, std::int64_t slot_count, double time);

 private:
  void find_paths(std::size_t j);
};

}  // namespace malleable
