// The ready list that an order of flows makes, and what it costs: flow by flow in the order, within
// a flow the longest path first (Nagarajan et al. 2013, section 5.2).
//
// In a ready list, the jobs that may start get slots by rank, each up to its maximum
// (kernel/ready_list.hpp). FlowEpoch and FlowFlex on a cluster compare orders by these lists while
// there are few jobs, and serve the jobs of a flow in the order of its line. begin() takes O(jobs
// log jobs), a list as in kernel/ready_list.hpp.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/ready_list.hpp"
#include "malleable/model/penalties.hpp"

namespace malleable {

class FlowLists {
 public:
  // The problem must outlive the calls below.
  void begin(const FlowProblem& problem);
  // Jobs of a flow, the longest path first.
  std::span<const Index> line(std::size_t flow) const;
  // The objective of the list of an order of flows.
  double value(std::span<const Index> order, const Penalties& penalties, Aggregate aggregate);

 private:
  const FlowProblem* problem_ = nullptr;
  ReadyList list_;
  // Jobs flow by flow, in a flow the longest path first; by job: its rank in the list.
  std::vector<Index> inside_, rank_;
  std::vector<double> job_end_, flow_end_;
};

}  // namespace malleable
