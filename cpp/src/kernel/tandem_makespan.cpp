#include "malleable/kernel/tandem_makespan.hpp"

#include <algorithm>
#include <numeric>

namespace malleable {

// Jobs with more shuffle than map first: the last one then ends as early as possible.
std::vector<Index> makespan_order(std::span<const double> map, std::span<const double> shuffle) {
  std::vector<Index> order(map.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](Index job) { return shuffle[job] >= map[job]; });
  return order;
}

void order_completions(std::span<const double> map, std::span<const double> shuffle,
                       std::span<const Index> order, std::span<double> completion) {
  double mapped = 0.0, shuffled = 0.0;
  for (const Index job : order) {
    if (map[job] == 0.0 && shuffle[job] == 0.0) {
      completion[job] = 0.0;
      continue;
    }
    mapped += map[job];
    shuffled = std::max(shuffled + shuffle[job], mapped);
    completion[job] = shuffle[job] > 0.0 ? shuffled : mapped;
  }
}

}  // namespace malleable
