#include "malleable/policy/epoch/flow_shares.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {

void FlowShares::begin(const FlowScene& at) {
  share.assign(at.table.work.size(), 0.0);
  free = static_cast<double>(at.slots);
}

bool FlowShares::hold(const FlowScene& at, const FlowStudy& study) {
  bool any = false;
  const std::span<const FlowTable::Flow> flows = at.table.rows();
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (!flows[j].there || study.views[j].held == 0 || at.waits(flows[j])) continue;
    any = true;
    for (std::size_t row = flows[j].first; free > 0.0 && row < flows[j].end(); ++row) {
      if (!study.ready[row] || at.left(row) > 0.0) continue;
      share[row] = 1.0;
      free -= 1.0;
    }
  }
  return any;
}

void FlowShares::fill(const FlowScene& at, const FlowStudy& study,
                      std::span<const std::size_t> ordered, std::span<const std::int64_t> limit) {
  const std::span<const FlowTable::Flow> flows = at.table.rows();
  for (const std::size_t j : ordered) {
    if (free <= 0.0) return;
    if (at.waits(flows[j])) continue;  // a plan's order may have it first
    const std::size_t first = flows[j].first;
    for (std::size_t k = first; k < first + study.views[j].queued; ++k) {
      const std::size_t row = first + study.queue[k];
      double most = limit.empty() ? study.high[row] : static_cast<double>(limit[row]);
      if (study.second[row] != kNone) most -= share[first + study.second[row]];
      hand(row, most);
    }
  }
}

void FlowShares::split_phases(const FlowScene& at, const FlowStudy& study) {
  if (at.options.ready_fraction >= 1.0) return;
  const std::span<const FlowTable::Flow> flows = at.table.rows();
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (!flows[j].there) continue;
    for (std::size_t k = flows[j].first; k < flows[j].first + study.views[j].queued; ++k) {
      const std::size_t row = flows[j].first + study.queue[k];
      if (study.second[row] == kNone) continue;
      const std::size_t late = flows[j].first + study.second[row];
      const double total = share[row] + share[late];
      const double mine = at.table.work[row] == 0.0 ? std::min(1.0, total) : 0.0;
      const double wanted = std::nearbyint(total * (at.table.work[late] / study.work[row]));
      share[late] = std::clamp(wanted, std::max(total - at.room(row), share[late]),
                               std::min(at.room(late), total - mine));
      share[row] = total - share[late];
    }
  }
}

void FlowShares::serve_spent(const FlowScene& at, const FlowStudy& study,
                             std::span<const std::size_t> ordered) {
  const std::span<const FlowTable::Flow> flows = at.table.rows();
  for (const std::size_t j : ordered) {
    if (study.views[j].held == 0 || at.waits(flows[j])) continue;
    for (std::size_t row = flows[j].first; free > 0.0 && row < flows[j].end(); ++row) {
      if (!study.ready[row] || at.left(row) > 0.0) continue;
      hand(row, at.room(row));
    }
  }
}

void FlowShares::hand(std::size_t row, double most) {
  const double more = std::min(most - share[row], free);
  if (more <= 0.0) return;
  share[row] += more;
  free -= more;
}

}  // namespace malleable
