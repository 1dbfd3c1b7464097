// Slots of a cluster's users, which are shared before those of jobs: water-filling weighted by
// priority (equal slots over priority; slots that a user cannot use go to the others) over the
// slots that each user's jobs could use, minima first (Rasooli and Down 2011, section 4, have users
// with both; FLEX, Wolf et al. 2010, section 1, has pools). A minimum for several pools of slots
// counts in proportion to them. O(users) a decision. Kernels: water_filling.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/water_filling.hpp"
#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class UserShares {
 public:
  // If not `by_user`, one user has all slots.
  void begin(const ClusterState& state, bool by_user = true);
  std::size_t users() const { return priority_.size(); }
  // Whole slots of each user. `most[user]`: slots that the user's jobs could use; `least[user]`:
  // slots that they must have (empty: none).
  std::span<const double> of(const ClusterState& state, int pool, std::span<const double> most,
                             std::span<const double> least = {});

 private:
  WaterFilling water_filling_;
  Problem between_;
  bool by_user_ = true;
  std::vector<double> priority_, slots_, wants_, nothing_;  // by user
  std::vector<std::int64_t> minimum_, maximum_;
};

}  // namespace malleable
