// Slots of the ready jobs of flows whose jobs have speed-up curves: a job gets slots while what its
// flow gains by them is worth more than what they cost the flows behind it.
#include "malleable/kernel/flow_gains.hpp"

#include <algorithm>

namespace malleable {

void FlowGains::begin(double slots) {
  problem_.slots = slots;
  for (auto* column : {&problem_.work, &problem_.low, &problem_.high}) column->clear();
  speedup_.clear();
  flows_.clear();
}

void FlowGains::add(double work, double most, const SpeedupView& speedup, std::size_t row) {
  problem_.work.push_back(work);
  problem_.low.push_back(0.0);
  problem_.high.push_back(std::min(most, problem_.slots));
  speedup_.add(speedup, row);
}

void FlowGains::end_flow(double weight) { flows_.push_back({problem_.work.size(), weight}); }

// `coming`: the number of flows that will come while the present ones run; they count as behind
// all.
void FlowGains::allocate(double coming, std::span<double> slots) {
  if (problem_.work.empty()) return;
  const SpeedupView speedup = speedup_.view();
  gains_.prepare(problem_, speedup);
  double sum = 0.0;
  for (const Flow& flow : flows_) sum += flow.weight;
  const double mean = sum > 0.0 ? sum / static_cast<double>(flows_.size()) : 1.0;
  // Flows of weight 0 come last, but still get slots.
  constexpr double kLight = 1e-9;
  double behind = coming * mean;
  value_.resize(problem_.work.size());
  for (std::size_t f = flows_.size(); f-- > 0;) {
    const double weight = std::max(flows_[f].weight, kLight * mean);
    const double price = behind / std::max(1.0, problem_.slots);
    for (std::size_t k = f == 0 ? 0 : flows_[f - 1].end; k < flows_[f].end; ++k) {
      const double most = std::max(1.0, problem_.high[k]);
      value_[k] = gains_.hulls().cost(speedup, k, weight, price, most);
    }
    behind += weight;
  }
  gains_.allocate(problem_, {}, value_, slots);
}

}  // namespace malleable
