#include "malleable/policy/cluster_flow.hpp"

#include <algorithm>
#include <numeric>

namespace malleable {
namespace {

double believed_work(const ClusterState& state, Index job, Phase p) {
  const double told = state.believed[2 * job + p];
  const double seconds = told > 0.0 ? told : state.learned.seconds[p];
  return seconds * static_cast<double>(state.jobs.tasks[p][job]);
}

}  // namespace

void ClusterFlow::begin(const ClusterState& state) {
  flows_.clear();
  sides_.clear();
  place_.clear();
  std::vector<Index> all(state.jobs.size());
  std::iota(all.begin(), all.end(), Index{0});
  added(state, all);
}

void ClusterFlow::added(const ClusterState& state, std::span<const Index> jobs) {
  const std::size_t n = state.jobs.size(), users = options_.by_user ? state.user_running.size() : 1;
  place_.resize(n, Place::kOutside);
  wants_.resize(n, 0);
  first_row_.resize(n, 0);
  last_row_.resize(n, 0);
  if (sides_.size() < users) sides_.resize(users);
  if (options_.by_user) between_.begin(state);
  for (const Index job : jobs) {
    const Index number = flow_of(state, job);
    if (number >= flows_.size()) flows_.resize(number + std::size_t{1});
    Flow& flow = flows_[number];
    if (flow.unfinished == 0) {
      flow = Flow{};
      flow.user = state.jobs.user_of(job);
    }
    place_[job] = Place::kOutside;
    flow.arrival = std::min(flow.arrival, state.jobs.arrival[job]);
    flow.weight = std::max(flow.weight, state.jobs.weight_of(job));
    flow.deadline = std::max(flow.deadline, state.jobs.deadline_of(job));
    if (flow.steps == kNone && !state.jobs.steps_of(job).time.empty()) flow.steps = job;
    flow.size += believed_work(state, job, kMap) + believed_work(state, job, kReduce);
    flow.jobs.push_back(job);
    ++flow.unfinished;
  }
  at_.resize(flows_.size(), 0);
}

void ClusterFlow::keep(const ClusterState&, State& s) {
  s(sides_, flows_, place_);
  at_.resize(flows_.size(), 0);
}

void ClusterFlow::job_arrived(const ClusterState& state, Index job) {
  const Index number = flow_of(state, job);
  Flow& flow = flows_[number];
  place_[job] = Place::kHere;
  if (flow.here) return;
  flow.here = true;
  Side& side = sides_[side_of(flow)];
  side.flows.push_back(number);
  side.order.push_back(number);
}

void ClusterFlow::user_changed(const ClusterState& state, Index job, std::size_t) {
  const Index number = flow_of(state, job);
  Flow& flow = flows_[number];
  if (flow.jobs.front() != job) return;
  Side& before = sides_[side_of(flow)];
  flow.user = state.jobs.user_of(job);
  Side& side = sides_[side_of(flow)];
  if (!flow.here || &side == &before) return;
  for (auto* flows : {&before.flows, &before.order}) std::erase(*flows, number);
  for (auto* flows : {&side.flows, &side.order}) flows->push_back(number);
}

void ClusterFlow::job_finished(const ClusterState& state, Index job) {
  place_[job] = Place::kDone;
  wants_[job] = 0;
  --flows_[flow_of(state, job)].unfinished;
}

void ClusterFlow::decide(const ClusterState& state, int pool, Answer& answer) {
  for (const Index job : state.changed[pool]) {
    if (state.demand(job, pool).most == 0) answer.set(job, 0.0);
  }
  usable_.assign(sides_.size(), 0.0);
  bool any = false;
  for (const Index job : state.present) {
    const std::int64_t most = state.demand(job, pool).most;
    wants_[job] = most > 0;
    any |= most > 0;
    usable_[side_of(flows_[flow_of(state, job)])] += static_cast<double>(most);
  }
  for (Side& side : sides_) {
    const auto done = [&](Index flow) { return flows_[flow].unfinished == 0; };
    std::erase_if(side.flows, done);
    std::erase_if(side.order, done);
  }
  if (!any) return;
  if (!options_.by_user) {
    plan(state, sides_[0], state.slots[pool], answer);
    return;
  }
  const std::span<const double> parts = between_.of(state, pool, usable_);
  for (std::size_t user = 0; user < sides_.size(); ++user) {
    plan(state, sides_[user], static_cast<std::int64_t>(parts[user]), answer);
  }
}

// The unfinished phases of a job; one without work where all is done.
void ClusterFlow::add_rows(const ClusterState& state, Index job) {
  first_row_[job] = static_cast<std::int64_t>(row_work_.size());
  const bool here = place_[job] == Place::kHere;
  for (const Phase p : {kMap, kReduce}) {
    const PhaseState& s = state.phase(job, p);
    const std::int64_t tasks = here ? s.unfinished() : state.jobs.tasks[p][job];
    if (place_[job] == Place::kDone || tasks == 0) continue;
    // Tasks that take no time are work all the same.
    row_work_.push_back(std::max(here ? s.remaining() : believed_work(state, job, p), 1e-9));
    row_most_.push_back(std::min(tasks, state.jobs.maximum_of(job)));
  }
  if (first_row_[job] == static_cast<std::int64_t>(row_work_.size())) {
    row_work_.push_back(0.0);
    row_most_.push_back(1);
  }
  last_row_[job] = static_cast<std::int64_t>(row_work_.size()) - 1;
}

void ClusterFlow::add_parents(const ClusterState& state, Index job) {
  if (!state.parents.empty()) {
    for (const Index other : state.parents[job]) {
      if (flow_of(state, other) == flow_of(state, job)) parent_.push_back(last_row_[other]);
    }
  }
  parent_offset_.push_back(static_cast<std::int64_t>(parent_.size()));
  if (last_row_[job] == first_row_[job]) return;
  parent_.push_back(first_row_[job]);
  parent_offset_.push_back(static_cast<std::int64_t>(parent_.size()));
}

void ClusterFlow::plan(const ClusterState& state, Side& side, std::int64_t slots, Answer& answer) {
  if (slots == 0) {
    for (const Index flow : side.flows) {
      for (const Index job : flows_[flow].jobs) {
        if (wants_[job]) answer.set(job, 0.0);
      }
    }
    return;
  }
  for (auto* column : {&arrival_, &weight_, &deadline_, &size_, &row_work_}) column->clear();
  for (auto* column : {&row_most_, &parent_}) column->clear();
  job_offset_.assign(1, 0);
  parent_offset_.assign(1, 0);
  steps_.clear();
  kind_.clear();
  for (const Index f : side.flows) {
    const Flow& flow = flows_[f];
    at_[f] = static_cast<Index>(arrival_.size());
    arrival_.push_back(flow.arrival);
    weight_.push_back(flow.weight);
    deadline_.push_back(flow.deadline);
    size_.push_back(flow.size);
    steps_.add(flow.steps == kNone ? SlaView::Steps{} : state.jobs.steps_of(flow.steps));
    kind_.push_back(state.jobs.kind_of(flow.jobs.front(), options_.kind));
    for (const Index job : flow.jobs) add_rows(state, job);
    for (const Index job : flow.jobs) add_parents(state, job);
    job_offset_.push_back(static_cast<std::int64_t>(row_work_.size()));
  }
  warm_.clear();
  for (const Index f : side.order) warm_.push_back(at_[f]);
  const TermsView terms{arrival_, weight_, deadline_, size_, steps_.view()};
  problem_.build({terms, job_offset_, row_work_, row_most_, parent_offset_, parent_}, slots,
                 state.now);
  const bool alike = state.jobs.kind.empty();
  penalties_.build(terms, alike ? std::span<const Kind>(&options_.kind, 1) : kind_);
  FlowOptions how;
  how.method = options_.method;
  how.effort = options_.effort;
  how.warm = warm_;
  side.flowflex.plan(problem_, penalties_, options_.aggregate, how, side.plan);
  side.order.clear();
  for (const Index at : side.plan.order) side.order.push_back(side.flows[at]);
  for (const Index flow : side.flows) {
    for (const Index job : flows_[flow].jobs) {
      if (!wants_[job]) continue;
      const auto row = static_cast<std::size_t>(first_row_[job]);
      answer.set(job, static_cast<double>(side.plan.allocation[row]));
    }
  }
}

}  // namespace malleable
