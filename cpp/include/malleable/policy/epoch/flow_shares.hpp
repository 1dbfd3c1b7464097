// Hands out the slots of a decision over flows, job by job, into FlowTable::Job::share.
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

  // Gives the job free slots, until it has `most`.
  void hand(Job& job, double most);
  // Gives a slot to every ready job without work that has done none, as long as there are slots.
  // Returns whether there is such a job.
  bool serve_empty();
  // Hands free slots down the order of flows: each job up to its maximum, or to `limit` (by row) if
  // given.
  void fill(std::span<const Index> ordered, std::span<const std::int64_t> limit = {});
  // Then to jobs without work that have done none.
  void serve_spent(std::span<const Index> ordered);
  // Splits the slots of joined phases by the work that each has left, within their maxima.
  void split_phases();

 private:
  // Visits ready jobs of a flow without work that has done none while slots are free.
  template <typename Visit>
  void each_spent(Flow& flow, const Visit& visit);
};

}  // namespace malleable
