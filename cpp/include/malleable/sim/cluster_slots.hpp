// The slot on which each task of a trace ran, for pictures: the lowest free slot of its node when
// it starts. Slots are numbered from 0, node by node, on each node maps before reduces. O(rows log
// slots of a node).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

// Rows of a trace (sim/cluster), in the order of time. kind 0: start; 4: an output is lost, which
// has no slot (-1); all others: an end.
struct TraceView {
  std::span<const std::uint8_t> kind, phase;
  std::span<const std::int64_t> job, task, node, attempt;
};

std::vector<std::int64_t> slots_of(const TraceView& trace, const ClusterView& cluster);

}  // namespace malleable
