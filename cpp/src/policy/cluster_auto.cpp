#include "malleable/policy/cluster_auto.hpp"

#include <utility>

namespace malleable {
namespace {

ClusterFlowOptions flow_options(const EpochOptions& options, bool by_user) {
  ClusterFlowOptions made;
  made.aggregate = options.aggregate;
  made.kind = options.kind;
  made.effort = options.effort.value_or(0);
  made.by_user = by_user;
  made.targets = true;
  return made;
}

}  // namespace

ClusterAuto::ClusterAuto(const EpochOptions& options, bool by_user)
    : jobs_(options, /*at_least_one=*/false, by_user, /*pool_minimum=*/0.0, /*asks=*/true),
      flows_(flow_options(options, by_user)) {}

void ClusterAuto::begin(const ClusterState& state) {
  by_flow_ = watches_ = false;
  guaranteed_.assign(state.jobs.size(), 0);
  minima_ = 0;
  jobs_.begin(state);
  flows_.begin(state);
}

void ClusterAuto::added(const ClusterState& state, std::span<const Index> jobs) {
  guaranteed_.resize(state.jobs.size(), 0);
  jobs_.added(state, jobs);
  flows_.added(state, jobs);
}

void ClusterAuto::job_arrived(const ClusterState& state, Index job) {
  jobs_.job_arrived(state, job);
  flows_.job_arrived(state, job);
}

void ClusterAuto::job_finished(const ClusterState& state, Index job) {
  minima_ -= std::exchange(guaranteed_[job], 0);
  jobs_.job_finished(state, job);
  flows_.job_finished(state, job);
}

void ClusterAuto::user_changed(const ClusterState& state, Index job, std::size_t before) {
  flows_.user_changed(state, job, before);
  if (!by_flow_) jobs_.user_changed(state, job, before);
}

bool ClusterAuto::has_minimum(const ClusterState& state, Index job) const {
  return state.jobs.minimum_of(kMap, job) > 0 || state.jobs.minimum_of(kReduce, job) > 0;
}

void ClusterAuto::note_minima(const ClusterState& state, std::span<const Index> jobs) {
  for (const Index job : jobs) {
    const std::uint8_t has = !flows_.is_done(job) && has_minimum(state, job) ? 1 : 0;
    minima_ += has - std::exchange(guaranteed_[job], has);
  }
}

// The other policy decides from now on.
void ClusterAuto::hand_over(const ClusterState& state) {
  by_flow_ = !by_flow_;
  if (by_flow_) {
    flows_.start(state);
  } else {
    flows_.stop(state);
    jobs_.begin(state);
  }
}

void ClusterAuto::decide(const ClusterState& state, int pool, Answer& answer) {
  if (pool != 0) {  // generic slots have no reduce pool
    if (!by_flow_) jobs_.decide(state, pool, answer);
    return;
  }
  if (flows_.several() > 0) {
    note_minima(state, std::exchange(watches_, true) ? state.changed[0] : state.present);
  } else {
    watches_ = false;
  }
  const bool other = (flows_.several() > 0 && minima_ == 0) != by_flow_;
  if (other) hand_over(state);
  if (by_flow_) {
    flows_.spread(jobs_.share_exponent_now(state) < 1.0);
    flows_.decide(state, pool, answer);
  } else {
    jobs_.decide(state, pool, other ? state.present : state.changed[pool], answer);
  }
  for (std::size_t k = 0; other && k < state.present.size(); ++k) answer.reorder(state.present[k]);
}

void ClusterAuto::keep(const ClusterState& state, State& s) {
  s(by_flow_, guaranteed_, minima_, watches_);
  jobs_.keep(state, s);
  flows_.keep(state, s);
}

}  // namespace malleable
