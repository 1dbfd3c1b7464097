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

void FlowScene::study_jobs(Flow& flow) const {
  for (Job& job : flow.jobs) {
    job.left = job.work;
    job.high = job.fastest = room(job);
    if (flow.curved()) job.fastest = flow.speedup.view().at(flow.place_of(job), job.high);
    job.path = 0.0;
    job.second = kNone;
    job.pending = 0;
    for (const Index above : flow.parents_of(job)) job.pending += flow.jobs[above].open() ? 1 : 0;
    job.ready = job.open() && job.pending == 0;
    if (job.ready) job.left = left(job);
  }
}

// Joins second phases whose first phase is far enough, and which wait for nothing else.
void FlowScene::join_phases(Flow& flow) const {
  if (options.ready_fraction >= 1.0 || flow.curved()) return;
  for (Job& job : flow.jobs) {
    if (job.follows == kNone || !job.open() || job.pending != 1) continue;
    Job& first = flow.jobs[job.follows];
    if (!first.open() || first.pending != 0) continue;
    if (!(first.whole - first.work >= options.ready_fraction * first.whole)) continue;
    job.ready = true;
    if (first.left + job.left == 0.0) continue;
    first.second = static_cast<Index>(&job - flow.jobs.data());
    first.left += std::exchange(job.left, 0.0);
    first.high = first.fastest =
        std::min(first.high + job.high, static_cast<double>(std::max<std::int64_t>(slots, 1)));
  }
}

// Finds the longest path from each job's start to the end of its flow.
void FlowScene::find_paths(Flow& flow) {
  for (std::size_t k = flow.jobs.size(); k-- > 0;) {
    Job& job = flow.jobs[flow.topological[k]];
    job.path += job.left / job.fastest;
    for (const Index above : flow.parents_of(job)) {
      flow.jobs[above].path = std::max(flow.jobs[above].path, job.path);
    }
  }
}

// Derives a flow's paths, volume and ready jobs.
void FlowScene::study(Flow& flow) {
  study_jobs(flow);
  join_phases(flow);
  head_.assign(flow.jobs.size(), 0.0);
  flow.queue.clear();
  flow.empty = 0;
  flow.volume = 0.0;
  double longest = 0.0;
  for (const Index place : flow.topological) {
    const Job& job = flow.jobs[place];
    for (const Index above : flow.parents_of(job)) {
      head_[place] =
          std::max(head_[place], head_[above] + flow.jobs[above].left / flow.jobs[above].fastest);
    }
    flow.volume += job.left;
    longest = std::max(longest, head_[place] + job.left / job.fastest);
    flow.empty += job.ready && left(job) == 0.0 ? 1 : 0;
    if (job.ready && job.left > 0.0 && job.pending == 0) flow.queue.push_back(place);
  }
  flow.alone =
      std::max(longest, flow.volume / static_cast<double>(std::max<std::int64_t>(slots, 1)));
  if (options.baseline == FlowBaseline::kFifo) return;
  find_paths(flow);
  std::sort(flow.queue.begin(), flow.queue.end(), [&](Index a, Index b) {
    const double longer = flow.jobs[a].path, shorter = flow.jobs[b].path;
    return longer != shorter ? longer > shorter : a < b;
  });
}

}  // namespace malleable
