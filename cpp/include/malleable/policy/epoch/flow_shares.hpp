// Hands out the slots of a decision over flows, job by job, into FlowTable::Job::share.
//
// An empty job is ready, has no work, and was given no slot-seconds yet; it needs a slot to end. (A
// job that has outlived its estimate has work left, see FlowScene::left.)
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
  // Gives a slot to every empty job, as long as there are slots. Returns whether there is one.
  bool serve_empty();
  // Hands free slots down the order of flows: each job up to its maximum, or to `limit` (by row) if
  // given.
  void fill(std::span<const Index> ordered, std::span<const std::int64_t> limit = {});
  // Gives the slots that are left over to empty jobs, each up to its maximum.
  void serve_empty_rest(std::span<const Index> ordered);

 private:
  // Visits the empty jobs of a flow while slots are free.
  template <typename Visit>
  void each_empty(Flow& flow, const Visit& visit);
};

}  // namespace malleable
