#include "malleable/policy/epoch/flow_instance.hpp"

#include <algorithm>
#include <numeric>

namespace malleable {

void FlowInstance::fill_terms(const FlowScene& at) {
  FlowColumns& terms = seen.flows;
  terms.clear();
  seen.id.clear();
  seen.kind.clear();
  for (const Index row : rows) {
    const FlowTable::Flow& flow = at.table.flows()[row];
    seen.id.push_back(flow.id);
    seen.kind.push_back(flow.kind);
    terms.arrival.push_back(flow.arrival);
    terms.weight.push_back(flow.weight);
    terms.deadline.push_back(flow.deadline);
    terms.original.push_back(flow.size);
    terms.sla.add(flow.sla.view());
  }
  penalties.build(terms.terms(), seen.kind, custom, seen.id);
}

void FlowInstance::build(const FlowScene& at) {
  fill_terms(at);
  FlowColumns& flows = seen.flows;
  seen.name.clear();
  for (const Index row : rows) {
    const FlowTable::Flow& flow = at.table.flows()[row];
    row_of_.assign(flow.jobs.size(), -1);
    auto next = flows.job_offset.back();
    for (std::size_t place = 0; place < flow.jobs.size(); ++place) {
      if (flow.jobs[place].stage != JobStage::kRemoved) row_of_[place] = next++;
    }
    flows.job_offset.push_back(next);
    for (const FlowTable::Job& job : flow.jobs) {
      if (job.stage == JobStage::kRemoved) continue;
      flows.work.push_back(job.left);
      flows.max_slots.push_back(job.max_slots);
      for (const Index above : flow.parents_of(job)) {
        // A job that finished before its parents may still be here when they are not.
        if (row_of_[above] >= 0) flows.parent.push_back(row_of_[above]);
      }
      flows.parent_offset.push_back(static_cast<std::int64_t>(flows.parent.size()));
      const std::size_t place = flow.place_of(job);
      if (flow.curved()) {
        flows.speedup.pad(flows.work.size() - 1);
        flows.speedup.add(flow.speedup.view(), place);
      }
      seen.name.push_back(flow.name.empty() ? std::string() : flow.name[place]);
    }
  }
  if (flows.speedup.view().given()) flows.speedup.pad(flows.work.size());
  problem.build(flows.view(), at.slots, at.clock.now());
}

void FlowInstance::build_all(const FlowScene& at) {
  rows.resize(at.table.size());
  std::iota(rows.begin(), rows.end(), Index{0});
  build(at);
}

void FlowInstance::places_of(std::span<const std::int64_t> ids, std::vector<Index>& places) const {
  places.clear();
  for (const std::int64_t id : ids) {
    const auto at = std::lower_bound(seen.id.begin(), seen.id.end(), id);
    if (at == seen.id.end() || *at != id) continue;
    places.push_back(static_cast<Index>(at - seen.id.begin()));
  }
}

void FlowInstance::plan(const FlowScene& at, std::span<const Index> warm, double hysteresis,
                        FlowPlan& plan) {
  const FlowEpochOptions& options = at.options;
  if (options.baseline && !seen.flows.speedup.view().given()) {
    plan_baseline(problem, penalties, options.aggregate, *options.baseline, seen.flows.arrival,
                  plan);
    return;
  }
  FlowOptions how;
  how.method = options.method;
  how.effort = options.effort.value_or(0);
  how.warm = warm;
  how.hysteresis = hysteresis;
  flowflex_.plan(problem, penalties, options.aggregate, how, plan);
}

}  // namespace malleable
