// What decisions over flows look at: options, table and moment, and of every flow its work, its
// critical path and the jobs that can run. Kept, and worked out again for flows that changed alone:
// O(jobs + parents) of those.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "malleable/model/flow_table.hpp"
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
  void state(State& s) {
    s(aggregate, method, baseline, effort, hysteresis, ready_fraction, period);
  }
};

struct FlowScene {
  FlowEpochOptions options;
  FlowTable table;
  std::int64_t slots = 0;
  double now = -kInfinity;  // of the last decision
  double period = 0.0;      // of the decision at hand

  bool waits(const FlowTable::Flow& flow) const { return flow.arrival > now; }
  // The most that a job may have by itself. Where there are no slots, what a single one would mean.
  double room(std::size_t row) const;
  // Of a job that has outlived its estimate a part of the work done so far counts as left.
  double left(std::size_t row) const;

  void state(State& s) { s(options, table, slots, now, period); }
};

class FlowStudy {
 public:
  struct View {
    double volume = 0.0, alone = 0.0;  // FlowProblem's
    Index queued = 0;                  // jobs in its queue
    Index held = 0;                    // ready jobs whose work has run out
  };
  std::vector<View> views;  // by row of the flow
  // By row of the job: work and maximum (of both phases where they are joined: the second is a part
  // of the first), the longest path from its start on.
  std::vector<double> work, high, path;
  std::vector<Index> pending, second;  // parents that have not ended; its second phase
  std::vector<Index> queue;            // by flow, jobs that can run, the longest path first
  std::vector<std::uint8_t> ready;

  std::vector<Index> touched;  // rows of flows that are to be looked at again
  void touch_all(const FlowScene& at);
  void refresh(const FlowScene& at);
  // Whether a second phase is a part of the first one.
  bool is_joined(const FlowScene& at, const FlowTable::Flow& flow, std::size_t row) const;

 private:
  void study(const FlowScene& at, const FlowTable::Flow& flow, View& view);
  void refresh_jobs(const FlowScene& at, const FlowTable::Flow& flow);
  void find_paths(const FlowScene& at, const FlowTable::Flow& flow);
  void join_phases(const FlowScene& at, const FlowTable::Flow& flow);

  std::vector<double> head_;
  std::vector<std::uint8_t> marked_;
};

}  // namespace malleable
