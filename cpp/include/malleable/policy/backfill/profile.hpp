// CONSERVATIVE backfill: every job of a queue has a place, the earliest that the jobs before it
// leave, and jobs whose place begins now start.
//
// The profile is the room of each cell from each time on. O(C Q (Q + R)) for Q jobs that wait, R
// bundles that run and C cells, at most C times that where cells are several.
#pragma once

#include <span>
#include <vector>

#include "malleable/policy/backfill/reservations.hpp"

namespace malleable {

class Profile {
 public:
  // Lists in `taken` the tasks that start now.
  void pass(const QueueMoment& at, std::vector<Cells::Taken>& taken);

 private:
  // The first step from which there is room for all of the job's seconds.
  std::size_t earliest(const Cells& cells, const QueuedJob& job);
  std::span<NodeRoom> step(std::size_t k) { return std::span(steps_).subspan(k * cells_, cells_); }
  void add_step(std::size_t k, double time);

  std::size_t cells_ = 0;
  std::vector<double> times_;            // of the steps
  std::vector<NodeRoom> steps_;          // by step and cell: room from its time on
  Cells::Room room_, spot_;              // now; where a job is put
  Cells::Reserved window_;               // room during all of a job's seconds, in every cell
  std::vector<std::int64_t> narrowest_;  // by place: the least width of the jobs from there on
  std::vector<Cells::Taken> own_;        // of one job
};

}  // namespace malleable
