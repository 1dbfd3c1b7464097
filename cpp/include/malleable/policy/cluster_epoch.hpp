// FLEX, FAIR and WDEQ on a cluster: epochs of maps and of reduces (FLEX, section 4.2).
//
// Each pool of slots has an epoch of its own, which sees a job while a phase of it is ready there:
// its work left as estimated, as many slots at most as it has unfinished tasks. Ties go to the job
// whose phase became ready first, then to the one that arrived first. FIFO needs no decisions at
// all: jobs rank by arrival. A decision costs what the epoch's does and O(log n) for each job that
// changed. Policies: epoch.
#pragma once

#include <vector>

#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/epoch.hpp"

namespace malleable {

class ClusterFifo final : public ClusterPolicy {
 public:
  Style style() const override { return Style::kRanks; }
};

class ClusterEpoch final : public ClusterPolicy {
 public:
  // With `at_least_one`, minima are 1 at least: a task of every ready phase runs soon, so that its
  // work can be estimated.
  ClusterEpoch(const EpochOptions& options, bool at_least_one);

  Style style() const override { return Style::kTargets; }
  bool depends_on_time() const override { return time_matters_; }
  void begin(const ClusterState& state) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;

 private:
  static constexpr std::int64_t kAbsent = -1;

  EpochOptions options_;
  bool at_least_one_, time_matters_;
  std::vector<Epoch> epochs_;
  std::vector<Index> changed_;
  std::vector<std::int64_t> id_[2];  // by job
  std::vector<Index> job_[2];        // by id
  std::vector<std::int64_t> ids_, gone_, low_, high_, zeros_;
  std::vector<double> work_, size_, weight_, deadline_, arrival_;
  std::vector<std::int64_t> new_low_, new_high_;
  std::vector<double> new_work_;
};

}  // namespace malleable
