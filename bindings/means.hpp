// Means of what simulations have added up.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "arrays.hpp"

namespace malleable::bindings {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Their ratio, or what it is of nothing.
inline double mean_over(double sum, double count, double otherwise = kNaN) {
  return count > 0.0 ? sum / count : otherwise;
}

// Jobs in each bucket of size, and their mean; NaN where there are none.
inline py::tuple counts_and_means(std::span<const std::int64_t> counts,
                                  std::span<const double> sums) {
  std::vector<double> means(counts.size());
  for (std::size_t k = 0; k < counts.size(); ++k) {
    means[k] = mean_over(sums[k], static_cast<double>(counts[k]));
  }
  return py::make_tuple(copy(counts), to_numpy(std::move(means)));
}

}  // namespace malleable::bindings
