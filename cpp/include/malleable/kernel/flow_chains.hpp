// Stage 1 of FlowFlex (section 4.1): general precedence becomes a chain of pseudo-jobs.
//
// With slots without end, each job at its maximum and as early as it can start, a flow takes its
// critical path. That pseudo-schedule is cut wherever a job starts or ends; between two cuts the
// set of running jobs stays fixed, and all of it together is a pseudo-job: its maximum is the sum
// of the jobs' (it may exceed the slots there are), its work the area. Total load and critical path
// of the chain are those of the flow. Every job covers consecutive pseudo-jobs, so a first and a
// last are all that stage 3 needs. O(n log n) for a flow of n jobs.
#pragma once

#include <vector>

#include "malleable/model/flow_problem.hpp"

namespace malleable {

struct FlowChains {
  std::vector<std::size_t> offset;      // flow -> its pseudo-jobs, flows + 1 entries
  std::vector<double> length, height;   // of a pseudo-job: time at its maximum, that maximum
  std::vector<std::size_t> first, end;  // job -> the pseudo-jobs that it is part of; empty: no work

  void build(const FlowProblem& problem);
  double work(std::size_t k) const { return length[k] * height[k]; }

 private:
  std::vector<double> cuts_;
};

}  // namespace malleable
