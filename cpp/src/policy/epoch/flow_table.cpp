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
namespace {

void check_tasks(std::span<const std::int64_t> tasks, double task_work) {
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const auto count = static_cast<long long>(tasks[k]);
    if (count < 0) throw FieldError("tasks", k, count, "must be at least 0");
    const double guess = static_cast<double>(count) * task_work;
    if (count > 0 && !kWorkRange.holds(guess)) {
      throw FieldError("tasks", k, count,
                       "with task_work = " + shown(task_work) + " that is work " + shown(guess) +
                           ", which " + kWorkRange.text);
    }
  }
}

// Throws unless each entry is a job that this one waits for, and none is named twice.
void check_continues(const FlowsView& flows, std::span<const std::int64_t> continues) {
  std::vector<std::uint8_t> taken(continues.size(), 0);
  for (std::size_t i = 0; i < continues.size(); ++i) {
    const std::int64_t first = continues[i];
    if (first == -1) continue;
    const auto begin = flows.parent.begin();
    if (std::find(begin + flows.parent_offset[i], begin + flows.parent_offset[i + 1], first) ==
        begin + flows.parent_offset[i + 1]) {
      throw FieldError("continues", i, static_cast<long long>(first),
                       "the job does not wait for that one");
    }
    if (taken[static_cast<std::size_t>(first)]++) {
      throw FieldError("continues", i, static_cast<long long>(first),
                       "more than one job continues it");
    }
  }
}

}  // namespace

void FlowTable::check_additions(const Additions& added, bool custom) const {
  const FlowsView& flows = added.flows;
  const std::size_t f = flows.flows(), n = flows.jobs();
  if (added.kind.size() != 1) check_length("kind", added.kind.size(), f, "arrival");
  for (const auto& [field, entries] :
       {std::pair{"tasks", added.tasks.size()}, std::pair{"continues", added.continues.size()},
        std::pair{"name", added.name.size()}, std::pair{"program", added.program.size()}}) {
    if (entries > 0) check_length(field, entries, n, "work");
  }
  check_tasks(added.tasks, task_work_);
  check_continues(flows, added.continues);
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
    flow.set_steps(flows.sla.of(j));
    flow.jobs.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const double guessed = added.tasks.empty() ? 0.0 : static_cast<double>(added.tasks[i]);
      const double takes = guessed > 0.0 ? guessed * task_work_ : flows.work[i];
      // The size for stretch includes guessed work.
      flow.size += takes - flows.work[i];
      const std::int64_t before = added.continues.empty() ? -1 : added.continues[i];
      const auto first = static_cast<Index>(flow.parent.size());
      for (std::int64_t e = flows.parent_offset[i]; e < flows.parent_offset[i + 1]; ++e) {
        flow.parent.push_back(place_of(flows.parent[static_cast<std::size_t>(e)]));
      }
      flow.jobs.push_back({.follows = before < 0 ? kNone : place_of(before),
                           .work = takes,
                           .whole = takes,
                           .tasks = guessed,
                           .first_tasks = guessed,
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
    flow.size = std::max(0.0, flow.size);
    flow.open = static_cast<Index>(flow.jobs.size());
    next_job_ += flow.open;
    rows_ += flow.open;
    open_ += flow.open;
  }
}

Index FlowTable::find_flow(std::int64_t id) const {
  const auto at = std::lower_bound(flows_.begin(), flows_.end(), id,
                                   [](const Flow& flow, std::int64_t x) { return flow.id < x; });
  return at == flows_.end() || at->id != id ? kNone : static_cast<Index>(at - flows_.begin());
}

Index FlowTable::find_job(std::int64_t id) const {
  auto after = std::upper_bound(flows_.begin(), flows_.end(), id,
                                [](std::int64_t x, const Flow& flow) { return x < flow.first_id; });
  if (after == flows_.begin()) return kNone;
  const Flow& flow = *--after;
  const auto place = static_cast<std::size_t>(id - flow.first_id);
  if (place >= flow.jobs.size() || !flow.jobs[place].open()) return kNone;
  return static_cast<Index>(flow.first + place);
}

const FlowTable::Flow& FlowTable::flow_at(std::size_t row) const {
  const auto after =
      std::upper_bound(flows_.begin(), flows_.end(), row,
                       [](std::size_t x, const Flow& flow) { return x < flow.first; });
  return *(after - 1);
}

// Marks the flow of a job's row as changed.
FlowTable::Flow& FlowTable::touch(std::size_t row) {
  Flow& flow = flows_[static_cast<std::size_t>(&flow_at(row) - flows_.data())];
  flow.touched = true;
  return flow;
}

void FlowTable::check_unlearnt(std::span<const Index> rows) const {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Flow& flow = flow_at(rows[k]);
    if (flow.program.empty() || flow.program[rows[k] - flow.first] < 0) continue;
    throw std::invalid_argument("speedup[" + std::to_string(k) +
                                "]: it is learnt for jobs that have a program");
  }
}

std::span<const Index> FlowTable::open_rows(std::span<const std::int64_t> ids) {
  return named_jobs_.of(
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
  check_tasks(changes.tasks, task_work_);
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
  const std::span<const Index> rows = open_rows(jobs), of_flows = flow_rows(flows);
  check_changes(rows.size(), of_flows, changes);
  if (changes.speedup.given()) check_unlearnt(rows);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    Flow& flow = touch(rows[k]);
    Job& job = flow.jobs[rows[k] - flow.first];
    if (!changes.work.empty()) {
      job.work = left_of(changes.work[k]);
      if (std::exchange(job.tasks, 0.0) > 0.0)
        job.then = 0.0;  // a guess, of which nothing was done
    }
    if (!changes.tasks.empty()) {
      job.tasks = static_cast<double>(changes.tasks[k]);
      if (job.tasks > 0.0) job.work = job.tasks * task_work_;
    }
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
    if (changes.sla.given()) flow.set_steps(changes.sla.of(k));
  }
}

// The job leaves: finished or removed.
void FlowTable::end(Flow& flow, Job& job, JobStage how) {
  job.stage = how;
  job.work = job.tasks = 0.0;
  --flow.open;
  --open_;
}

void FlowTable::finish(std::span<const std::int64_t> jobs) {
  for (const Index row : open_rows(jobs)) {
    Flow& flow = touch(row);
    end(flow, flow.jobs[row - flow.first], JobStage::kFinished);
  }
}

// Removes jobs that wait for removed ones.
void FlowTable::remove_behind(Flow& flow) {
  for (const Index place : flow.topological) {
    Job& job = flow.jobs[place];
    const auto parents = flow.parents_of(job);
    if (job.open() && std::any_of(parents.begin(), parents.end(), [&](Index above) {
          return flow.jobs[above].stage == JobStage::kRemoved;
        })) {
      end(flow, job, JobStage::kRemoved);
    }
  }
}

void FlowTable::remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows) {
  const std::span<const Index> rows = open_rows(jobs), whole = flow_rows(flows);
  for (const Index row : rows) {
    Flow& flow = touch(row);
    end(flow, flow.jobs[row - flow.first], JobStage::kRemoved);
  }
  for (const Index row : rows) remove_behind(touch(row));
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

void FlowTable::drop_leaving() {
  if (std::erase_if(flows_, [](const Flow& flow) { return flow.leaves; }) == 0) return;
  rows_ = 0;
  for (Flow& flow : flows_) {
    flow.first = rows_;
    rows_ += flow.jobs.size();
  }
}

// The work of a task, for jobs whose work is given as a number of tasks.
void FlowTable::set_task_work(double task_work) {
  check_amount("task_work", task_work, kRateRange);
  for (const Flow& flow : flows_) {
    for (const Job& job : flow.jobs) {
      if (job.tasks == 0.0) continue;
      for (const double count : {job.tasks, job.first_tasks}) {
        if (count == 0.0 || kWorkRange.holds(count * task_work)) continue;
        throw FieldError("task_work", task_work,
                         "the work of job " + std::to_string(flow.id_of(job)) + " would be " +
                             shown(count * task_work) + ", which " + kWorkRange.text);
      }
    }
  }
  task_work_ = task_work;
  for (Flow& flow : flows_) {
    for (Job& job : flow.jobs) {
      if (job.tasks == 0.0) continue;
      flow.touched = true;
      job.work = job.tasks * task_work;
      if (job.first_tasks > 0.0) job.whole = job.first_tasks * task_work;
    }
  }
}

}  // namespace malleable
