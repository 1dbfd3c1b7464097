// GITTINS, for jobs of whose sizes little is known: the job with the largest Gittins index of its
// class goes first (kernel/gittins). The index says, from how much work finished phases had
// (scheduler/job_estimates), which job is likely to end soon by what it had. Before any phase has
// finished, the job that had least goes first. Maps and reduces apart. In a class, which is all
// work up to twice the least of it, the first to arrive goes first, so that jobs alike do not take
// turns task by task.
//
// What a job had is what its finished tasks took. Tasks are never taken back. With `by_user`
// users share the slots first (policy/user_shares), then each user's jobs what the user has. O(1)
// for each job that changed, O(n) where the index was computed again, which happens whenever an
// eighth more phases have finished; with `by_user` O(n log n).
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

  // Service counts as told, and as estimated where it was not.
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
  struct Row {
    std::size_t user;
    double rank, most;
    Index place, job;
  };
  template <typename Tell>
  void rank(const ClusterState& state, int pool, const Tell& tell);
  double rank_of(const ClusterState& state, Index job, int pool) const;
  void look_at_history(const ClusterState& state);
  void share(const ClusterState& state, int pool, Answer& answer);

  bool by_user_;
  // By phase: the index of each class, and of how many phases it was computed.
  GittinsIndex index_[2];
  bool anew_[2] = {false, false};  // by pool: indices are others than at its last decision
  UserShares between_;
  std::vector<double> rank_[2];  // by_user: by job
  std::vector<double> usable_;
  std::vector<Row> rows_;
};

}  // namespace malleable
