// The slotted map-and-reduce model (Zheng, Shroff, Sinha 2013, section III): N machines, one unit
// of work a machine and step.
//
// Every job brings map tasks of one unit and reduce tasks of one or more; reduce work starts in the
// step after the job's last map task. Preemptive: any number of a job's reduce units run side by
// side. Non-preemptive: a reduce task keeps its machine until it is done; a job starts its tasks in
// the order of the table. A job that arrives in step a may run in it; one that ends in step f has
// flow time f - a + 1. A job without work ends before its arrival's step and has flow time 0.
//
// Jobs are fed in order of arrival; records and totals leave as jobs end, so memory is for the live
// jobs and the records not yet taken. A step costs what the policy's decision costs, plus O(1) a
// grant and O(1) a task; steps in which nothing can change are skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "malleable/model/map_reduce.hpp"
#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

struct SlottedOptions {
  std::int64_t machines = 1;
  bool preemptive = true;
  bool records = true;
};

struct SlottedTotals {
  std::int64_t arrived = 0, completed = 0;
  double flow = 0.0;  // sum of the flow times of completed jobs [steps]
  double flow_squares = 0.0;
  std::int64_t longest_flow = 0;
  std::int64_t longest_wait = 0;  // steps before the first with a machine
  std::int64_t last_finish = 0;
  std::int64_t last_step = 0;  // last step with a job in the system
  std::int64_t busy = 0;       // machine steps used
  double live_steps = 0.0;     // sum over steps of the jobs in the system
  std::int64_t decisions = 0;  // steps in which the policy was asked
};

struct SlottedRecords {
  std::vector<std::int64_t> job;    // from 0, in the order of feeding
  std::vector<std::int64_t> start;  // first step in which the job had a machine
  std::vector<std::int64_t>
      map_finish;  // step of the last map task; without maps: before the arrival
  std::vector<std::int64_t> finish;
};

class SlottedSim {
 public:
  SlottedSim(const SlottedOptions& options, std::unique_ptr<SlottedPolicy> policy);

  // Valid jobs (see validate), arrivals never before those fed earlier nor in steps already run.
  // `estimate`: reduce work as the policy sees it; empty: the true work. Runs the steps before each
  // arrival. If `poll` throws, jobs that were not reached have not entered.
  void feed(const MapReduceView& jobs, std::span<const double> estimate);

  // Runs all steps up to `last`, or until no job is left; later arrivals may still be fed.
  void advance(std::int64_t last);

  // Called every few thousand steps; may throw, and the simulation can go on afterwards.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }

  const SlottedTotals& totals() const { return totals_; }
  std::int64_t machines() const { return options_.machines; }
  SlottedRecords take_records();
  // The flow time [steps] that this part of all completed jobs does not exceed; NaN without
  // completed jobs.
  double flow_quantile(double part) const;
  // Completed jobs by powers of two of their work: [2^k, 2^(k+1)) units at k; their number, and the
  // sum of flow time over the steps that they would take alone on all machines.
  std::span<const std::int64_t> size_counts() const { return size_counts_; }
  std::span<const double> size_slowdowns() const { return size_slowdowns_; }
  std::int64_t live() const { return live_; }
  std::int64_t next_step() const { return step_; }

 private:
  struct Truth {  // what only the simulation knows of a job
    std::int64_t number, arrival, start, map_finish;
    // work; steps that the job takes alone on all machines
    std::int64_t units, alone;
    std::int64_t reduce_total, reduce_waiting;  // units not started
    std::int64_t end_sum;                       // sum of the steps in which running tasks end
    double estimate;
    std::size_t next_task;
    std::vector<std::int64_t> tasks;  // non-preemptive
    bool listed;                      // in moving_
  };
  struct Ending {
    std::int64_t step;
    Index row;
  };
  static constexpr std::size_t kRing = 1024;  // steps
  // Bins of one step; the last has all longer times.
  static constexpr std::size_t kHistogram = 1 << 16;
  static constexpr std::size_t kSizes = 48;  // classes of jobs' sizes, each twice the one before

  void enter(const MapReduceView& jobs, std::size_t j, double estimate);
  // One decision.
  void step();
  // No machine can be granted before a running task ends: runs up to that step, or `last`.
  void wait(std::int64_t last);
  std::int64_t next_ending() const;  // the next step in which a running task ends
  // Tells the policy that steps have passed.
  void pass_steps(std::int64_t step);
  void start_reduces(const SlottedGrant& grant);
  void apply(const SlottedGrant& grant);  // starts what the policy has granted
  void end_tasks();                       // those that end in the present step
  void finish(Index row);
  void record(const Truth& truth, std::int64_t finish);
  // The reduce work that the policy believes is left.
  double reduce_left(Index row, std::int64_t step) const;

  SlottedOptions options_;
  std::unique_ptr<SlottedPolicy> policy_;
  std::function<void()> poll_;
  std::vector<SlottedJob> jobs_;
  std::vector<Truth> truth_;
  std::vector<Index> free_;    // rows without a job
  std::vector<Index> moving_;  // rows whose work left changes while they wait for more machines
  std::vector<std::vector<Ending>> ring_;  // running tasks by the step of their end, modulo kRing
  std::vector<SlottedGrant> grants_;
  std::vector<std::int64_t> histogram_;
  std::vector<std::int64_t> size_counts_;
  std::vector<double> size_slowdowns_;
  SlottedTotals totals_;
  SlottedRecords records_;
  std::int64_t step_ = 1;          // next step to run
  std::int64_t idle_, spare_ = 0;  // spare_: idle and not granted yet in this step
  // Jobs in the system; jobs fed; rows with tasks that may start.
  std::int64_t live_ = 0, sequence_ = 0, startable_ = 0;
  std::int64_t passed_ = 0;  // the last step that the policy knows of
  std::int64_t polled_ = 0;  // work (tasks x steps) since the last call of poll_
};

}  // namespace malleable
