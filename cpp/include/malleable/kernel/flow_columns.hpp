// What a caller hands to one kernel of flows alone, as columns, and the checks of it. Policies make
// the same themselves and need none. Linear in the columns.
#pragma once

#include <cstdint>
#include <span>

#include "malleable/kernel/flow_chains.hpp"

namespace malleable {

// A schedule of pseudo-jobs: flow[p] owns the pieces offset[p] .. offset[p + 1], in order of time;
// piece q holds slots[q] for pseudo_job[q] from start[q] to end[q].
struct ChainColumns {
  std::span<const std::int64_t> flow, offset, pseudo_job;
  std::span<const double> start, end;
  std::span<const std::int64_t> slots;
};

// Every flow at most once, its pieces in order of time, no pseudo-job above its height, each with
// all of its work (within 1e-6, and what rounding times to doubles costs); FieldError for the first
// thing that is not so.
void validate(const ChainColumns& pieces, const FlowChains& chains);

// What MinCostFlow takes (kernel/min_cost_flow).
struct TransportColumns {
  std::span<const double> volume, time, room;
  std::span<const std::int64_t> offset, from_cell;
  std::span<const double> value, slope;
};

// FieldError for the first number that is not as MinCostFlow needs it.
void validate(const TransportColumns& columns);

}  // namespace malleable
