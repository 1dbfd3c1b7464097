// Slots of flows whose jobs have speed-ups, where a flow that gets everything swells its work.
//
// A unit of a job's work is worth the least that it costs: (weight + l s) / rate(s) over numbers of
// slots s, l being the weight of the flows behind its flow in the order, and of those that come,
// over the slots. So it is in policy/concave; but here it is by job, as the stages of a flow
// differ. Then slots go to ready jobs by what the next one gains (kernel marginal_gains): a flow
// spreads over all its ready jobs before one of them swells. If all are linear, this serves the
// order. O((R + S) log R) for R ready jobs and S slots.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/marginal_gains.hpp"

namespace malleable {

class FlowGains {
 public:
  void begin(double slots);
  // A ready job of the next flow in the order: its work, the most slots, and its speed-up.
  void add(double work, double most, const SpeedupView& speedup, std::size_t row);
  // The jobs since the last flow are those of one with this weight, what a second of it costs.
  void end_flow(double weight);
  // Slots by job. `coming`: flows that come later, as many as are there on the average.
  void allocate(double coming, std::span<double> slots);

 private:
  struct Flow {
    std::size_t end;  // of its jobs
    double weight;
  };
  std::vector<Flow> flows_;
  Problem problem_;
  SpeedupColumns speedup_;
  std::vector<double> value_;
  MarginalGains gains_;
};

}  // namespace malleable
