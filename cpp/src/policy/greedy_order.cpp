#include "malleable/policy/greedy_order.hpp"

#include <algorithm>

namespace malleable {

// Each job in the order of a key takes as many machines as it can use in this step.
void GreedyOrder::update(std::span<const SlottedJob> jobs, Index row) {
  const SlottedJob& job = jobs[row];
  if (job.maps + job.ready > 0) {
    order_.set(row, key_(job), job.sequence);
  } else {
    order_.erase(row);
  }
}

void GreedyOrder::leave(std::span<const SlottedJob>, Index row, bool) { order_.erase(row); }

void GreedyOrder::decide(std::span<const SlottedJob> jobs, std::int64_t, std::int64_t idle, bool,
                         std::vector<SlottedGrant>& grants) {
  if (idle <= 0) return;
  order_.visit_in_order([&](const IndexedHeap::Entry& entry) {
    const SlottedJob& job = jobs[entry.item];
    const std::int64_t maps = std::min(job.maps, idle);
    const std::int64_t reduces = std::min(job.ready, idle - maps);
    grants.push_back({entry.item, maps, reduces});
    idle -= maps + reduces;
    return idle > 0;
  });
}

}  // namespace malleable
