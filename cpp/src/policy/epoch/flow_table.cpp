#include "malleable/policy/epoch/flow_table.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/policy/epoch/table.hpp"

namespace malleable {
void FlowTable::check_additions(const Additions& added, bool custom) const {
  const FlowsView& flows = added.flows;
  const std::size_t f = flows.flows(), n = flows.jobs();
  if (added.kind.size() != 1) check_length("kind", added.kind.size(), f, "arrival");
  if (!added.name.empty()) check_length("name", added.name.size(), n, "work");
  if (!added.program.empty()) check_length("program", added.program.size(), n, "work");
  for (std::size_t j = 0; j < f; ++j) {
    const Kind kind = added.kind_of(j);
    if (info(kind).needs_deadline) check_needed_deadline(kind, j, flows.deadline[j]);
    if (info(kind).custom && !custom) {
      throw std::invalid_argument("kind custom needs a function");
    }
  }
}

// Flows without an arrival have come now.
void FlowTable::arrive(double now) {
  for (Flow& flow : flows_) flow.arrival = flow.arrival > -kInfinity ? flow.arrival : now;
}

void FlowTable::add(Additions&& added, bool custom, double now) {
  check_additions(added, custom);
  const FlowsView& flows = added.flows;
  sorted_.build(flows, 1, 0.0);
  for (std::size_t j = 0; j < flows.flows(); ++j) {
    const auto begin = static_cast<std::size_t>(flows.job_offset[j]);
    const auto end = static_cast<std::size_t>(flows.job_offset[j + 1]);
    const auto place_of = [&](auto row) {
      return static_cast<Index>(row) - static_cast<Index>(begin);
    };
    Flow& flow = flows_.emplace_back(Flow{next_flow_++, next_job_, rows_,
                                          added.dated ? flows.arrival[j] : now, flows.weight[j],
                                          flows.deadline[j], flows.original[j], added.kind_of(j)});
    flow.sla.set(flows.sla.of(j));
    flow.jobs.reserve(end - begin);
    flow.topological.reserve(end - begin);
    flow.parent.reserve(
        static_cast<std::size_t>(flows.parent_offset[end] - flows.parent_offset[begin]));
    for (std::size_t i = begin; i < end; ++i) {
      const auto first = static_cast<Index>(flow.parent.size());
      for (std::int64_t e = flows.parent_offset[i]; e < flows.parent_offset[i + 1]; ++e) {
        flow.parent.push_back(place_of(flows.parent[static_cast<std::size_t>(e)]));
      }
      flow.jobs.push_back({.work = flows.work[i],
                           .whole = flows.work[i],
                           .max_slots = flows.max_slots[i],
                           .first_parent = first,
                           .parents = static_cast<Index>(flow.parent.size()) - first});
      flow.topological.push_back(place_of(sorted_.topological[i]));
      if (!added.name.empty()) flow.name.push_back(std::move(added.name[i]));
      if (!added.program.empty()) flow.program.push_back(added.program[i]);
    }
    for (std::size_t i = begin; i < end && flows.speedup.given(); ++i) {
      flow.speedup.add(flows.speedup, i);
    }
    if (!flow.speedup.view().curved()) flow.speedup.clear();
    flow.open = static_cast<Index>(flow.jobs.size());
    next_job_ += flow.open;
    rows_ += flow.open;
    open_ += flow.open;
    first_ids_.push_back(flow.first_id);
  }
}

Index FlowTable::find_flow(std::int64_t id) const {
  const auto at = std::ranges::lower_bound(flows_, id, {}, &Flow::id);
  return at == flows_.end() || at->id != id ? kNone : static_cast<Index>(at - flows_.begin());
}

Index FlowTable::flow_of_job(std::int64_t id) const {
  return static_cast<Index>(std::upper_bound(first_ids_.begin(), first_ids_.end(), id) -
                            first_ids_.begin()) -
         1;
}

Index FlowTable::find_job(std::int64_t id) const {
  const Index row = flow_of_job(id);
  if (row == kNone) return kNone;
  const Flow& flow = flows_[row];
  const auto place = static_cast<std::size_t>(id - flow.first_id);
  if (place >= flow.jobs.size() || !flow.jobs[place].open()) return kNone;
  return static_cast<Index>(flow.first + place);
}

// Marks the flow of a job as changed.
FlowTable::Flow& FlowTable::touch(std::int64_t id) {
  Flow& flow = flows_[flow_of_job(id)];
  flow.touched = true;
  return flow;
}

void FlowTable::check_open(std::span<const std::int64_t> ids) {
  named_jobs_.of(
      ids, rows_, [this](std::int64_t id) { return find_job(id); }, "ids",
      "no such job, or it has ended");
}

std::span<const Index> FlowTable::flow_rows(std::span<const std::int64_t> ids) {
  return named_flows_.of(
      ids, flows_.size(), [this](std::int64_t id) { return find_flow(id); }, "flows",
      "no such flow");
}

void FlowTable::check_changes(std::size_t jobs, std::span<const Index> flows,
                              const Changes& changes) const {
  check_amounts("work", changes.work, kLeftRange);
  check_counts("max_slots", changes.max_slots, 1, std::numeric_limits<std::int64_t>::max(),
               "must be at least 1");
  validate(changes.speedup, jobs, "ids");
  check_amounts("weight", changes.weight, kWeightRange);
  check_deadlines(changes.deadline);
  for (std::size_t k = 0; k < changes.deadline.size(); ++k) {
    const Kind kind = flows_[flows[k]].kind;
    if (info(kind).needs_deadline) check_needed_deadline(kind, k, changes.deadline[k]);
  }
  if (changes.sla.given()) validate(changes.sla, flows.size(), "flows");
}

void FlowTable::update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
                       const Changes& changes) {
  check_lengths(changes, jobs.size(), flows.size());
  check_open(jobs);
  const std::span<const Index> of_flows = flow_rows(flows);
  check_changes(jobs.size(), of_flows, changes);
  for (std::size_t k = 0; changes.speedup.given() && k < jobs.size(); ++k) {
    const Flow& flow = flows_[flow_of_job(jobs[k])];
    if (flow.program_of(flow.place_of(jobs[k])) < 0) continue;
    throw std::invalid_argument("speedup[" + std::to_string(k) +
                                "]: it is learnt for jobs that have a program");
  }
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    Flow& flow = touch(jobs[k]);
    Job& job = flow.jobs[flow.place_of(jobs[k])];
    if (!changes.work.empty()) job.work = left_of(changes.work[k]);
    overwrite(job.max_slots, changes.max_slots, k);
    if (!changes.speedup.given()) continue;
    change_speedups(flow, [&](const Job& each, SpeedupColumns& columns) {
      if (&each == &job) columns.add(changes.speedup, k);
      return &each == &job;
    });
  }
  for (std::size_t k = 0; k < of_flows.size(); ++k) {
    Flow& flow = flows_[of_flows[k]];
    overwrite(flow.weight, changes.weight, k);
    overwrite(flow.deadline, changes.deadline, k);
    if (changes.sla.given()) flow.sla.set(changes.sla.of(k));
  }
}

void FlowTable::end(std::int64_t id, JobStage how) {
  Flow& flow = touch(id);
  Job& job = flow.jobs[flow.place_of(id)];
  job.stage = how;
  job.work = 0.0;
  --flow.open;
  --open_;
}

void FlowTable::finish(std::span<const std::int64_t> jobs) {
  check_open(jobs);
  for (const std::int64_t id : jobs) end(id, JobStage::kFinished);
}

// Removes jobs that wait for removed ones.
void FlowTable::remove_behind(Flow& flow) {
  for (const Index place : flow.topological) {
    const Job& job = flow.jobs[place];
    const bool behind = std::ranges::any_of(flow.parents_of(job), [&](Index above) {
      return flow.jobs[above].stage == JobStage::kRemoved;
    });
    if (job.open() && behind) end(flow.id_of(job), JobStage::kRemoved);
  }
}

void FlowTable::remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows) {
  check_open(jobs);
  const std::span<const Index> whole = flow_rows(flows);
  for (const std::int64_t id : jobs) end(id, JobStage::kRemoved);
  for (const std::int64_t id : jobs) remove_behind(touch(id));
  for (const Index flow : whole) {
    flows_[flow].leaves = true;
    open_ -= flows_[flow].open;
  }
  drop_leaving();
}

void FlowTable::drop_ended(std::vector<std::int64_t>& ended) {
  ended.clear();
  for (Flow& flow : flows_) {
    flow.leaves = flow.open == 0;
    if (flow.leaves) ended.push_back(flow.id);
  }
  drop_leaving();
}

void FlowTable::count_rows() {
  rows_ = 0;
  first_ids_.clear();
  for (Flow& flow : flows_) {
    flow.first = std::exchange(rows_, rows_ + flow.jobs.size());
    first_ids_.push_back(flow.first_id);
  }
}

void FlowTable::drop_leaving() {
  if (std::erase_if(flows_, [](const Flow& flow) { return flow.leaves; }) == 0) return;
  count_rows();
}

}  // namespace malleable
