// What a policy of one's own sees: every job that is here, ready or not, column by column; and one
// that is called by its address.
//
// `spread` is the standard deviation of `work`: u tasks that are left take u means. Where estimates
// are learnt, it is theirs (kernel/task_estimates); else, of n finished tasks whose seconds were
// told, with sample variance s^2, they are off by s sqrt(u + u^2 / n), infinity while fewer than
// two were told. Of several phases the root of the sum of squares. O(jobs here).
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
