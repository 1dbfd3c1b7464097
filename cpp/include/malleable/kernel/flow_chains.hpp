// Stage 1 of FlowFlex (Nagarajan et al. 2013, section 4.1): general precedence becomes a chain of
// pseudo-jobs.
//
// With unlimited slots, each job runs at its maximum as early as it can start, and a flow takes as
// long as its critical path. That pseudo-schedule is cut wherever a job starts or ends. Between two
// cuts the set of running jobs stays the same; together they are a pseudo-job, whose maximum is the
// sum of theirs (it may exceed the slots) and whose work is the area. The chain has the total load
// and the critical path of the flow. Every job covers consecutive pseudo-jobs, so stage 3, which
// turns chains back into jobs (wrap_around.hpp), needs only the first and the last of them. O(n log
// n) for a flow of n jobs.
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
