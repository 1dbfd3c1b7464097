// Jobs in the order of their arrival. With `after`, a job waits until `missing_` other jobs have
// finished; it is held if its time has come before, and released by the last of them.
#include "malleable/sim/arrivals.hpp"

#include <algorithm>
#include <numeric>

namespace malleable {

Arrivals::Arrivals(const ClusterJobsView& jobs) : arrival_(jobs.arrival) {
  const std::size_t n = jobs.size();
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), Index{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](Index a, Index b) { return jobs.arrival[a] < jobs.arrival[b]; });
  if (jobs.after_offset.empty()) return;
  missing_.assign(n, 0);
  held_.assign(n, 0);
  follower_offset_.assign(n + 1, 0);
  for (const std::int64_t other : jobs.after) {
    ++follower_offset_[static_cast<std::size_t>(other) + 1];
  }
  std::partial_sum(follower_offset_.begin(), follower_offset_.end(), follower_offset_.begin());
  follower_.resize(jobs.after.size());
  std::vector<std::size_t> place(follower_offset_.begin(), follower_offset_.end() - 1);
  for (std::size_t j = 0; j < n; ++j) {
    missing_[j] = jobs.after_offset[j + 1] - jobs.after_offset[j];
    for (std::int64_t k = jobs.after_offset[j]; k < jobs.after_offset[j + 1]; ++k) {
      const auto other = static_cast<std::size_t>(jobs.after[static_cast<std::size_t>(k)]);
      follower_[place[other]++] = static_cast<Index>(j);
    }
  }
}

std::vector<Index> Arrivals::ranks() const {
  std::vector<Index> rank(order_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) rank[order_[k]] = static_cast<Index>(k);
  return rank;
}

// The next job that comes now, or is released; kNone if there is none.
Index Arrivals::next(double now) {
  while (next_ < order_.size() && arrival_[order_[next_]] == now) {
    const Index job = order_[next_++];
    if (missing_.empty() || missing_[job] == 0) return job;
    held_[job] = 1;
  }
  if (released_.empty()) return kNone;
  const Index job = released_.front();
  released_.pop_front();
  return job;
}

void Arrivals::finished(Index job) {
  if (missing_.empty()) return;
  for (std::size_t k = follower_offset_[job]; k < follower_offset_[job + 1]; ++k) {
    const Index next = follower_[k];
    if (--missing_[next] == 0 && held_[next]) released_.push_back(next);
  }
}

}  // namespace malleable
