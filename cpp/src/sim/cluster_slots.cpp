#include "malleable/sim/cluster_slots.hpp"

#include <functional>
#include <map>
#include <queue>
#include <tuple>

namespace malleable {
namespace {

constexpr std::uint8_t kStarted = 0, kOutputLost = 4, kBackupStarted = 5;  // kinds of trace rows

// Slots of one kind on a node; slots from `next` on were never used.
struct Pool {
  std::int64_t next;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free;

  std::int64_t take() {
    if (free.empty()) return next++;
    const std::int64_t slot = free.top();
    free.pop();
    return slot;
  }
};

}  // namespace

// The number of the slot of each row of a trace: a task takes the free slot of its node with the
// least number; slots are numbered node by node. -1: the row has none. Generic slots take maps and
// reduces, so that a node has one pool of them.
std::vector<std::int64_t> slots_of(const TraceView& trace, const ClusterView& cluster) {
  std::vector<Pool> pools;  // two a node
  std::int64_t first = 0;
  for (std::size_t n = 0; n < cluster.size(); ++n) {
    pools.push_back({first, {}});
    first += cluster.map_slots[n];
    pools.push_back({first, {}});
    first += cluster.generic ? 0 : cluster.reduce_slots[n];
  }
  std::map<std::tuple<std::int64_t, std::uint8_t, std::int64_t, std::int64_t>, std::int64_t> held;
  std::vector<std::int64_t> found(trace.kind.size(), -1);
  for (std::size_t row = 0; row < found.size(); ++row) {
    if (trace.kind[row] == kOutputLost) continue;
    const auto node = static_cast<std::size_t>(trace.node[row]);
    Pool& pool = pools[2 * node + (cluster.generic ? 0 : trace.phase[row])];
    auto& slot = held[{trace.job[row], trace.phase[row], trace.task[row], trace.attempt[row]}];
    if (trace.kind[row] == kStarted || trace.kind[row] == kBackupStarted) {
      slot = pool.take();
    } else {
      pool.free.push(slot);
    }
    found[row] = slot;
  }
  return found;
}

}  // namespace malleable
