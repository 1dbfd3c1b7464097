// The order of many flows whose penalties are lines: by prices (keys; the least goes first), which
// a flow keeps while it does not change (Nagarajan et al. 2013, section 5.2).
//
// Flows count as malleable jobs and are ordered by variations of Smith's ratio (work over the rate
// at which the penalty rises); a flow's parallelism is the mean number of slots that it can use:
//     log(work / rate) + e log(parallelism / slots), e one of kExponents.
// The cheapest e is found by packing kSample evenly spread flows, on slots in proportion to their
// part of the work. O(F) for F flows, and six packings of the sample. Kernel: malleable_packing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/malleable_packing.hpp"

namespace malleable {

class FlowFront {
 public:
  // Exponents of a flow's parallelism in the price, beside its work.
  static constexpr double kExponents[] = {0.0, 0.1, 0.2, 0.3, 0.5, 0.8};
  static constexpr std::size_t kSample = 512;

  // Prices; the least goes first. By flow, at least one: work left, mean parallelism (at most
  // `slots`), and the rate at which its penalty rises; all above 0, except the rate, which may be
  // 0. Valid until the next call.
  std::span<const double> prices(std::span<const double> work, std::span<const double> high,
                                 std::span<const double> rate, double slots);
  // The exponent that was chosen; of equally cheap exponents the first.
  double exponent() const { return exponent_; }

 private:
  // The sum of penalties of the sample, ordered with this exponent.
  double try_sample(double exponent, std::span<const double> rate);

  double exponent_ = 0.0;
  std::vector<double> ratio_, narrow_,
      price_;  // logarithms: work over rate, parallelism over slots
  // Workspace for the sample.
  Problem sample_;
  std::vector<Index> row_, order_;
  std::vector<double> key_, completion_;
  KeySort sorter_;
  MalleablePacking packing_;
};

}  // namespace malleable
