// Ready lists: at every moment the jobs whose parents have ended take slots in a fixed order of
// priority, each up to its maximum.
//
// Jobs that hold slots are a short sorted list (all at their maximum but the last), jobs that wait
// are a heap. A job that becomes ready may push out the last holders, which keep the work they have
// done. O(holders + log jobs) an event, one or two events a job.
//
// A list of jobs rather than flows can interleave flows, and within a flow it can put the longest
// path first, while the chains of FlowFlex (flow_chains.hpp) share slots among jobs in proportion.
// FIFO is a ready list, too; FAIR (equal shares) has its own (fair_list.hpp).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "malleable/kernel/ready_jobs.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

class ReadyList {
 public:
  // rank[i]: jobs with smaller ranks come first; all ranks differ and are below jobs(). Times count
  // from now, pieces are absolute. done(flow, completion) comes in order of time for flows that
  // have work, and may end the run by returning false. `end` takes the jobs' completions.
  template <typename Done>
  bool run(const FlowProblem& problem, std::span<const Index> rank, std::span<double> end,
           Done done, Pieces* pieces = nullptr) {
    begin(problem, rank, pieces);
    for (;;) {
      for (const Index j : jobs_.ended_flows) {
        if (!done(j, time_)) return false;
      }
      if (!step(end)) break;
    }
    return true;
  }

 private:
  struct Holder {
    double end;                // completion if nothing changes
    double since;              // start of the present rate
    double slots, high, left;  // left: work at `since`
    Index rank, job;
  };
  // No job is ready yet.
  void begin(const FlowProblem& problem, std::span<const Index> rank, Pieces* pieces);
  // Advances to the next event; false if there is none.
  bool step(std::span<double> end);
  void admit();    // inserts jobs that became ready, each at its place
  void balance();  // gives the slots to ready jobs by rank
  void set_rate(Holder& holder, double slots);
  void record(const Holder& holder);

  const FlowProblem* problem_ = nullptr;
  std::span<const Index> rank_;
  Pieces* pieces_ = nullptr;
  std::vector<Index> job_of_;    // rank -> job
  std::vector<Holder> holders_;  // by rank
  std::vector<Index> waiting_;   // ranks, a heap with the smallest in front
  std::vector<double> left_;     // job -> work
  std::vector<Index> gone_;      // jobs that end now
  ReadyJobs jobs_;
  double time_ = 0.0, next_end_ = 0.0;
  double wanted_ = 0.0;  // sum of the holders' maxima
};

}  // namespace malleable
