// The k-th completion is at least the sum of the k least lambda * map + (1 - lambda) * shuffle, for
// each lambda of a grid, and at least the k-th least time of a job alone (the larger of its phases,
// because map and shuffle overlap). Returns the sum of these bounds.
#include "malleable/kernel/tandem_batch_bound.hpp"

#include <algorithm>
#include <vector>

namespace malleable {

double tandem_batch_bound(std::span<const double> map, std::span<const double> shuffle) {
  const std::size_t count = map.size();
  std::vector<double> least(count), size(count);
  for (std::size_t j = 0; j < count; ++j) least[j] = std::max(map[j], shuffle[j]);
  std::sort(least.begin(), least.end());
  for (int g = 0; g < kBatchBoundGrid; ++g) {
    const double lambda = static_cast<double>(g) / (kBatchBoundGrid - 1);
    for (std::size_t j = 0; j < count; ++j) size[j] = lambda * map[j] + (1.0 - lambda) * shuffle[j];
    std::sort(size.begin(), size.end());
    double done = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      done += size[k];
      least[k] = std::max(least[k], done);
    }
  }
  double total = 0.0;
  for (const double completion : least) total += completion;
  return total;
}

}  // namespace malleable
