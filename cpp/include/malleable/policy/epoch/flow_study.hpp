// The data of decisions over flows: options, table and time, and for every flow its work, its
// critical path and the jobs that can run. These are kept, and computed again only for changed
// flows: O(jobs + parents) of those.
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
  std::optional<FlowBaseline> baseline = {};  // replaces the method
  std::optional<std::uint64_t> effort =
      // effort of a plan in every decision, for its order; nothing: no plan
      {};
  double hysteresis = 0.0;  // the last order stays unless another is better by this share
  double period = 0.0;      // seconds for which a decision holds; 0: until something ends

  // Sets the method or the baseline by its name.
  void take_policy(std::string_view name);
  void state(State& s) { s(aggregate, method, baseline, effort, hysteresis); }
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
  // The most slots that a job may have. With no slots at all it counts as with one.
  double room(const Job& job) const {
    return static_cast<double>(std::min(job.max_slots, std::max<std::int64_t>(slots, 1)));
  }
  // Work left. If a job has outlived its estimate, it is a part of the work done so far.
  double left(const Job& job) const;
  // Updates changed flows.
  void study();

  void state(State& s) { s(options, table, slots, clock, coming); }

 private:
  // Updates the derived data of a flow.
  void study(Flow& flow) const;
};

}  // namespace malleable
