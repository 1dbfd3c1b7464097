#include "malleable/policy/flow_front.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

// Orders flows by work over rate of penalty (Smith's ratio), times a power of the part of all slots
// that a flow can use (its exponent); all are logarithms here. A sample of flows, scheduled with as
// many slots as its part of the work, shows which exponent is best.
//
// The sum of penalties of the sample.
double FlowFront::try_sample(double exponent, std::span<const double> rate) {
  for (std::size_t k = 0; k < row_.size(); ++k) {
    key_[k] = ratio_[row_[k]] + exponent * narrow_[row_[k]];
  }
  sorter_.sort(key_, order_);
  packing_.run(sample_, order_, completion_);
  double value = 0.0;
  for (std::size_t k = 0; k < row_.size(); ++k) value += rate[row_[k]] * completion_[k];
  return value;
}

std::span<const double> FlowFront::prices(std::span<const double> work,
                                          std::span<const double> high,
                                          std::span<const double> rate, double slots) {
  const std::size_t n = work.size(), count = std::min(n, kSample);
  for (auto* column : {&ratio_, &narrow_, &price_}) column->resize(n);
  double all = 0.0, some = 0.0;
  for (std::size_t row = 0; row < n; ++row) {
    ratio_[row] = rate[row] > 0.0 ? std::log(work[row] / rate[row]) : kInfinity;
    narrow_[row] = std::log(high[row] / slots);
    all += work[row];
  }
  for (auto* column : {&sample_.work, &sample_.high, &key_, &completion_}) column->resize(count);
  for (auto* column : {&row_, &order_}) column->resize(count);
  sample_.low.assign(count, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    row_[k] = static_cast<Index>(k * n / count);
    some += sample_.work[k] = work[row_[k]];
  }
  sample_.slots = slots * (some / all);
  for (std::size_t k = 0; k < count; ++k) {
    sample_.high[k] = std::min(high[row_[k]], sample_.slots);
  }
  double least = kInfinity;
  exponent_ = kExponents[0];
  for (const double exponent : kExponents) {
    const double value = try_sample(exponent, rate);
    if (value >= least) continue;
    least = value;
    exponent_ = exponent;
  }
  for (std::size_t row = 0; row < n; ++row) {
    price_[row] = ratio_[row] + exponent_ * narrow_[row];
  }
  return price_;
}

}  // namespace malleable
