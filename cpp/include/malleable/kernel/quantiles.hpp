// A few quantiles that stand for many values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace malleable {

// Leaves at most `most` of the values, rising and without repetition: quantiles, the last one the
// largest value. O(n log n).
inline void keep_quantiles(std::vector<double>& values, std::size_t most) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const std::size_t count = values.size();
  if (count <= most) return;
  for (std::size_t k = 0; k < most; ++k) values[k] = values[(k + 1) * count / most - 1];
  values.resize(most);
}

}  // namespace malleable
