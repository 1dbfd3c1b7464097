#include "malleable/policy/unlock.hpp"

#include <algorithm>

namespace malleable {

// Maps as a virtual SRPT plans them, if they unlock at least twice as much reduce work; then jobs
// by the least work left.
void Unlock::update(std::span<const SlottedJob> jobs, Index row) {
  const SlottedJob& job = jobs[row];
  if (job.maps + job.ready > 0) {
    order_.set(row, job.left(), job.sequence);
  } else {
    order_.erase(row);
  }
}

// The job has finished, or was cancelled.
void Unlock::leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) {
  order_.erase(row);
  PlannedMaps::leave(jobs, row, cancelled);
}

void Unlock::decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
                    bool fresh, std::vector<SlottedGrant>& grants) {
  idle = grant(jobs, machines, idle, fresh, /*unlocking=*/true, grants);
  fill(jobs, order_, idle, grants);
  forget();
}

}  // namespace malleable
