// What decisions over flows look at: options, table and moment, and of every flow its work, its
// critical path and the jobs that can run. Checkpointed, and worked out again for flows that
// changed alone: O(jobs + parents) of those.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "malleable/policy/coming_jobs.hpp"
#include "malleable/policy/epoch/flow_table.hpp"
#include "malleable/policy/epoch/period_clock.hpp"
#include "malleable/policy/flow_baseline.hpp"
#include "malleable/policy/flowflex.hpp"

namespace malleable {

struct FlowEpochOptions {
  Aggregate aggregate = Aggregate::kSum;
  FlowMethod method = FlowMethod::kBest;
  std::optional<FlowBaseline> baseline = {};  // takes the method's place
  std::optional<std::uint64_t> effort =
      {};                       // of a plan in every decision, for its order; nothing: none is made
  double hysteresis = 0.0;      // the last order stays unless another is better by this share
  double ready_fraction = 1.0;  // of a first phase, before the second one is ready
  double period = 0.0;          // seconds for which a decision holds; 0: until something ends

  // The method or the baseline of this name.
  void take_policy(std::string_view name);
  void state(State& s) { s(aggregate, method, baseline, effort, hysteresis, ready_fraction); }
};

struct FlowScene {
  using Flow = FlowTable::Flow;
  using Job = FlowTable::Job;

  FlowEpochOptions options;
  FlowTable table;
  std::int64_t slots = 0;
  PeriodClock clock;
  ComingJobs coming;  // flows

  bool waits(const Flow& flow) const { return flow.arrival > clock.now(); }
  // The most that a job may have by itself. Where there are no slots, what a single one would mean.
  double room(const Job& job) const {
    return static_cast<double>(std::min(job.max_slots, std::max<std::int64_t>(slots, 1)));
  }
  // Of a job that has outlived its estimate a part of the work done so far counts as left.
  double left(const Job& job) const;
  // Whether a second phase is a part of the first one.
  static bool is_joined(const Flow& flow, const Job& job) {
    return job.pending > 0 && job.follows != kNone &&
           flow.jobs[job.follows].second == static_cast<Index>(&job - flow.jobs.data());
  }
  // Brings flows up to date that were touched.
  void study();

  void state(State& s) { s(options, table, slots, clock, coming); }

 private:
  void study(Flow& flow);
  void study_jobs(Flow& flow) const;
  void join_phases(Flow& flow) const;
  static void find_paths(Flow& flow);

  std::vector<double> head_;
};

}  // namespace malleable
