#include "malleable/policy/user_shares.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

void UserShares::begin(const ClusterState& state, bool by_user) {
  by_user_ = by_user;
  const std::size_t users = by_user ? state.user_running.size() : 1;
  wants_.assign(users, 0.0);
  nothing_.assign(users, 0.0);
  slots_.assign(users, 0.0);
  priority_.assign(users, 1.0);
  for (std::size_t user = 0; by_user && user < state.jobs.user_priority.size(); ++user) {
    priority_[user] = state.jobs.user_priority[user];
  }
}

// Slots of each user in a pool, by water-filling: in proportion to priorities, at least minima,
// which both pools share by their sizes, and at most what the user's jobs can use.
std::span<const double> UserShares::of(const ClusterState& state, int pool,
                                       std::span<const double> most,
                                       std::span<const double> least) {
  if (!by_user_) {
    slots_[0] = static_cast<double>(state.slots[pool]);
    return slots_;
  }
  const double all = static_cast<double>(state.slots[0] + state.slots[1]);
  const double part = static_cast<double>(state.slots[pool]) / std::max(all, 1.0);
  minimum_.clear();
  maximum_.clear();
  for (std::size_t user = 0; user < users(); ++user) {
    const double own = state.jobs.user_minimum.empty() ? 0.0 : state.jobs.user_minimum[user];
    const double has = least.empty() ? 0.0 : least[user];
    const auto usable = static_cast<std::int64_t>(most[user]);
    maximum_.push_back(std::max<std::int64_t>(usable, 1));
    const double asked = std::max(std::ceil(own * part), has);
    minimum_.push_back(std::min(static_cast<std::int64_t>(asked), usable));
    wants_[user] = usable > 0 ? 1.0 : 0.0;
  }
  if (state.slots[pool] > 0) {
    between_.build(wants_, nothing_, minimum_, maximum_, state.slots[pool], 0.0,
                   MinMode::kGuarantee);
    water_filling_.allocate(between_, priority_, slots_);
  } else {
    std::fill(slots_.begin(), slots_.end(), 0.0);
  }
  return slots_;
}

}  // namespace malleable
