// Shortest-first policies of other papers on a cluster, all on estimated work left, in seconds of
// all slots of a phase. A pool is the slots of one kind (0: maps, or generic slots; 1: reduces).
//
//   SRPT       least work left, map and reduce together
//   MaxSRPT    least max(map, reduce) left (Lin et al. 2013, section 4.1; reduce work with its
//              copying counts as shuffle work)
//   ASRPT      map tasks by the work that a virtual SRPT machine has left of their job, where
//              reduce work does not wait for map work (policy/virtual_cluster); reduce tasks by
//              work left (Zheng, Shroff, Sinha 2013, section VI)
//   heSRPT     with speed-up s^p: of m jobs, the i-th largest gets the part
//              (i / m)^(1 / (1 - p)) - ((i - 1) / m)^(1 / (1 - p)) (Berg, Vesilo, Harchol-Balter
//              2019); p = 1: SRPT. If jobs have their own exponents, p is the mean, and no job gets
//              more slots than speed it up.
//
// With `by_user` users share the slots first (policy/user_shares), then each user's jobs share the
// user's slots in the same way. O(n) a decision for n jobs in the system for SRPT, MaxSRPT and
// ASRPT. For answers in slots, jobs stay sorted between decisions (kernel/incremental_order).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/hesrpt.hpp"
#include "malleable/kernel/incremental_order.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/policy/user_shares.hpp"
#include "malleable/policy/virtual_cluster.hpp"

namespace malleable {

enum class SrptKind : std::uint8_t { kSrpt, kMaxSrpt, kAsrpt, kHeSrpt };

struct SrptOptions {
  SrptKind kind = SrptKind::kSrpt;
  double speedup = 1.0;           // p, for heSRPT
  std::vector<double> exponents;  // by job: its own p; empty: none
  std::vector<std::int64_t>
      useful;  // by job: slots beyond which it does not get faster; may be empty
  bool by_user = false;
};

class ClusterSrpt final : public ClusterPolicy {
 public:
  explicit ClusterSrpt(SrptOptions options) : options_(std::move(options)) {}
  ClusterSrpt(SrptKind kind, double speedup) {
    options_.kind = kind;
    options_.speedup = speedup;
  }

  Style style() const override {
    return options_.by_user || options_.kind == SrptKind::kHeSrpt ? Style::kTargets : Style::kRanks;
  }
  // Keys are of the work left in both phases, except for heSRPT.
  bool looks_at_both() const override { return options_.kind != SrptKind::kHeSrpt; }
  void begin(const ClusterState& state) override;
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void keep(const ClusterState& state, State& s) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState&, Index job) override { here_[job] = 0; }
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  double first_rank(const ClusterState& state, Index job, int pool) override {
    return key(state, job, pool);
  }

 private:
  struct Row {
    double key, most, given;
    std::uint64_t came;
    Index job;

    bool operator<(const Row& other) const {
      return key != other.key ? key < other.key : came < other.came;
    }
  };

  // Seconds that all slots of the phase take for the work; with generic slots the work itself.
  double seconds(const ClusterState& state, double work, Phase p) const;
  // Seconds that all slots of the phase would take.
  double left(const ClusterState& state, Index job, Phase p) const;
  // The work left that the policy goes by.
  double key(const ClusterState& state, Index job, int pool) const;
  // The job's key may have changed; so may those of all changed jobs, and of all if slots did.
  void mark_stale(Index job);
  void mark_changed(const ClusterState& state, int pool);
  // All keys are up to date.
  void forget_stale(int pool);
  // Sets the ranks of jobs whose keys may have changed.
  void rank(const ClusterState& state, int pool, Answer& answer);
  // Sets order_: the jobs that can use slots of the pool; other jobs get none.
  void collect(const ClusterState& state, int pool, Answer& answer);
  // Gives slots to rows that are sorted by their keys.
  void share(int pool, std::span<Row> rows, double slots);
  // Gives each row its part by heSRPT.
  void parts(int pool, std::span<Row> rows, double slots);

  SrptOptions options_;
  UserShares between_;
  std::vector<double> usable_;  // by user: slots that the user's jobs can use (workspace)
  VirtualCluster virtual_;      // for ASRPT
  // For answers in slots: the jobs that want slots of a pool, in order.
  IncrementalOrder<Row> order_[2];
  std::vector<std::uint8_t> inside_[2];  // by job: it is in order_
  // Jobs that are present, and jobs whose keys may have changed since the pool's last decision; the
  // slots at that decision.
  std::vector<std::uint8_t> here_, is_stale_[2];
  std::vector<Index> stale_[2];
  std::int64_t slots_before_[2][2] = {};
  std::vector<Row> rows_;
  HeSrptParts parts_[2];
};

}  // namespace malleable
