// Hands out the slots of a decision over flows, job by job, into FlowTable::Job::share.
//
// An empty job is ready, has no work, and was given no slot-seconds yet; it needs a slot to end. (A
// job that has outlived its estimate has work left, see FlowScene::left.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "malleable/policy/epoch/flow_study.hpp"

namespace malleable {

struct FlowShares {
  using Flow = FlowTable::Flow;
  using Job = FlowTable::Job;

  FlowScene& at;
  double free = static_cast<double>(at.slots);

  // Gives the job free slots, until it has `most`.
  void hand(Job& job, double most) {
    const double more = std::min(most - job.share, free);
    if (more <= 0.0) return;
    job.share += more;
    free -= more;
  }
  // Gives a slot to every empty job, as long as there are slots. Returns whether there is one.
  bool serve_empty() {
    bool any = false;
    for (Flow& flow : at.table.flows()) {
      any |= flow.empty > 0 && !at.waits(flow);
      each_empty(flow, [&](Job& job) { hand(job, 1.0); });
    }
    return any;
  }
  // Hands free slots down the order of flows: each job up to its maximum, or to `limit` (by row) if
  // given.
  void fill(std::span<const Index> ordered, std::span<const std::int64_t> limit = {}) {
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
  // Gives the slots that are left over to empty jobs, each up to its maximum.
  void serve_empty_rest(std::span<const Index> ordered) {
    for (const Index row : ordered) {
      each_empty(at.table.flows()[row], [&](Job& job) { hand(job, at.room(job)); });
    }
  }

 private:
  // Visits the empty jobs of a flow while slots are free.
  template <typename Visit>
  void each_empty(Flow& flow, const Visit& visit) {
    if (flow.empty == 0 || at.waits(flow)) return;
    for (Job& job : flow.jobs) {
      if (free > 0.0 && job.ready && at.left(job) == 0.0) visit(job);
    }
  }
};

// A way to hand out all slots to flows in an order. `turns`, with a period: ids of ready jobs, in
// the order in which they should get slots that become free.
class FlowServer {
 public:
  virtual ~FlowServer() = default;
  virtual void serve(FlowShares& to, std::span<const Index> order,
                     std::vector<std::int64_t>& turns) = 0;
};

std::unique_ptr<FlowServer> flow_shares_periodic();
std::unique_ptr<FlowServer> flow_shares_gains();

}  // namespace malleable
