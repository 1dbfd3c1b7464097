// GITTINS, for jobs of unknown sizes: the job with the largest Gittins index goes first
// (kernel/gittins). From the sizes of finished phases (scheduler/job_estimates), the index says
// which job is likely to end soon, given the service that it has attained. Before any phase has
// finished, the job with the least attained service goes first. Maps and reduces are ordered
// separately. Attained service is divided into classes that double; within a class jobs go by
// arrival, so that similar jobs do not alternate task by task.
//
// Attained service is the time of a job's finished tasks. Tasks are never taken back. With
// `by_user` users share the slots first (policy/user_shares), then each user's jobs share the
// user's slots. O(1) for each job that changed, O(n) if the index was computed again, which happens
// whenever an eighth more phases have finished; with `by_user` O(n log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/gittins.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/user_shares.hpp"

namespace malleable {

class ClusterGittins final : public ClusterPolicy {
 public:
  explicit ClusterGittins(bool by_user) : by_user_(by_user) {}

  // Service of finished tasks counts as reported; the estimate is read only for tasks without a
  // report.
  bool reads_estimate(const PhaseState& s) const override { return s.finished != s.timed; }
  Style style() const override { return by_user_ ? Style::kTargets : Style::kRanks; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  double first_rank(const ClusterState& state, Index job, int pool) override {
    return rank_of(state, job, pool);
  }
  void keep(const ClusterState& state, State& s) override;

 private:
  struct Row {  // a job
    std::size_t user;
    double rank, most;
    Index place, job;
  };
  template <typename Set>
  void rank(const ClusterState& state, int pool, const Set& set);
  // The index as a rank, the least first.
  double rank_of(const ClusterState& state, Index job, int pool) const;
  // Computes the indices again if enough phases have finished since.
  void update_indices(const ClusterState& state);
  // Gives each user's slots to the user's jobs by rank.
  void share(const ClusterState& state, int pool, Answer& answer);

  bool by_user_;
  // By phase: the index of each class, and the number of phases that it was computed from.
  GittinsIndex index_[2];
  bool stale_[2] = {false, false};  // by pool: indices have changed since its last decision
  UserShares between_;
  std::vector<double> rank_[2];  // by_user: by job
  std::vector<double> usable_;   // by user: slots that the user's jobs can use (workspace)
  std::vector<Row> rows_;
};

}  // namespace malleable
