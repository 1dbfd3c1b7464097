#include "malleable/policy/epoch/flow_study.hpp"

#include <algorithm>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable {

void FlowEpochOptions::take_policy(std::string_view name) {
  const PolicyCode& code = find_policy(Model::kFlows, name).code;
  if (const auto* rule = std::get_if<FlowBaseline>(&code)) {
    baseline = *rule;
  } else {
    method = std::get<FlowMethod>(code);
  }
}

// The work left of a job; of one that outlives its estimate, a part of the work done.
double FlowScene::left(const Job& job) const {
  const double done = std::max(job.attained, job.whole);
  if (job.work > 0.0 || (done == 0.0 && !clock.any())) return job.work;
  return std::max(kWorkRange.least, still_left(done));
}

// Updates the derived data of flows that have changed.
void FlowScene::study() {
  for (Flow& flow : table.flows()) {
    flow.fresh = std::exchange(flow.touched, false);
    if (flow.fresh) study(flow);
  }
}

// Derives a flow's paths, volume and ready jobs.
void FlowScene::study(Flow& flow) const {
  flow.shown = false;
  flow.queue.clear();
  flow.empty = 0;
  flow.volume = 0.0;
  for (Job& job : flow.jobs) job.path = 0.0;
  for (const Index place : flow.topological) {
    Job& job = flow.jobs[place];
    const auto parents = flow.parents_of(job);
    job.ready = job.open() && std::none_of(parents.begin(), parents.end(),
                                           [&](Index p) { return flow.jobs[p].open(); });
    job.left = job.ready ? left(job) : job.work;
    job.high = room(job);
    flow.volume += job.left;
    if (!job.ready) continue;
    if (job.left > 0.0) {
      flow.queue.push_back(place);
    } else {
      ++flow.empty;
    }
  }
  // The longest path from each job's start to the end of the flow.
  flow.alone = flow.volume / static_cast<double>(std::max<std::int64_t>(slots, 1));
  for (std::size_t k = flow.jobs.size(); k-- > 0;) {
    const Index place = flow.topological[k];
    Job& job = flow.jobs[place];
    job.path += job.left / (flow.curved() ? flow.speedup.view().at(place, job.high) : job.high);
    flow.alone = std::max(flow.alone, job.path);
    for (const Index above : flow.parents_of(job)) {
      flow.jobs[above].path = std::max(flow.jobs[above].path, job.path);
    }
  }
  if (options.baseline == FlowBaseline::kFifo) return;
  std::sort(flow.queue.begin(), flow.queue.end(), [&](Index a, Index b) {
    const double longer = flow.jobs[a].path, shorter = flow.jobs[b].path;
    return longer != shorter ? longer > shorter : a < b;
  });
}

}  // namespace malleable
