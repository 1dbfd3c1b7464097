// The columns that a user's own policy sees, of every present job, ready or not; and a policy that
// is called by its address.
//
// `work` is what is left, in slot-seconds: the u unfinished tasks times their estimated mean.
// `spread` is its standard deviation. With learning it follows from the estimates
// (kernel/task_estimates). Otherwise, if n finished tasks with reported seconds have the sample
// variance s^2, it is s sqrt(u + u^2 / n), or infinity if n < 2. Phases are added as variances.
// O(present jobs).
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/scheduler/policy_state.h"

namespace malleable {

struct PolicyColumns {
  std::vector<std::int64_t> ids, user, waiting, running, finished, ready, min_slots, max_slots;
  std::vector<double> arrival, weight, deadline, size, attained, speedup, work, spread;

  void gather(const ClusterState& state);
};

class CompiledPolicy final : public ClusterPolicy {
 public:
  CompiledPolicy(malleable_policy function, bool depends_on_time)
      : function_(function), depends_(depends_on_time) {}

  Style style() const override { return Style::kTargets; }
  bool depends_on_time() const override { return depends_; }
  void decide(const ClusterState& state, int pool, Answer& answer) override;

 private:
  malleable_policy function_;
  bool depends_;
  PolicyColumns columns_;
  std::vector<double> slots_;
};

}  // namespace malleable
