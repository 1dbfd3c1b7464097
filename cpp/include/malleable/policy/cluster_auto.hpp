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
// all jobs that are here and at the flows that are not done, once. Policies: cluster_epoch,
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
  struct Flow {
    std::uint64_t came = 0;  // counted: a number may be another flow's later
    Index jobs = 0, unfinished = 0;
    bool here = false;  // one of its jobs has come, and one is not done

    void state(State& s) { s(came, jobs, unfinished, here); }
  };
  struct Known {
    Index job, flow;
    std::uint64_t came;

    void state(State& s) { s(job, flow, came); }
  };

  Index flow_of(const ClusterState& state, Index job) const {
    return state.jobs.flow.empty() ? job : static_cast<Index>(state.jobs.flow[job]);
  }
  bool lives(const Known& known) const {
    const Flow& flow = flows_known_[known.flow];
    return flow.came == known.came && flow.unfinished > 0;
  }
  void note(const ClusterState& state, std::span<const Index> jobs);
  void forget_done();
  void look_at_minima(const ClusterState& state, std::span<const Index> jobs);
  bool has_minimum(const ClusterState& state, Index job) const;
  void hand_over(const ClusterState& state);

  ClusterEpoch jobs_;
  ClusterFlow flows_;
  bool by_flow_ = false;  // who decides
  std::vector<Flow> flows_known_;
  std::vector<Known> known_;  // jobs of flows that are not done, as they were added, and others
  std::vector<std::uint8_t> done_;  // by job
  std::uint64_t came_ = 0;
  std::size_t gone_ = 0;      // of `known_`: jobs of flows that are done
  std::int64_t several_ = 0;  // flows of several jobs that are here
  // Jobs that are here with a minimum; known while a flow of several jobs is here.
  std::vector<std::uint8_t> guaranteed_;
  std::int64_t minima_ = 0;
  bool watches_ = false;
  std::vector<Index> row_, row_done_;
};

}  // namespace malleable
