#include "malleable/policy/cluster_flow.hpp"

#include <algorithm>
#include <utility>

namespace malleable {

void ClusterFlow::begin(const ClusterState& state) {
  const ClusterJobsView& jobs = state.jobs;
  const std::size_t n = jobs.size();
  std::size_t count = 0;
  for (const Index flow : options_.flow_of) count = std::max(count, std::size_t{flow} + 1);
  flows_.assign(count, {});
  work_ = options_.work;
  most_.assign(n, 1);
  wants_.assign(n, 0);
  row_of_.assign(n, 0);
  place_.assign(count, 0);
  for (std::size_t job = n; job-- > 0;) {
    Flow& flow = flows_[options_.flow_of[job]];
    flow.arrival = std::min(flow.arrival, jobs.arrival[job]);
    flow.weight = std::max(flow.weight, jobs.weight_of(job));
    flow.deadline = std::max(flow.deadline, jobs.deadline_of(job));
    flow.user = jobs.user_of(job);
    ++flow.unfinished;
    most_[job] = std::max<std::int64_t>({1, jobs.tasks[kMap][job], jobs.tasks[kReduce][job]});
  }
  std::size_t first = 0;
  for (Flow& flow : flows_) {
    flow.first = first;
    first += static_cast<std::size_t>(flow.unfinished);
  }
  jobs_.resize(n);
  std::vector<std::size_t> next(count);
  for (std::size_t f = 0; f < count; ++f) next[f] = flows_[f].first;
  for (std::size_t job = 0; job < n; ++job) {
    Flow& flow = flows_[options_.flow_of[job]];
    jobs_[next[options_.flow_of[job]]++] = static_cast<Index>(job);
    flow.size += work_[job];
  }
  sides_.clear();
  sides_.resize(options_.by_user ? state.user_running.size() : 1);
  if (options_.by_user) between_.begin(state);
}

void ClusterFlow::job_arrived(const ClusterState&, Index job) {
  Flow& flow = flows_[options_.flow_of[job]];
  if (flow.here) return;
  flow.here = true;
  Side& side = sides_[options_.by_user ? flow.user : 0];
  side.flows.push_back(options_.flow_of[job]);
  side.order.push_back(options_.flow_of[job]);
}

void ClusterFlow::job_finished(const ClusterState&, Index job) {
  work_[job] = 0.0;
  wants_[job] = 0;
  --flows_[options_.flow_of[job]].unfinished;
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
    if (most == 0) continue;
    any = true;
    const double left = state.phase(job, kMap).remaining() + state.phase(job, kReduce).remaining();
    // Tasks that take no time are work all the same.
    work_[job] = std::max(left, 1e-9);
    most_[job] = most;
    if (options_.by_user) {
      usable_[flows_[options_.flow_of[job]].user] += static_cast<double>(most);
    }
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

void ClusterFlow::plan(const ClusterState& state, Side& side, std::int64_t slots, Answer& answer) {
  const auto done = [&](Index flow) { return flows_[flow].unfinished == 0; };
  std::erase_if(side.flows, done);
  std::erase_if(side.order, done);
  const ClusterJobsView& jobs = state.jobs;
  const auto jobs_of = [&](Index flow) {
    const std::size_t end =
        flow + std::size_t{1} < flows_.size() ? flows_[flow + 1].first : jobs_.size();
    return std::span<const Index>(jobs_).subspan(flows_[flow].first, end - flows_[flow].first);
  };
  if (slots == 0) {
    for (const Index flow : side.flows) {
      for (const Index job : jobs_of(flow)) {
        if (wants_[job]) answer.set(job, 0.0);
      }
    }
    return;
  }
  for (auto* column : {&arrival_, &weight_, &deadline_, &size_, &row_work_}) column->clear();
  for (auto* column : {&row_most_, &parent_}) column->clear();
  job_offset_.assign(1, 0);
  parent_offset_.assign(1, 0);
  for (const Index f : side.flows) {
    const Flow& flow = flows_[f];
    place_[f] = static_cast<Index>(arrival_.size());
    arrival_.push_back(flow.arrival);
    weight_.push_back(flow.weight);
    deadline_.push_back(flow.deadline);
    size_.push_back(flow.size);
    for (const Index job : jobs_of(f)) {
      row_of_[job] = static_cast<std::int64_t>(row_work_.size());
      row_work_.push_back(work_[job]);
      row_most_.push_back(most_[job]);
    }
    for (const Index job : jobs_of(f)) {
      if (!jobs.after_offset.empty()) {
        for (std::int64_t k = jobs.after_offset[job]; k < jobs.after_offset[job + 1]; ++k) {
          const auto other = static_cast<Index>(jobs.after[static_cast<std::size_t>(k)]);
          if (options_.flow_of[other] == f) parent_.push_back(row_of_[other]);
        }
      }
      parent_offset_.push_back(static_cast<std::int64_t>(parent_.size()));
    }
    job_offset_.push_back(static_cast<std::int64_t>(row_work_.size()));
  }
  no_steps_.assign(arrival_.size() + 1, 0);
  warm_.clear();
  for (const Index f : side.order) warm_.push_back(place_[f]);
  const TermsView terms{arrival_, weight_, deadline_, size_, {no_steps_, {}, {}}};
  problem_.build({terms, job_offset_, row_work_, row_most_, parent_offset_, parent_}, slots,
                 state.now);
  penalties_.build(terms, {&options_.kind, 1});
  FlowOptions how;
  how.effort = options_.effort;
  how.warm = warm_;
  side.flowflex.plan(problem_, penalties_, options_.aggregate, how, side.plan);
  side.order.clear();
  for (const Index place : side.plan.order) side.order.push_back(side.flows[place]);
  for (const Index flow : side.flows) {
    for (const Index job : jobs_of(flow)) {
      if (!wants_[job]) continue;
      const auto row = static_cast<std::size_t>(row_of_[job]);
      answer.set(job, static_cast<double>(side.plan.allocation[row]));
    }
  }
}

}  // namespace malleable
