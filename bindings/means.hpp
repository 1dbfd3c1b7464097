// Means from the sums of simulations.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "arrays.hpp"

namespace malleable::bindings {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// sum / count; `otherwise` if the count is 0.
inline double mean_over(double sum, double count, double otherwise = kNaN) {
  return count > 0.0 ? sum / count : otherwise;
}

// The number of jobs in each bucket of sizes, and their mean; NaN for empty buckets.
inline py::tuple counts_and_means(std::span<const std::int64_t> counts,
                                  std::span<const double> sums) {
  std::vector<double> means(counts.size());
  for (std::size_t k = 0; k < counts.size(); ++k) {
    means[k] = mean_over(sums[k], static_cast<double>(counts[k]));
  }
  return py::make_tuple(copy(counts), to_numpy(std::move(means)));
}

}  // namespace malleable::bindings
