// Flows: DAGs of malleable jobs as a struct of arrays, and the one place where they are checked.
//
// Jobs of all flows stand in one table; flow f owns rows job_offset[f] .. job_offset[f + 1]. Job i
// waits for the rows parent[parent_offset[i] .. parent_offset[i + 1]], all of its own flow. What
// people pay for is a flow: arrival, weight, deadline and SLA steps belong to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace malleable {

struct FlowsView {
  std::span<const double> arrival, weight, deadline;  // per flow; deadline +infinity: none
  std::span<const std::int64_t> sla_offset;           // flows() + 1 entries
  std::span<const double> sla_time, sla_penalty;      // penalties are cumulative
  std::span<const std::int64_t> job_offset;           // flows() + 1 entries
  std::span<const double> work;                       // per job
  std::span<const std::int64_t> max_slots;
  std::span<const std::int64_t> parent_offset;  // jobs() + 1 entries
  std::span<const std::int64_t> parent;         // job rows

  std::size_t flows() const { return arrival.size(); }
  std::size_t jobs() const { return work.size(); }
};

// Throws FieldError for the first value that makes no sense and std::invalid_argument for lengths
// that differ or a parent in another flow. Cycles are find_cycle's. O(flows + jobs + parents).
void validate(const FlowsView& flows);

// Jobs that wait for each other, each for the next one and the last for the first; empty if there
// are none. O(jobs + parents).
std::vector<std::int64_t> find_cycle(const FlowsView& flows);

}  // namespace malleable
