// Unlock: ASRPT's head start for map tasks, only where it pays.
//
// ASRPT (policy/asrpt) runs the map tasks of the virtual SRPT before any reduce task. That fills
// the next step with reduce work where a job's map work is small against its reduce work, and
// delays jobs that could end now where it is not. Here
//   1  what runs and may not be interrupted keeps its machine
//   2  map tasks that the virtual SRPT runs in this step, of jobs with no more map than reduce work
//      left: a machine spent here unlocks at least one unit of reduce work
//   3  everything else that may start, map or reduce, by the job's work left, ties to the earlier
// Not from a paper; docs/internals/models.md has the comparison and what else was tried. Costs as
// ASRPT.
#pragma once

#include "malleable/policy/asrpt.hpp"

namespace malleable {

class Unlock final : public PlannedMaps {
 public:
  void update(std::span<const SlottedJob> jobs, Index row) override;
  void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) override;
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
              bool fresh, std::vector<SlottedGrant>& grants) override;
  void state(State& s) override {
    PlannedMaps::state(s);
    s(order_);
  }

 private:
  IndexedHeap order_;
};

}  // namespace malleable
