#include "malleable/policy/flow_front.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

void FlowFront::resize(std::size_t rows) {
  for (auto* column : columns()) column->resize(rows, 1.0);
}

void FlowFront::set(std::size_t row, double work, double high, double rate, double slots,
                    double room) {
  work_[row] = work;
  high_[row] = high;
  rate_[row] = rate;
  room_[row] = room;
  ratio_[row] = rate > 0.0 ? std::log(work / rate) : kInfinity;
  narrow_[row] = std::log(high / slots);
}

double FlowFront::exponent(double slots) {
  const std::size_t n = size(), count = std::min(n, kSample);
  row_.resize(count);
  double all = 0.0, some = 0.0;
  for (const double work : work_) all += work;
  sample_.work.resize(count);
  sample_.high.resize(count);
  sample_.low.assign(count, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    row_[k] = static_cast<Index>(k * n / count);
    some += sample_.work[k] = work_[row_[k]];
  }
  sample_.slots = slots * (some / all);
  for (std::size_t k = 0; k < count; ++k) {
    sample_.high[k] = std::min(high_[row_[k]], sample_.slots);
  }
  sample_key_.resize(count);
  order_.resize(count);
  completion_.resize(count);
  double best = kExponents[0], least = kInfinity;
  for (const double exponent : kExponents) {
    for (std::size_t k = 0; k < count; ++k) {
      sample_key_[k] = ratio_[row_[k]] + exponent * narrow_[row_[k]];
    }
    sorter_.sort(sample_key_, order_);
    packing_.run(sample_, order_, completion_);
    double value = 0.0;
    for (std::size_t k = 0; k < count; ++k) value += rate_[row_[k]] * completion_[k];
    if (value >= least) continue;
    least = value;
    best = exponent;
  }
  return best;
}

std::span<const double> FlowFront::keys(double exponent) {
  key_.resize(size());
  for (std::size_t row = 0; row < size(); ++row) {
    key_[row] = ratio_[row] + exponent * narrow_[row];
  }
  return key_;
}

}  // namespace malleable
