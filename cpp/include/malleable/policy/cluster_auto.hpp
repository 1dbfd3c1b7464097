// AUTO on generic slots (which run maps and reduces): FLEX's shares for jobs, FlowFlex's order for
// flows.
//
// FLEX sees only ready jobs, that is, one stage (the jobs that may run now) of a flow of several
// jobs: a long flow's last stage looks like a short job, and a short flow's first stage hides the
// work behind it. So while a job of such a flow is present, whole flows are ordered
// (policy/cluster_flow), and free slots go by that order, also to stages that become ready between
// two decisions; single jobs count as flows of one job. Otherwise AUTO decides as without flows
// (policy/cluster_epoch).
//
// If tasks slow each other down, which the scheduler learns, a flow gets as many slots as do well,
// not all that it can use; and if slots need a restart, only slots that are worth it.
//
// FlowFlex knows no minima: while a job with a minimum is present, FLEX serves stages.
//
// An event costs what the acting policy costs, and O(1). When the other policy takes over, it looks
// at all present jobs and flows once. Policies: cluster_epoch, cluster_flow.
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
  // Targets are filled in the order of jobs, or of flows; slots of slow nodes may idle; while
  // flows are served, their order alone may decide.
  bool fills_in_order() const override { return true; }
  bool waits_for_speed() const override { return true; }
  bool order_decides() const override { return by_flow_ && flows_.order_decides(); }
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override {
    return by_flow_ ? flows_.precedence(state, job, pool, running)
                    : jobs_.precedence(state, job, pool, running);
  }
  bool keeps(const ClusterState& state, Index job, int pool) const override {
    return !by_flow_ && jobs_.keeps(state, job, pool);
  }
  std::string_view rule(const ClusterState& state) const override {
    return by_flow_ ? "flow by flow" : jobs_.rule(state);
  }
  void begin(const ClusterState& state) override;
  // All jobs of a flow are added in one call.
  void added(const ClusterState& state, std::span<const Index> jobs) override;
  void job_arrived(const ClusterState& state, Index job) override;
  void job_finished(const ClusterState& state, Index job) override;
  void user_changed(const ClusterState& state, Index job, std::size_t before) override;
  void decide(const ClusterState& state, int pool, Answer& answer) override;
  void keep(const ClusterState& state, State& s) override;

 private:
  // Updates guaranteed_ and minima_.
  void note_minima(const ClusterState& state, std::span<const Index> jobs);
  bool has_minimum(const ClusterState& state, Index job) const;
  // The other one of the two policies decides from now on.
  void hand_over(const ClusterState& state);

  ClusterEpoch jobs_;
  ClusterFlow flows_;
  bool by_flow_ = false;  // policy/cluster_flow decides
  // Present jobs with a minimum; kept only while a flow of several jobs is present.
  std::vector<std::uint8_t> guaranteed_;
  std::int64_t minima_ = 0;  // their number
  bool watches_ = false;     // they are kept
};

}  // namespace malleable
