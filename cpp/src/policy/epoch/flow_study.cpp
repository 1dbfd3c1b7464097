#include "malleable/policy/epoch/flow_study.hpp"

#include <algorithm>
#include <numeric>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/domain.hpp"
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

double FlowScene::room(std::size_t row) const {
  return static_cast<double>(std::min(table.max_slots[row], std::max<std::int64_t>(slots, 1)));
}

double FlowScene::left(std::size_t row) const {
  const double work = table.work[row];
  if (work > 0.0 || period == 0.0) return work;
  return std::max(kWorkRange.least, still_left(std::max(table.attained[row], table.whole[row])));
}

void FlowStudy::touch_all(const FlowScene& at) {
  touched.resize(at.table.rows().size());
  std::iota(touched.begin(), touched.end(), Index{0});
}

void FlowStudy::refresh(const FlowScene& at) {
  const std::span<const FlowTable::Flow> flows = at.table.rows();
  const std::size_t n = at.table.work.size();
  views.resize(flows.size());
  marked_.assign(flows.size(), 0);
  for (auto* column : {&work, &high, &head_, &path}) column->resize(n);
  for (auto* column : {&pending, &second, &queue}) column->resize(n);
  ready.resize(n);
  for (const Index j : touched) {
    if (!flows[j].there || marked_[j]) continue;
    marked_[j] = 1;
    study(at, flows[j], views[j]);
  }
  touched.clear();
}

// Second phases whose first one is far enough, and which wait for nothing else.
void FlowStudy::join_phases(const FlowScene& at, const FlowTable::Flow& flow) {
  const double fraction = at.options.ready_fraction;
  for (std::size_t row = flow.first; fraction < 1.0 && row < flow.end(); ++row) {
    if (at.table.follows[row] == kNone || at.table.stage[row] != JobStage::kOpen) continue;
    const std::size_t first = flow.first + at.table.follows[row];
    if (pending[row] != 1 || at.table.stage[first] != JobStage::kOpen || pending[first] != 0) {
      continue;
    }
    const double whole = at.table.whole[first];
    if (!(whole - at.table.work[first] >= fraction * whole)) continue;
    ready[row] = 1;
    if (work[first] + work[row] == 0.0) continue;
    second[first] = static_cast<Index>(row - flow.first);
    work[first] += work[row];
    work[row] = 0.0;
    high[first] =
        std::min(high[first] + high[row], static_cast<double>(std::max<std::int64_t>(at.slots, 1)));
  }
}

void FlowStudy::refresh_jobs(const FlowScene& at, const FlowTable::Flow& flow) {
  for (std::size_t row = flow.first; row < flow.end(); ++row) {
    work[row] = at.table.work[row];
    high[row] = at.room(row);
    head_[row] = path[row] = 0.0;
    second[row] = kNone;
    pending[row] = 0;
    const std::size_t edges = at.table.parent_first[row];
    for (std::size_t e = edges; e < edges + at.table.parents[row]; ++e) {
      pending[row] += at.table.stage[flow.first + at.table.parent[e]] == JobStage::kOpen ? 1 : 0;
    }
    ready[row] = at.table.stage[row] == JobStage::kOpen && pending[row] == 0;
  }
  for (std::size_t row = flow.first; row < flow.end(); ++row) {
    if (ready[row]) work[row] = at.left(row);
  }
}

// The longest path from each job's start to the end of its flow.
void FlowStudy::find_paths(const FlowScene& at, const FlowTable::Flow& flow) {
  for (std::size_t k = flow.end(); k-- > flow.first;) {
    const std::size_t row = flow.first + at.table.topological[k];
    path[row] += work[row] / high[row];
    const std::size_t edges = at.table.parent_first[row];
    for (std::size_t e = edges; e < edges + at.table.parents[row]; ++e) {
      const std::size_t above = flow.first + at.table.parent[e];
      path[above] = std::max(path[above], path[row]);
    }
  }
}

void FlowStudy::study(const FlowScene& at, const FlowTable::Flow& flow, View& view) {
  view = View{};
  refresh_jobs(at, flow);
  join_phases(at, flow);
  double longest = 0.0;
  Index queued = 0;
  for (std::size_t k = flow.first; k < flow.end(); ++k) {
    const std::size_t row = flow.first + at.table.topological[k];
    const std::size_t edges = at.table.parent_first[row];
    for (std::size_t e = edges; e < edges + at.table.parents[row]; ++e) {
      const std::size_t above = flow.first + at.table.parent[e];
      head_[row] = std::max(head_[row], head_[above] + work[above] / high[above]);
    }
    view.volume += work[row];
    longest = std::max(longest, head_[row] + work[row] / high[row]);
    view.held += ready[row] && at.left(row) == 0.0 ? 1 : 0;
    if (ready[row] && work[row] > 0.0 && pending[row] == 0) {
      queue[flow.first + queued++] = at.table.topological[k];
    }
  }
  view.queued = queued;
  view.alone =
      std::max(longest, view.volume / static_cast<double>(std::max<std::int64_t>(at.slots, 1)));
  if (at.options.baseline == FlowBaseline::kFifo || queued < 2) return;
  find_paths(at, flow);
  const auto first = queue.begin() + static_cast<std::ptrdiff_t>(flow.first);
  std::sort(first, first + queued, [&](Index a, Index b) {
    const double longer = path[flow.first + a], shorter = path[flow.first + b];
    return longer != shorter ? longer > shorter : a < b;
  });
}

bool FlowStudy::is_joined(const FlowScene& at, const FlowTable::Flow& flow, std::size_t row) const {
  return pending[row] > 0 && at.table.follows[row] != kNone &&
         second[flow.first + at.table.follows[row]] == row - flow.first;
}

}  // namespace malleable
