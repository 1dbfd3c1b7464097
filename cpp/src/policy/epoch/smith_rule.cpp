#include "malleable/policy/epoch/smith_rule.hpp"

namespace malleable {

void SmithRule::changed(const Scene& at, std::size_t row) {
  const JobTable& jobs = at.jobs;
  const bool fifo = at.options.policy == EpochPolicy::kFifo;
  double& key = key_[row];
  if (!(jobs.work[row] > 0.0)) {
    key = fifo ? -2.0 * kLatestTime : 0.0;
  } else if (fifo) {
    key = jobs.arrival[row];
  } else {
    key = jobs.smith_ratio(row);
    if (at.favoured(row)) key /= 1.0 + at.options.hysteresis;
  }
}

}  // namespace malleable
