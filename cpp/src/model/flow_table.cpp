#include "malleable/model/flow_table.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"

namespace malleable {
namespace {

void check_entries(const char* field, std::size_t entries, std::size_t wanted, const char* of) {
  if (entries == 0 || entries == wanted) return;
  throw std::invalid_argument(std::string(field) + " has " + std::to_string(entries) +
                              " entries but there are " + std::to_string(wanted) + " " + of);
}

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

// Each names a job that this one waits for, and none is named twice.
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
  if (added.kind.size() != 1 && added.kind.size() != f) {
    throw std::invalid_argument("kind has " + std::to_string(added.kind.size()) +
                                " entries but there are " + std::to_string(f) + " flows");
  }
  check_entries("tasks", added.tasks.size(), n, "jobs");
  check_entries("continues", added.continues.size(), n, "jobs");
  check_entries("name", added.name.size(), n, "jobs");
  check_tasks(added.tasks, task_work_);
  check_continues(flows, added.continues);
  const auto kind_of = [&](std::size_t j) { return added.kind[added.kind.size() == 1 ? 0 : j]; };
  for (std::size_t j = 0; j < f; ++j) {
    const Kind kind = kind_of(j);
    if (info(kind).needs_deadline) check_needed_deadline(kind, j, flows.deadline[j]);
    if (info(kind).custom && !custom) {
      throw std::invalid_argument("kind custom needs a function");
    }
  }
}

void FlowTable::arrive(double now) {
  for (Flow& flow : flows_) flow.arrival = flow.arrival > -kInfinity ? flow.arrival : now;
}

std::size_t FlowTable::add(Additions&& added, bool custom, double now) {
  check_additions(added, custom);
  const FlowsView& flows = added.flows;
  const std::size_t f = flows.flows(), n = flows.jobs();
  const auto kind_of = [&](std::size_t j) { return added.kind[added.kind.size() == 1 ? 0 : j]; };
  const std::size_t first_flow = flows_.size();
  for (std::size_t j = 0; j < f; ++j) {
    const auto begin = static_cast<std::size_t>(flows.job_offset[j]);
    const auto count = static_cast<Index>(flows.job_offset[j + 1] - flows.job_offset[j]);
    flows_.push_back({next_flow_++,
                      next_job_,
                      added.dated ? flows.arrival[j] : now,
                      flows.weight[j],
                      flows.deadline[j],
                      flows.original[j],
                      work.size(),
                      {},
                      count,
                      count,
                      kind_of(j),
                      true});
    next_job_ += count;
    steps.replace(flows_.back().sla, flows.sla.of(j));
    for (std::size_t i = begin; i < begin + count; ++i) {
      const double guessed = added.tasks.empty() ? 0.0 : static_cast<double>(added.tasks[i]);
      const double takes = guessed > 0.0 ? guessed * task_work_ : flows.work[i];
      // What a flow weighs for stretch includes what is guessed.
      flows_.back().size += takes - flows.work[i];
      work.push_back(takes);
      whole.push_back(takes);
      tasks.push_back(guessed);
      first_tasks.push_back(guessed);
      attained.push_back(0.0);
      max_slots.push_back(flows.max_slots[i]);
      given.push_back(0);
      const std::int64_t before = added.continues.empty() ? -1 : added.continues[i];
      follows.push_back(before < 0 ? kNone
                                   : static_cast<Index>(static_cast<std::size_t>(before) - begin));
      parent_first.push_back(parent.size());
      parents.push_back(static_cast<Index>(flows.parent_offset[i + 1] - flows.parent_offset[i]));
      for (std::int64_t e = flows.parent_offset[i]; e < flows.parent_offset[i + 1]; ++e) {
        const auto p = static_cast<std::size_t>(flows.parent[static_cast<std::size_t>(e)]);
        parent.push_back(static_cast<Index>(p - begin));
      }
      stage.push_back(JobStage::kOpen);
      name.push_back(added.name.empty() ? std::string() : std::move(added.name[i]));
    }
    flows_.back().size = std::max(0.0, flows_.back().size);
    sort_topologically(flows_.back());
  }
  there_ += f;
  open_ += n;
  return first_flow;
}

// Those without parents by place, then each as its last parent is behind it.
void FlowTable::sort_topologically(const Flow& flow) {
  pending_.assign(parents.begin() + static_cast<std::ptrdiff_t>(flow.first), parents.end());
  child_offset_.assign(flow.jobs + 1, 0);
  const std::size_t first_edge = flow.jobs > 0 ? parent_first[flow.first] : parent.size();
  for (std::size_t e = first_edge; e < parent.size(); ++e) ++child_offset_[parent[e] + 1];
  for (Index i = 0; i < flow.jobs; ++i) child_offset_[i + 1] += child_offset_[i];
  child_.resize(parent.size() - first_edge);
  next_.assign(child_offset_.begin(), child_offset_.end());
  for (Index i = 0; i < flow.jobs; ++i) {
    const std::size_t row = flow.first + i;
    for (std::size_t e = parent_first[row]; e < parent_first[row] + parents[row]; ++e) {
      child_[next_[parent[e]]++] = i;
    }
  }
  const std::size_t begin = topological.size();
  for (Index i = 0; i < flow.jobs; ++i) {
    if (pending_[i] == 0) topological.push_back(i);
  }
  for (std::size_t at = begin; at < topological.size(); ++at) {
    const Index i = topological[at];
    for (Index e = child_offset_[i]; e < child_offset_[i + 1]; ++e) {
      if (--pending_[child_[e]] == 0) topological.push_back(child_[e]);
    }
  }
}

Index FlowTable::find_flow(std::int64_t id) const {
  const auto at = std::lower_bound(flows_.begin(), flows_.end(), id,
                                   [](const Flow& flow, std::int64_t x) { return flow.id < x; });
  if (at == flows_.end() || at->id != id || !at->there) return kNone;
  return static_cast<Index>(at - flows_.begin());
}

Index FlowTable::find_job(std::int64_t id) const {
  auto after = std::upper_bound(flows_.begin(), flows_.end(), id,
                                [](std::int64_t x, const Flow& flow) { return x < flow.first_id; });
  if (after == flows_.begin()) return kNone;
  const Flow& flow = *--after;
  const std::int64_t place = id - flow.first_id;
  if (!flow.there || place >= static_cast<std::int64_t>(flow.jobs)) return kNone;
  const std::size_t row = flow.first + static_cast<std::size_t>(place);
  return stage[row] == JobStage::kOpen ? static_cast<Index>(row) : kNone;
}

Index FlowTable::flow_of(std::size_t row) const {
  const auto after =
      std::upper_bound(flows_.begin(), flows_.end(), row,
                       [](std::size_t x, const Flow& flow) { return x < flow.first; });
  return static_cast<Index>(after - flows_.begin() - 1);
}

std::span<const Index> FlowTable::open_rows(std::span<const std::int64_t> ids) {
  return named_jobs_.of(
      ids, work.size(), [this](std::int64_t id) { return find_job(id); }, "ids",
      "no such job, or it has ended");
}

// What the k-th entries say about a flow.
void FlowTable::change(Flow& flow, const Changes& changes, std::size_t k) {
  if (!changes.weight.empty()) flow.weight = changes.weight[k];
  if (!changes.deadline.empty()) flow.deadline = changes.deadline[k];
  if (changes.sla.given()) steps.replace(flow.sla, changes.sla.of(k));
}

void FlowTable::update(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
                       const Changes& changes, std::vector<Index>& touched) {
  check_lengths(changes, jobs.size(), flows.size());
  const std::span<const Index> rows = open_rows(jobs);
  const std::span<const Index> of_flows = named_flows_.of(
      flows, flows_.size(), [this](std::int64_t id) { return find_flow(id); }, "flows",
      "no such flow");
  check_amounts("work", changes.work, kLeftRange);
  check_tasks(changes.tasks, task_work_);
  for (std::size_t k = 0; k < changes.max_slots.size(); ++k) {
    if (changes.max_slots[k] >= 1) continue;
    throw FieldError("max_slots", k, static_cast<long long>(changes.max_slots[k]),
                     "must be at least 1");
  }
  check_amounts("weight", changes.weight, kWeightRange);
  check_deadlines(changes.deadline);
  for (std::size_t k = 0; k < changes.deadline.size(); ++k) {
    const Kind kind = flows_[of_flows[k]].kind;
    if (info(kind).needs_deadline) check_needed_deadline(kind, k, changes.deadline[k]);
  }
  if (changes.sla.given()) validate(changes.sla, flows.size(), "flows");
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::size_t row = rows[k];
    if (!changes.work.empty()) {
      work[row] = left_of(changes.work[k]);
      tasks[row] = 0.0;
    }
    if (!changes.tasks.empty()) {
      tasks[row] = static_cast<double>(changes.tasks[k]);
      if (tasks[row] > 0.0) work[row] = tasks[row] * task_work_;
    }
    if (!changes.max_slots.empty()) max_slots[row] = changes.max_slots[k];
    touched.push_back(flow_of(row));
  }
  for (std::size_t k = 0; k < of_flows.size(); ++k) change(flows_[of_flows[k]], changes, k);
}

void FlowTable::end(std::size_t row, JobStage how, std::vector<Index>& touched) {
  const Index flow = flow_of(row);
  stage[row] = how;
  work[row] = 0.0;
  tasks[row] = 0.0;
  --flows_[flow].open;
  --open_;
  touched.push_back(flow);
}

void FlowTable::finish(std::span<const std::int64_t> jobs, std::vector<Index>& touched) {
  for (const Index row : open_rows(jobs)) end(row, JobStage::kFinished, touched);
}

void FlowTable::remove(std::span<const std::int64_t> jobs, std::span<const std::int64_t> flows,
                       std::vector<Index>& touched) {
  const std::span<const Index> rows = open_rows(jobs);
  const std::span<const Index> whole_flows = named_flows_.of(
      flows, flows_.size(), [this](std::int64_t id) { return find_flow(id); }, "flows",
      "no such flow");
  const std::size_t before = touched.size();
  for (const Index row : rows) end(row, JobStage::kRemoved, touched);
  for (std::size_t k = before, last = touched.size(); k < last; ++k) {
    const Flow& flow = flows_[touched[k]];
    for (std::size_t at = flow.first; at < flow.end(); ++at) {
      const std::size_t row = flow.first + topological[at];
      if (stage[row] != JobStage::kOpen) continue;
      for (std::size_t e = parent_first[row]; e < parent_first[row] + parents[row]; ++e) {
        if (stage[flow.first + parent[e]] != JobStage::kRemoved) continue;
        end(row, JobStage::kRemoved, touched);
        break;
      }
    }
  }
  for (const Index flow : whole_flows) {
    drop(flow);
    touched.push_back(flow);
  }
}

void FlowTable::set_task_work(double task_work, std::vector<Index>& touched) {
  check_amount("task_work", task_work, kRateRange);
  for (const Flow& flow : flows_) {
    for (std::size_t row = flow.first; row < flow.end(); ++row) {
      if (tasks[row] == 0.0) continue;
      for (const double count : {tasks[row], first_tasks[row]}) {
        if (count == 0.0 || kWorkRange.holds(count * task_work)) continue;
        const auto id = flow.first_id + static_cast<std::int64_t>(row - flow.first);
        throw FieldError("task_work", task_work,
                         "the work of job " + std::to_string(id) + " would be " +
                             shown(count * task_work) + ", which " + kWorkRange.text);
      }
    }
  }
  task_work_ = task_work;
  for (std::size_t j = 0; j < flows_.size(); ++j) {
    bool guessed = false;
    for (std::size_t row = flows_[j].first; row < flows_[j].end(); ++row) {
      if (tasks[row] == 0.0) continue;
      guessed = true;
      work[row] = tasks[row] * task_work;
      if (first_tasks[row] > 0.0) whole[row] = first_tasks[row] * task_work;
    }
    if (guessed) touched.push_back(static_cast<Index>(j));
  }
}

void FlowTable::drop(std::size_t flow) {
  Flow& gone = flows_[flow];
  gone.there = false;
  for (std::size_t row = gone.first; row < gone.end(); ++row) tasks[row] = 0.0;
  open_ -= gone.open;
  gone.open = 0;
  gone_ += 1 + gone.jobs;
  steps.drop(gone.sla);
  --there_;
}

template <typename Visit>
void FlowTable::each_column(Visit&& visit) {
  for (auto* column : {&work, &whole, &tasks, &first_tasks, &attained}) visit(*column);
  for (auto* column : {&follows, &topological, &parents}) visit(*column);
  for (auto* column : {&max_slots, &given}) visit(*column);
  visit(parent_first);
  visit(stage);
  visit(name);
}

bool FlowTable::tidy() {
  steps.tidy([this](const auto& visit) {
    for (Flow& flow : flows_) {
      if (flow.there) visit(flow.sla);
    }
  });
  if (2 * gone_ <= flows_.size() + work.size()) return false;
  std::size_t kept = 0, row = 0, edge = 0;
  for (std::size_t j = 0; j < flows_.size(); ++j) {
    Flow flow = flows_[j];
    if (!flow.there) continue;
    const std::size_t first = flow.first;
    for (std::size_t i = first; i < flow.end(); ++i) {
      const std::size_t from = parent_first[i];
      parent_first[i] = edge;
      for (std::size_t e = from; e < from + parents[i]; ++e) parent[edge++] = parent[e];
    }
    each_column([&](auto& column) {
      if (first == row) return;
      const auto begin = column.begin() + static_cast<std::ptrdiff_t>(first);
      std::move(begin, begin + flow.jobs, column.begin() + static_cast<std::ptrdiff_t>(row));
    });
    flow.first = row;
    row += flow.jobs;
    flows_[kept++] = flow;
  }
  flows_.resize(kept);
  each_column([&](auto& column) { column.resize(row); });
  parent.resize(edge);
  gone_ = 0;
  return true;
}

void FlowTable::state(State& s) {
  s(task_work_, flows_, there_, open_, gone_, next_flow_, next_job_);
  each_column(s);
  s(parent, steps);
}

}  // namespace malleable
