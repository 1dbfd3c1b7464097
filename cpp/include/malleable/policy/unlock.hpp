// Unlock: ASRPT's priority of map tasks, but only where it pays.
//
// ASRPT (policy/asrpt.hpp) runs the map tasks of a virtual SRPT (least work left first, map and
// reduce work without order between them) before any reduce task. If a job's map work is small
// compared with its reduce work, this fills the next step with reduce work; otherwise it delays
// jobs that could end now. Here
//   1  a task that runs and may not be interrupted keeps its machine
//   2  map tasks that the virtual SRPT runs in this step, of jobs with at least twice as much
//      reduce as map work left: a machine spent here unlocks at least two units of reduce work
//   3  everything else that may start, map or reduce, by the job's work left, ties to the earlier
// Not from a paper; docs/internals/models.md has the comparison and other variants. Same cost as
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
