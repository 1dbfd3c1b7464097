#include "malleable/policy/cluster_auto.hpp"

#include <algorithm>

#include "malleable/policy/cluster_epoch.hpp"
#include "malleable/policy/cluster_flow.hpp"

namespace malleable {
namespace {

bool has_minimum(const ClusterState& state, Index job) {
  return state.jobs.minimum_of(kMap, job) > 0 || state.jobs.minimum_of(kReduce, job) > 0;
}

class ClusterAuto final : public ClusterPolicy {
 public:
  ClusterAuto(const EpochOptions& options, bool by_user)
      : jobs_(make_cluster_epoch({.epoch = options, .by_user = by_user, .asks = true})),
        flows_(make_cluster_flow({.aggregate = options.aggregate,
                                  .kind = options.kind,
                                  .effort = options.effort.value_or(0),
                                  .by_user = by_user,
                                  .targets = true})) {}

  Style style() const override { return Style::kTargets; }
  bool depends_on_time() const override { return !by_flow_ && jobs_->depends_on_time(); }
  bool reads_exponents() const override { return jobs_->reads_exponents(); }
  // Targets are filled in the order of jobs, or of flows; slots of slow nodes may idle; while
  // flows are served, their order alone may decide.
  bool fills_in_order() const override { return true; }
  bool waits_for_speed() const override { return true; }
  bool order_decides() const override { return by_flow_ && flows_->order_decides(); }
  double precedence(const ClusterState& state, Index job, int pool,
                    std::int64_t running) const override {
    return by_flow_ ? flows_->precedence(state, job, pool, running)
                    : jobs_->precedence(state, job, pool, running);
  }
  bool keeps(const ClusterState& state, Index job, int pool) const override {
    return !by_flow_ && jobs_->keeps(state, job, pool);
  }
  std::string_view rule(const ClusterState& state) const override {
    return by_flow_ ? "flow by flow" : jobs_->rule(state);
  }

  void begin(const ClusterState& state) override {
    by_flow_ = false;
    jobs_->begin(state);
    flows_->begin(state);
  }

  // All jobs of a flow are added in one call.
  void added(const ClusterState& state, std::span<const Index> jobs) override {
    jobs_->added(state, jobs);
    flows_->added(state, jobs);
  }

  void job_arrived(const ClusterState& state, Index job) override {
    jobs_->job_arrived(state, job);
    flows_->job_arrived(state, job);
  }

  void job_finished(const ClusterState& state, Index job) override {
    jobs_->job_finished(state, job);
    flows_->job_finished(state, job);
  }

  void user_changed(const ClusterState& state, Index job, std::size_t before) override {
    flows_->user_changed(state, job, before);
    if (!by_flow_) jobs_->user_changed(state, job, before);
  }

  void counts_changed(const ClusterState& state, Index job, int pool) override {
    if (!by_flow_) jobs_->counts_changed(state, job, pool);
  }

  void decide(const ClusterState& state, int pool, Answer& answer) override {
    if (pool != 0) {  // generic slots have no reduce pool
      if (!by_flow_) jobs_->decide(state, pool, answer);
      return;
    }
    const auto has = [&](Index job) { return has_minimum(state, job); };
    const bool by_flow = flows_->several() > 0 && std::ranges::none_of(state.present, has);
    const bool other = by_flow != by_flow_;
    if (other) hand_over(state);
    if (by_flow_) flows_->spread(jobs_->share_exponent_now(state) < 1.0);
    (by_flow_ ? *flows_ : static_cast<ClusterPolicy&>(*jobs_)).decide(state, pool, answer);
    for (std::size_t k = 0; other && k < state.present.size(); ++k) {
      answer.reorder(state.present[k]);
    }
  }

  void keep(const ClusterState& state, State& s) override {
    s(by_flow_);
    jobs_->keep(state, s);
    flows_->keep(state, s);
  }

 private:
  // The other one of the two policies decides from now on.
  void hand_over(const ClusterState& state) {
    by_flow_ = !by_flow_;
    if (by_flow_) {
      flows_->start(state);
    } else {
      flows_->stop(state);
      jobs_->begin(state);
    }
  }

  std::unique_ptr<ClusterEpoch> jobs_;
  std::unique_ptr<ClusterFlow> flows_;
  bool by_flow_ = false;  // policy/cluster_flow decides
};

}  // namespace

std::unique_ptr<ClusterPolicy> make_cluster_auto(const EpochOptions& options, bool by_user) {
  return std::make_unique<ClusterAuto>(options, by_user);
}

}  // namespace malleable
