#include "malleable/sim/user_watch.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

UserWatch::UserWatch(const ClusterJobsView& jobs) {
  std::vector<double> priorities(jobs.user_priority.begin(), jobs.user_priority.end());
  std::sort(priorities.begin(), priorities.end());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  sum_.assign(priorities.size(), 0.0);
  count_.assign(priorities.size(), 0.0);
  for (const double priority : jobs.user_priority) {
    const auto place = std::lower_bound(priorities.begin(), priorities.end(), priority);
    priority_.push_back(static_cast<std::size_t>(place - priorities.begin()));
    count_[priority_.back()] += 1.0;
  }
}

// Dissatisfaction: the part of its minimum that a user with waiting tasks lacks, times its
// priority. Unfairness: how far users' slots above their minima are from the mean of their
// priority.
void UserWatch::measure(const ClusterScheduler& scheduler) {
  const ClusterState& state = scheduler.state();
  const ClusterJobsView& jobs = state.jobs;
  dissatisfaction_ = unfairness_ = 0.0;
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t u = 0; u < priority_.size(); ++u) {
    const auto has = static_cast<double>(state.user_running[u]);
    const double least = jobs.user_minimum[u];
    sum_[priority_[u]] += has - least;
    if (scheduler.ready_of_user(u) > 0 && has < least) {
      dissatisfaction_ += (least - has) / least * jobs.user_priority[u];
    }
  }
  for (std::size_t u = 0; u < priority_.size(); ++u) {
    const auto has = static_cast<double>(state.user_running[u]);
    const double average = sum_[priority_[u]] / count_[priority_[u]];
    unfairness_ += std::fabs(has - jobs.user_minimum[u] - average);
  }
}

}  // namespace malleable
