// Equal numbers of machines: each job gets min(level, what it can use) machines, at least as many
// as its running tasks hold, for the highest level that fits.
#include "malleable/policy/fair_share.hpp"

#include <algorithm>

namespace malleable {

void FairShare::arrive(std::span<const SlottedJob> jobs, Index row) {
  members_.push_back({jobs[row].sequence, row});
}

void FairShare::decide(std::span<const SlottedJob> jobs, std::int64_t, std::int64_t idle, bool,
                       std::vector<SlottedGrant>& grants) {
  claims_.clear();
  std::size_t kept = 0;
  std::int64_t wanted = 0, highest = 0;
  for (const Member& member : members_) {
    const SlottedJob& job = jobs[member.row];
    // the job has left; another job may have its row
    if (job.sequence != member.sequence) continue;
    members_[kept++] = member;
    // More than all idle machines cannot be granted, and the sum stays small.
    const std::int64_t waiting = std::min(job.maps + job.ready, idle);
    if (waiting <= 0) continue;
    claims_.push_back({job.running, job.running + waiting, member.row});
    wanted += waiting;
    highest = std::max(highest, job.running + waiting);
  }
  members_.resize(kept);
  if (idle <= 0) return;

  // The highest level whose grants fit.
  const auto granted = [](const Claim& claim, std::int64_t level) {
    return std::clamp(level, claim.low, claim.high) - claim.low;
  };
  std::int64_t level = highest;
  if (wanted > idle) {
    std::int64_t fits = 0, too_high = highest;
    while (too_high - fits > 1) {
      const std::int64_t middle = fits + (too_high - fits) / 2;
      std::int64_t sum = 0;
      for (const Claim& claim : claims_) {
        sum += granted(claim, middle);
        if (sum > idle) break;
      }
      (sum <= idle ? fits : too_high) = middle;
    }
    level = fits;
  }
  std::int64_t odd = idle;
  for (const Claim& claim : claims_) odd -= granted(claim, level);
  for (const Claim& claim : claims_) {
    std::int64_t machines = granted(claim, level);
    if (odd > 0 && granted(claim, level + 1) > machines) {
      ++machines;
      --odd;
    }
    if (machines == 0) continue;
    const std::int64_t maps = std::min(jobs[claim.row].maps, machines);
    grants.push_back({claim.row, maps, machines - maps});
  }
}

}  // namespace malleable
