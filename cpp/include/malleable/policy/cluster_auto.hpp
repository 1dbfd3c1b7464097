// AUTO on generic slots: FLEX's shares for jobs, FlowFlex's order for flows.
//
// FLEX serves whatever is ready. Of a flow of several jobs that is one stage: a long flow's last
// stage looks like a short job, and a short flow's first stage hides how much comes behind it. So
// while a job of such a flow is here, flows are put in order whole (policy/cluster_flow), and free
// slots go by that order, to stages too that become ready between two decisions; jobs of their own
// are flows of one job. Else AUTO is what it is without flows (policy/cluster_epoch).
//
// FlowFlex knows no minima: while a job with one is here, FLEX serves stages.
//
// An event takes what the policy at work does and O(1). When the other one takes over, it looks at
// all jobs and flows that are here, once. Policies: cluster_epoch,
// cluster_flow.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_flow.hpp"
#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class ClusterAuto final : public ClusterPolicy {
 public:
  ClusterAuto(const EpochOptions& options, bool by_user);

  Style style() const override { return Style::kTargets; }
  bool depends_on_time() const override { return !by_flow_ && jobs_.depends_on_time(); }
  bool reads_exponents() const override { return jobs_.reads_exponents(); }
  bool fills_in_order() const override { return true; }
  bool waits_for_speed() const override { return true; }
  bool order_decides() const override { return by_flow_ && flows_.order_decides(); }
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override {
    return by_flow_ ? flows_.precedence(state, job, pool, running)
                    : jobs_.precedence(state, job, pool, running);
  }
  std::string_view rule(const ClusterState& state) const override {
    return by_flow_ ? "flow by flow" : jobs_.rule(state);
  }
  void begin(const ClusterState& state) override;
  // A flow's jobs are all added at once.
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  void keep(const ClusterState& state, State& s) override;

 private:
  void look_at_minima(const ClusterState& state, std::span<const Index> jobs);
  bool has_minimum(const ClusterState& state, Index job) const;
  void hand_over(const ClusterState& state);

  ClusterEpoch jobs_;
  ClusterFlow flows_;
  bool by_flow_ = false;  // who decides
  // Jobs that are here with a minimum; known while a flow of several jobs is here.
  std::vector<std::uint8_t> guaranteed_;
  std::int64_t minima_ = 0;
  bool watches_ = false;
};

}  // namespace malleable
