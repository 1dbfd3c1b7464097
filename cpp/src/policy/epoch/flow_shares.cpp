#include "malleable/policy/epoch/flow_shares.hpp"

#include <algorithm>

namespace malleable {

void FlowShares::hand(Job& job, double most) {
  const double more = std::min(most - job.share, free);
  if (more <= 0.0) return;
  job.share += more;
  free -= more;
}

template <typename Visit>
void FlowShares::each_empty(Flow& flow, const Visit& visit) {
  if (flow.empty == 0 || at.waits(flow)) return;
  for (Job& job : flow.jobs) {
    if (free > 0.0 && job.ready && at.left(job) == 0.0) visit(job);
  }
}

bool FlowShares::serve_empty() {
  bool any = false;
  for (Flow& flow : at.table.flows()) {
    any |= flow.empty > 0 && !at.waits(flow);
    each_empty(flow, [&](Job& job) { hand(job, 1.0); });
  }
  return any;
}

void FlowShares::serve_empty_rest(std::span<const Index> ordered) {
  for (const Index row : ordered) {
    each_empty(at.table.flows()[row], [&](Job& job) { hand(job, at.room(job)); });
  }
}

// Gives slots down the order, up to the limit if there is one.
void FlowShares::fill(std::span<const Index> ordered, std::span<const std::int64_t> limit) {
  for (const Index row : ordered) {
    if (free <= 0.0) return;
    Flow& flow = at.table.flows()[row];
    if (at.waits(flow)) continue;  // a plan's order may have it first
    flow.holds = true;
    for (const Index place : flow.queue) {
      Job& job = flow.jobs[place];
      hand(job, limit.empty() ? job.high : static_cast<double>(limit[flow.first + place]));
    }
  }
}

}  // namespace malleable
