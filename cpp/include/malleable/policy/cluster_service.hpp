// Policies for jobs of whose sizes little is known: who goes first follows from what jobs had.
//
//   LAS      least attained service first, in classes that double, so that jobs alike do not take
//            turns task by task (multilevel feedback); in a class the first to arrive
//   GITTINS  the largest Gittins index of its class first (kernel/gittins), from how much work
//            phases had that finished (scheduler/job_estimates); before any did as LAS. Maps and
//            reduces apart
//   PSBS     the order in which a virtual FAIR run ends the jobs; one that has ended there and not
//            here goes before all others, the first to end there first (policy/virtual_fair)
//
// Service that was attained is what finished tasks took. Tasks are never taken back. With `by_user`
// users share the slots first (policy/user_shares), then each user's jobs what the user has. O(1)
// for each job that changed, with GITTINS O(n) where the index was computed anew, which happens
// whenever an eighth more phases have finished; PSBS as its virtual run; with `by_user` O(n log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/gittins.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/user_shares.hpp"
#include "malleable/policy/virtual_fair.hpp"

namespace malleable {

enum class ServiceKind : std::uint8_t { kLas, kGittins, kPsbs };

class ClusterService final : public ClusterPolicy {
 public:
  explicit ClusterService(ServiceKind kind, bool by_user = false)
      : kind_(kind), by_user_(by_user) {}

  // Service counts as told, and as estimated where it was not.
  bool reads_estimate(const PhaseState& s) const override {
    return kind_ == ServiceKind::kPsbs || s.finished != s.timed;
  }
  bool looks_at_both() const override { return kind_ == ServiceKind::kLas; }
  Style style() const override { return by_user_ ? Style::kTargets : Style::kRanks; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  double first_rank(const ClusterState& state, Index job, int pool) override;
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

  ServiceKind kind_;
  bool by_user_;
  VirtualFair virtual_[2];
  // By phase: the index of each class, and of how many phases it was computed.
  GittinsIndex index_[2];
  bool anew_[2] = {false, false};  // by pool: indices are others than at its last decision
  UserShares between_;
  std::vector<double> rank_[2];  // by_user: by job
  std::vector<double> usable_;
  std::vector<Row> rows_;
};

}  // namespace malleable
