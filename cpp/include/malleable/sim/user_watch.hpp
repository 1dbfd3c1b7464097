// How far users are from their minima, and from others of the same priority (Rasooli and Down 2011,
// section 5).
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
  void look(const ClusterScheduler& scheduler);
  double dissatisfaction() const { return dissatisfaction_; }
  double unfairness() const { return unfairness_; }

 private:
  std::vector<std::size_t> priority_;  // by user: number of its priority
  std::vector<double> sum_, count_;    // by priority
  double dissatisfaction_ = 0.0, unfairness_ = 0.0;
};

}  // namespace malleable
