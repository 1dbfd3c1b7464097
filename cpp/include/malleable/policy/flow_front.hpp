// Who among many flows comes first, while what they pay rises in straight lines: by prices, which
// flows keep while they do not change (FlowFlex, section 5.2).
//
// Flows count as malleable jobs and stand by variations of Smith's ratio, as in flow_order.hpp:
//     log(work / rate) + e log(parallelism / slots), e one of kExponents.
// Which e is the cheapest is seen by packing kSample flows, spread evenly, on as many slots as
// their part of the work. O(F), and six packings of the sample. Kernel: malleable_packing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/malleable_packing.hpp"

namespace malleable {

class FlowFront {
 public:
  // By how much the parallelism of a flow counts beside its work.
  static constexpr double kExponents[] = {0.0, 0.1, 0.2, 0.3, 0.5, 0.8};
  static constexpr std::size_t kSample = 512;

  // The least goes first. By flow, of which there are some: what is left, its mean parallelism, at
  // most `slots`, and the rate at which what it pays rises; all above 0, but for the rate, which
  // may be 0. Valid until the next call.
  std::span<const double> prices(std::span<const double> work, std::span<const double> high,
                                 std::span<const double> rate, double slots);
  // The exponent of these, the first of equally cheap ones.
  double exponent() const { return exponent_; }

 private:
  double try_sample(double exponent, std::span<const double> rate);

  double exponent_ = 0.0;
  std::vector<double> ratio_, narrow_,
      price_;  // logarithms: work over rate, parallelism over slots
  // Of the sample.
  Problem sample_;
  std::vector<Index> row_, order_;
  std::vector<double> key_, completion_;
  KeySort sorter_;
  MalleablePacking packing_;
};

}  // namespace malleable
