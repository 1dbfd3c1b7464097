// The slots of a decision over flows as they are handed out, job by job, into
// FlowTable::Job::share.
#pragma once

#include <cstdint>
#include <span>

#include "malleable/policy/epoch/flow_study.hpp"

namespace malleable {

struct FlowShares {
  using Flow = FlowTable::Flow;
  using Job = FlowTable::Job;

  FlowScene& at;
  double free = static_cast<double>(at.slots);

  void hand(Job& job, double most);
  // A slot for every ready job whose work has run out, as far as there are any. Tells whether there
  // is such a job.
  bool hold();
  // Hands free slots down the order of flows: each job up to its maximum, or to `limit` (by row) if
  // given.
  void fill(std::span<const Index> ordered, std::span<const std::int64_t> limit = {});
  // And then to those who may have no work.
  void serve_spent(std::span<const Index> ordered);
  // What joined phases got, by the work that each has left, within their maxima.
  void split_phases();

 private:
  // Visits ready jobs of a flow whose work has run out while slots are free.
  template <typename Visit>
  void each_spent(Flow& flow, const Visit& visit);
};

}  // namespace malleable
