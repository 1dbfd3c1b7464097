// FAIR over flows (DAGs of jobs; FlowFlex: Nagarajan et al. 2013, section 5.1): at every moment
// integer water-filling over the ready jobs: min(level, maximum) slots each, and the slots left
// over one each by index.
//
// Whenever jobs end or come, slots are shared again (kernel/water_filling.hpp: all jobs get the
// same number, and slots that a job cannot use go to the others): O(ready jobs) an event.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/ready_jobs.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

class FairList {
 public:
  // The whole schedule: completions of jobs and of flows that have work count from now, pieces
  // (spans in which a job holds slots) are absolute. Allocates nothing once warm.
  void run(const FlowProblem& problem, std::span<double> end, std::span<double> flow_end,
           Pieces& pieces);

 private:
  struct Job {
    double left, since = 0.0, slots = 0.0, end = kInfinity;
  };
  void set_slots(const FlowProblem& problem, Index job, double time, double slots, Pieces& pieces);
  void share_out(const FlowProblem& problem, double time, Pieces& pieces);

  ReadyJobs jobs_;
  WaterFilling water_filling_;
  std::vector<Job> job_;
  std::vector<Index> ready_, gone_;  // jobs that are ready; that end now
  Problem shared_;                   // jobs that are ready, by index
  std::vector<double> share_;        // by ready job
};

}  // namespace malleable
