// The sum of many numbers: eight running sums hide the latency of the additions and fill vector
// registers, and their order never changes, so that every machine gets the same bytes. O(n).
#pragma once

#include <span>

namespace malleable {

double sum_of(std::span<const double> terms);

}  // namespace malleable
