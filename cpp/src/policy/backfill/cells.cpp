#include "malleable/policy/backfill/cells.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace malleable {

// A cell has the nodes of the same partitions; if memory or GPUs are given, single nodes.
void Cells::make(const ClusterView& cluster) {
  const bool single = !cluster.memory.empty() || !cluster.gpus.empty();
  const auto partitions = [&](Index node) {
    return cluster.partitions.empty() ? ~std::uint64_t{0} : cluster.partitions[node];
  };
  std::vector<Index> nodes(cluster.size());
  std::iota(nodes.begin(), nodes.end(), Index{0});
  if (single || !cluster.partitions.empty()) {
    std::ranges::stable_sort(nodes, {}, [&](Index node) {
      const NodeRoom room = cluster.room_on(node);
      const std::uint64_t in = partitions(node);
      return std::tuple(std::popcount(in), in, room.gpus, room.memory);
    });
  }
  cells_.clear();
  of_.resize(nodes.size());
  for (const Index node : nodes) {
    const std::uint64_t in = partitions(node);
    if (cells_.empty() || single || in != cells_.back().partitions) cells_.push_back({in, {}});
    cells_.back().nodes.push_back(node);
    of_[node] = static_cast<Index>(cells_.size() - 1);
  }
  apart_ = single || cells_.size() > 1;
}

std::int64_t Cells::most(std::span<const NodeRoom> room, const TaskNeeds& needs) const {
  std::int64_t tasks = 0;
  for (std::size_t c = 0; c < room.size(); ++c) tasks += fit(room[c], c, needs);
  return tasks;
}

std::int64_t Cells::most(const Room& room, const Reserved& later, const TaskNeeds& needs,
                         double end) const {
  std::int64_t tasks = 0;
  for (std::size_t c = 0; c < room.cell.size(); ++c) {
    const std::int64_t own = fit(room.cell[c], c, needs);
    tasks += end > later.from[c] ? std::min(own, fit(later.room[c], c, needs)) : own;
  }
  return tasks;
}

void Cells::take(Room& room, Reserved* later, Index place, const TaskNeeds& needs, double end,
                 std::int64_t tasks, std::vector<Taken>& taken) const {
  room.free -= tasks;
  for (std::size_t c = 0; tasks > 0; ++c) {
    const bool beside = later != nullptr && end > later->from[c];
    std::int64_t own = std::min(tasks, fit(room.cell[c], c, needs));
    if (beside) own = std::min(own, fit(later->room[c], c, needs));
    if (own == 0) continue;
    room.cell[c].give(needs, -own);
    if (beside) later->room[c].give(needs, -own);
    taken.push_back({place, static_cast<Index>(c), own});
    tasks -= own;
  }
}

}  // namespace malleable
