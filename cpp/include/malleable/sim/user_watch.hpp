// How far users are from their minima, and from others of the same priority (Rasooli and Down 2011,
// section 5). Dissatisfaction: over users with ready tasks, the missing part of the minimum times
// the priority. Unfairness: over all users, how far the slots above the minimum are from their
// average over users of the same priority.
//
// O(users) an instant.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

class UserWatch {
 public:
  explicit UserWatch(const ClusterJobsView& jobs);

  bool used() const { return !priority_.empty(); }
  void measure(const ClusterScheduler& scheduler);
  double dissatisfaction() const { return dissatisfaction_; }
  double unfairness() const { return unfairness_; }

 private:
  std::vector<std::size_t> priority_;  // by user: number of its priority
  std::vector<double> sum_, count_;    // by priority
  double dissatisfaction_ = 0.0, unfairness_ = 0.0;
};

}  // namespace malleable
