// A decision over flows that is held for a period: a job that waits for another starts at the next
// decision at the earliest, so a flow takes at least as many periods as its longest path has jobs.
// Jobs that cannot wait for a period without making their flow end later go first, in the order of
// flows; then the others, by slack; each gets up to whole slot-periods of its work (one slot for
// one period, kernel/slot_periods.hpp). Slots left over go to jobs that end within the period, and
// earlier by them. O(jobs + parents + R log R) beside the order of flows, R jobs being ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/policy/epoch/flow_shares.hpp"
#include "malleable/policy/epoch/flow_study.hpp"

namespace malleable {

class FlowPeriodic {
 public:
  // Serves flows in an order. `turns`: ids of ready jobs in the order in which they should get
  // slots that become free.
  void serve(FlowShares& to, std::span<const Index> order, std::vector<std::int64_t>& turns);

 private:
  using Flow = FlowTable::Flow;
  using Job = FlowTable::Job;
  // A ready job: how many periods it can wait before its flow ends later (slack), and the slots it
  // can use fully (most).
  struct Ready {
    const Flow* flow;
    Job* job;
    double slack, most;
  };

  // Sets periods_; returns the largest.
  double count_periods(const Flow& flow, double period);
  // Sets line_: ready jobs, the least slack first.
  void line_up(FlowScene& at, std::span<const Index> order);
  void hand_out_rest(FlowShares& to);

  std::vector<Ready> line_;
  std::vector<double> periods_;  // by place in the flow: from the job's start to the flow's end
  Problem rest_;                 // jobs that could use slots that are left over
  std::vector<double> slots_;
  LeftOverSlots left_over_;
};

}  // namespace malleable
