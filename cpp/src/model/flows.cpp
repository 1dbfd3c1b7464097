#include "malleable/model/flows.hpp"

#include <algorithm>
#include <utility>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"

namespace malleable {

void validate(const FlowsView& flows) {
  const std::size_t f = flows.flows(), n = flows.jobs();
  check_offsets("job_offset", flows.job_offset, f, n);
  check_offsets("parent_offset", flows.parent_offset, n, flows.parent.size());
  validate(static_cast<const TermsView&>(flows), f);
  check_length("max_slots", flows.max_slots.size(), n, "work");
  check_amounts("work", flows.work, kWorkRange);
  validate(flows.speedup, n, "work");
  check_counts("max_slots", flows.max_slots, 1, kAllSlots, "must be at least 1");
  for (std::size_t k = 0; k < f; ++k) {
    const std::int64_t first = flows.job_offset[k], end = flows.job_offset[k + 1];
    for (std::int64_t i = first; i < end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      for (std::int64_t e = flows.parent_offset[row]; e < flows.parent_offset[row + 1]; ++e) {
        const std::int64_t p = flows.parent[static_cast<std::size_t>(e)];
        if (p < first || p >= end) {
          throw FieldError("after", row, static_cast<long long>(p),
                           "not the row of a job of the same flow");
        }
      }
    }
  }
}

// Jobs that wait for each other in a circle; empty: there are none.
std::vector<std::int64_t> find_cycle(const FlowsView& flows) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  const std::size_t n = flows.jobs();
  std::vector<std::uint8_t> state(n, kNew);
  std::vector<std::int64_t> next(flows.parent_offset.begin(), flows.parent_offset.end());
  std::vector<std::int64_t> path;
  for (std::size_t root = 0; root < n; ++root) {
    if (state[root] != kNew) continue;
    path.assign(1, static_cast<std::int64_t>(root));
    state[root] = kOpen;
    while (!path.empty()) {
      const auto i = static_cast<std::size_t>(path.back());
      if (next[i] == flows.parent_offset[i + 1]) {
        state[i] = kDone;
        path.pop_back();
        continue;
      }
      const std::int64_t p = flows.parent[static_cast<std::size_t>(next[i]++)];
      const auto up = static_cast<std::size_t>(p);
      if (state[up] == kOpen) {
        path.erase(path.begin(), std::find(path.begin(), path.end(), p));
        return path;
      }
      if (state[up] == kNew) {
        state[up] = kOpen;
        path.push_back(p);
      }
    }
  }
  return {};
}

void FlowColumns::clear() {
  TermColumns::clear();
  work.clear();
  max_slots.clear();
  parent.clear();
  speedup.clear();
  for (auto* offset : {&job_offset, &parent_offset}) offset->assign(1, 0);
}

void FlowColumns::add(const FlowsView& from, std::size_t flow) {
  TermColumns::add(from, flow);
  const auto first = static_cast<std::size_t>(from.job_offset[flow]);
  const auto end = static_cast<std::size_t>(from.job_offset[flow + 1]);
  const auto shift = static_cast<std::int64_t>(work.size()) - from.job_offset[flow];
  if (from.speedup.given()) speedup.pad(work.size());
  for (std::size_t i = first; i < end; ++i) {
    work.push_back(from.work[i]);
    max_slots.push_back(from.max_slots[i]);
    if (from.speedup.given() || speedup.view().given()) speedup.add(from.speedup, i);
    for (std::int64_t e = from.parent_offset[i]; e < from.parent_offset[i + 1]; ++e) {
      parent.push_back(from.parent[static_cast<std::size_t>(e)] + shift);
    }
    parent_offset.push_back(static_cast<std::int64_t>(parent.size()));
  }
  job_offset.push_back(static_cast<std::int64_t>(work.size()));
}

Flows::Flows(FlowColumns&& columns) : columns_(std::move(columns)) {
  FlowColumns& own = columns_;
  const std::size_t f = own.arrival.size(), n = own.work.size();
  own.complete(f);
  if (own.max_slots.empty()) own.max_slots.assign(n, kAllSlots);
  const bool left_out = own.original.empty();
  if (left_out) own.original.assign(f, 0.0);
  validate(own.view());
  if (!find_cycle(own.view()).empty()) throw std::invalid_argument("flows: jobs form a cycle");
  if (!left_out) return;
  for (std::size_t j = 0; j < f; ++j) {
    for (std::int64_t i = own.job_offset[j]; i < own.job_offset[j + 1]; ++i) {
      own.original[j] += own.work[static_cast<std::size_t>(i)];
    }
  }
  check_amounts("size", own.original, kTotalRange);
}

Flows Flows::of_valid(FlowColumns&& columns) {
  Flows made;
  made.columns_ = std::move(columns);
  return made;
}

Flows Flows::take(std::span<const std::int64_t> rows) const {
  const FlowsView from = view();
  FlowColumns taken;
  taken.clear();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    check_row(rows, k, from.flows());
    taken.add(from, static_cast<std::size_t>(rows[k]));
  }
  return of_valid(std::move(taken));
}

Flows Flows::joined(std::span<const Flows* const> tables) {
  FlowColumns all;
  all.clear();
  for (const Flows* table : tables) {
    const FlowsView from = table->view();
    for (std::size_t j = 0; j < from.flows(); ++j) all.add(from, j);
  }
  return of_valid(std::move(all));
}

}  // namespace malleable
