// Slots for flows whose jobs have speed-ups below linear, so that a flow with all slots needs more
// slot-seconds.
//
// The value of a unit of a job's work is its least cost, the minimum of (weight + l s) / rate(s)
// over numbers of slots s, rate(s) being its speed-up on s slots. Here l is the weight of the flows
// behind its flow in the order, and of the flows to come, divided by the slots. policy/concave does
// the same for single jobs; here the value is per job, because the jobs of a flow differ. Then
// slots go to ready jobs by the gain of the next slot, value times what it adds to the rate
// (kernel/marginal_gains.hpp): a flow spreads over all its ready jobs before one of them gets
// inefficiently many. If all jobs are linear (rate(s) = s), flows get slots in the order. O((R + S)
// log R) for R ready jobs and S slots.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/marginal_gains.hpp"

namespace malleable {

class FlowGains {
 public:
  // Begins a table of flows for so many slots.
  void begin(double slots);
  // A ready job of the next flow in the order: its work, the most slots, and its speed-up.
  void add(double work, double most, const SpeedupView& speedup, std::size_t row);
  // Ends a flow: the jobs added since the last call are its jobs. `weight` is the cost of a second
  // of it.
  void end_flow(double weight);
  // Slots by job. `coming`: the number of flows that come later; each counts with the mean weight
  // of the present ones.
  void allocate(double coming, std::span<double> slots);

 private:
  struct Flow {
    std::size_t end;  // of its jobs
    double weight;
  };
  std::vector<Flow> flows_;
  Problem problem_;
  SpeedupColumns speedup_;
  std::vector<double> value_;  // of a unit of each job's work
  MarginalGains gains_;
};

}  // namespace malleable
