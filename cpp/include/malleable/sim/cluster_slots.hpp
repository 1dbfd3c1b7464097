// Which slot each task of a trace ran on, for readers who want to see slots: the lowest of its
// node's that is free when it starts. Slots are numbered from 0, node by node, on a node those of
// maps before those of reduces. O(rows log slots of a node).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

// Rows of a trace (sim/cluster), in the order of time. kind 0: start; 4: an output is lost, which
// concerns no slot (-1); all others: an end.
struct TraceView {
  std::span<const std::uint8_t> kind, phase;
  std::span<const std::int64_t> job, task, node, attempt;
};

std::vector<std::int64_t> slots_of(const TraceView& trace, const ClusterView& cluster);

}  // namespace malleable
