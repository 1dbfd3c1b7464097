// Quantiles of values that simulations count in bins.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace malleable {

// The least bin such that it and the bins below have this part of all counts; at least one value
// was counted. O(bins).
inline std::size_t quantile_bin(std::span<const std::int64_t> counts, double part) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(total)));
  std::size_t bin = 0;
  for (std::int64_t below = counts[0]; below < wanted; below += counts[bin]) ++bin;
  return bin;
}

}  // namespace malleable
