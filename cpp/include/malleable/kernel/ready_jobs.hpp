// Which jobs of flows may start: a job is ready once its flow has arrived and all jobs that it
// waits for have ended. A job without work ends as soon as it is ready and may make others so.
// Times count from now; `end` takes the completions of jobs. O(flows log flows + jobs + parents)
// over a whole schedule.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "malleable/model/flow_problem.hpp"

namespace malleable {

class ReadyJobs {
 public:
  // Since the caller cleared them: jobs with work that have become ready, and flows with work whose
  // jobs have all ended.
  std::vector<Index> entering, ended_flows;

  void begin(const FlowProblem& problem) {
    problem_ = &problem;
    entering.clear();
    ended_flows.clear();
    pending_.assign(problem.parents.begin(), problem.parents.end());
    jobs_left_.resize(problem.flows());
    arrivals_.clear();
    for (std::size_t j = 0; j < problem.flows(); ++j) {
      jobs_left_[j] = static_cast<Index>(problem.job_offset[j + 1] - problem.job_offset[j]);
      if (jobs_left_[j] > 0) arrivals_.push_back(static_cast<Index>(j));
    }
    // released: all flows have arrived
    if (!problem.released) {
      std::stable_sort(arrivals_.begin(), arrivals_.end(),
                       [&](Index a, Index b) { return problem.release[a] < problem.release[b]; });
    }
    arrived_ = 0;
  }

  double next_arrival() const {
    return arrived_ < arrivals_.size() ? problem_->release[arrivals_[arrived_]] : kInfinity;
  }

  // Marks flows that have arrived by `time`.
  void arrive(double time, std::span<double> end) {
    while (arrived_ < arrivals_.size() && problem_->release[arrivals_[arrived_]] <= time) {
      const Index j = arrivals_[arrived_++];
      for (std::size_t i = problem_->job_offset[j]; i < problem_->job_offset[j + 1]; ++i) {
        if (problem_->parents[i] == 0) start(static_cast<Index>(i), time, end);
      }
    }
  }

  // Notes that a job has done its work.
  void finish(Index job, double time, std::span<double> end) {
    stack_.assign(1, job);
    settle(time, end);
  }

 private:
  // A job is ready: it enters, or ends at once without work.
  void start(Index job, double time, std::span<double> end) {
    if (problem_->work[job] > 0.0) {
      entering.push_back(job);
    } else {
      finish(job, time, end);
    }
  }

  // Ends the jobs on the stack, and children without work that become ready by it.
  void settle(double time, std::span<double> end) {
    while (!stack_.empty()) {
      const Index i = stack_.back();
      stack_.pop_back();
      end[i] = time;
      const Index j = problem_->flow[i];
      if (--jobs_left_[j] == 0 && problem_->volume[j] > 0.0) ended_flows.push_back(j);
      for (std::size_t e = problem_->child_offset[i]; e < problem_->child_offset[i + 1]; ++e) {
        const Index child = problem_->child[e];
        if (--pending_[child] > 0) continue;
        if (problem_->work[child] > 0.0) {
          entering.push_back(child);
        } else {
          stack_.push_back(child);
        }
      }
    }
  }

  const FlowProblem* problem_ = nullptr;
  std::vector<Index> pending_;    // job -> parents that have not ended
  std::vector<Index> jobs_left_;  // flow -> jobs that have not ended
  // Flows by arrival, of which so many have come; jobs without work that end at once (workspace).
  std::vector<Index> arrivals_, stack_;
  std::size_t arrived_ = 0;
};

}  // namespace malleable
