// Shortest-first policies of other papers on a cluster, all on estimated work left, in seconds of
// all slots of a phase.
//
//   SRPT       least work left, map and reduce together
//   MaxSRPT    least max(map, reduce) left; SplitSRPT: map-heavy jobs by map work left, the others
//              by reduce work left; the classes share both kinds of slots as beta says, and lend
//              what they cannot use (Lin et al. 2013, sections 4.1 and 4.2; reduce work with its
//              copying stands for the shuffle)
//   ASRPT      by the completions of a virtual SRPT machine as fast as all slots together
//              (2013, section 4: real tasks follow a schedule that cannot be realised)
//   heSRPT     with speed-up s^p: of m jobs, the i-th largest gets the part
//              (i / m)^(1 / (1 - p)) - ((i - 1) / m)^(1 / (1 - p))  (Berg, Vesilo, Harchol-Balter
//              2019); p = 1: SRPT
//
// O(n log n) a decision for n jobs in the system, O(n) for MaxSRPT and SRPT.
#pragma once

#include <vector>

#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

enum class SrptKind : std::uint8_t { kSrpt, kMaxSrpt, kSplitSrpt, kAsrpt, kHeSrpt };

class ClusterSrpt final : public ClusterPolicy {
 public:
  // `speedup`: p, for heSRPT.
  ClusterSrpt(SrptKind kind, double speedup) : kind_(kind), speedup_(speedup) {}

  Style style() const override {
    return kind_ == SrptKind::kSplitSrpt || kind_ == SrptKind::kHeSrpt ? Style::kTargets
                                                                       : Style::kRanks;
  }
  void begin(const ClusterState& state) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;

 private:
  double left(const ClusterState& state, Index job, Phase p) const;
  void advance(double now);
  template <typename Key>
  void collect(const ClusterState& state, int pool, Answer& answer, Key key);
  void split(const ClusterState& state, int pool, Answer& answer);
  void share(const ClusterState& state, int pool, Answer& answer);

  struct Row {
    double key, most, given;
    Index job;
  };

  SrptKind kind_;
  double speedup_;
  // ASRPT's machine: what is left of each job there, or when it completed (as a negative number of
  // the order), and who is not done there.
  std::vector<double> virtual_left_;
  std::vector<Index> virtual_;
  double virtual_now_ = 0.0, speed_ = 1.0;
  double done_there_ = 0.0;
  std::vector<std::uint8_t> map_heavy_;
  std::vector<double> imbalance_;
  std::vector<Row> rows_;
};

}  // namespace malleable
