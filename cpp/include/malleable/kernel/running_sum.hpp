// The sum of many numbers: eight running sums hide the latency of the additions and fill vector
// registers, and their order never changes, so that every machine gets the same bytes. O(n).
#pragma once

#include <span>

namespace malleable {

double sum_of(std::span<const double> terms);

// Eight running sums together.
inline double sum_lanes(const double* lanes) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace malleable
