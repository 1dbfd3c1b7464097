// Quantiles of what simulations count by bin instead of keeping it job by job.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace malleable {

// The least bin with this part of all counts in it and below; at least one thing was counted.
// O(bins).
inline std::size_t quantile_bin(std::span<const std::int64_t> counts, double part) {
  const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(total)));
  std::size_t bin = 0;
  for (std::int64_t below = counts[0]; below < wanted; below += counts[bin]) ++bin;
  return bin;
}

}  // namespace malleable
