#include "malleable/policy/cluster_auto.hpp"

#include <numeric>
#include <utility>

namespace malleable {
namespace {

constexpr std::size_t kFewGone = 64;  // jobs that are known no longer, which nobody clears away

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
    : jobs_(options, false, by_user, 0.0, true), flows_(flow_options(options, by_user)) {}

void ClusterAuto::begin(const ClusterState& state) {
  by_flow_ = watches_ = false;
  flows_known_.clear();
  known_.clear();
  done_.clear();
  guaranteed_.clear();
  gone_ = 0;
  several_ = minima_ = 0;
  jobs_.begin(state);
  std::vector<Index> all(state.jobs.size());
  std::iota(all.begin(), all.end(), Index{0});
  note(state, all);
}

void ClusterAuto::added(const ClusterState& state, std::span<const Index> jobs) {
  note(state, jobs);
  jobs_.added(state, jobs);  // room for users and jobs, which both have when they are kept
  if (by_flow_) flows_.added(state, jobs);
}

void ClusterAuto::note(const ClusterState& state, std::span<const Index> jobs) {
  for (auto* column : {&done_, &guaranteed_}) column->resize(state.jobs.size(), 0);
  for (const Index job : jobs) {
    const Index number = flow_of(state, job);
    if (number >= flows_known_.size()) flows_known_.resize(number + std::size_t{1});
    Flow& flow = flows_known_[number];
    if (flow.unfinished == 0) flow = Flow{.came = ++came_};
    ++flow.jobs;
    ++flow.unfinished;
    done_[job] = 0;
    known_.push_back({job, number, flow.came});
  }
}

void ClusterAuto::job_arrived(const ClusterState& state, Index job) {
  Flow& flow = flows_known_[flow_of(state, job)];
  if (flow.jobs > 1 && !std::exchange(flow.here, true)) ++several_;
  jobs_.job_arrived(state, job);
  if (by_flow_) flows_.job_arrived(state, job);
}

void ClusterAuto::job_finished(const ClusterState& state, Index job) {
  Flow& flow = flows_known_[flow_of(state, job)];
  done_[job] = 1;
  minima_ -= std::exchange(guaranteed_[job], 0);
  if (--flow.unfinished == 0) {
    if (std::exchange(flow.here, false)) --several_;
    gone_ += flow.jobs;
    forget_done();
  }
  jobs_.job_finished(state, job);
  if (by_flow_) flows_.job_finished(state, job);
}

void ClusterAuto::forget_done() {
  if (gone_ < kFewGone || gone_ < known_.size() / 2) return;
  std::erase_if(known_, [&](const Known& known) { return !lives(known); });
  gone_ = 0;
}

void ClusterAuto::user_changed(const ClusterState& state, Index job, std::size_t before) {
  if (by_flow_) {
    flows_.user_changed(state, job, before);
  } else {
    jobs_.user_changed(state, job, before);
  }
}

bool ClusterAuto::has_minimum(const ClusterState& state, Index job) const {
  return state.jobs.minimum_of(kMap, job) > 0 || state.jobs.minimum_of(kReduce, job) > 0;
}

void ClusterAuto::look_at_minima(const ClusterState& state, std::span<const Index> jobs) {
  for (const Index job : jobs) {
    const std::uint8_t has = !done_[job] && has_minimum(state, job) ? 1 : 0;
    minima_ += has - std::exchange(guaranteed_[job], has);
  }
}

// The other one decides from now on.
void ClusterAuto::hand_over(const ClusterState& state) {
  by_flow_ = !by_flow_;
  if (!by_flow_) {
    jobs_.begin(state);
    return;
  }
  row_.clear();
  row_done_.clear();
  for (const Known& known : known_) {
    if (!lives(known)) continue;
    row_.push_back(known.job);
    if (done_[known.job]) row_done_.push_back(known.job);
  }
  flows_.begin(state, row_, row_done_);
}

void ClusterAuto::decide(const ClusterState& state, int pool, Answer& answer) {
  if (pool != 0) {  // where generic slots have none
    if (!by_flow_) jobs_.decide(state, pool, answer);
    return;
  }
  if (several_ > 0) {
    look_at_minima(state, std::exchange(watches_, true) ? state.changed[0] : state.present);
  } else {
    watches_ = false;
  }
  const bool other = (several_ > 0 && minima_ == 0) != by_flow_;
  if (other) hand_over(state);
  if (by_flow_) {
    flows_.decide(state, pool, answer);
  } else {
    jobs_.decide(state, pool, other ? state.present : state.changed[pool], answer);
  }
  for (std::size_t k = 0; other && k < state.present.size(); ++k) answer.reorder(state.present[k]);
}

void ClusterAuto::keep(const ClusterState& state, State& s) {
  s(by_flow_, flows_known_, known_, done_, came_, gone_, several_, guaranteed_, minima_, watches_);
  jobs_.keep(state, s);
  if (by_flow_) flows_.keep(state, s);
}

}  // namespace malleable
