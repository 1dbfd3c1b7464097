// List policies of the slotted model, in which a machine does one unit of work a step: the first
// job in an order takes all machines it can use, then the next one.
//
//   FIFO  by arrival (Zheng, Shroff, Sinha 2013, section VII)
//   LRPT  most work left first (the same section; a work-conserving scheduler at its worst)
//   SRPT  least work left first, map and reduce together, precedence obeyed
//
// A job offers its map tasks until the last has run, then its reduce tasks. Kernel: indexed_heap.
// O(g log n) a decision with g grants and n jobs that could run, O(log n) a change.
#pragma once

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/policy/slotted_policy.hpp"

namespace malleable {

class GreedyOrder final : public SlottedPolicy {
 public:
  using Key = double (*)(const SlottedJob&);
  explicit GreedyOrder(Key key) : key_(key) {}

  void arrive(std::span<const SlottedJob> jobs, Index row) override { update(jobs, row); }
  void update(std::span<const SlottedJob> jobs, Index row) override;
  void leave(std::span<const SlottedJob> jobs, Index row, bool cancelled) override;
  void decide(std::span<const SlottedJob> jobs, std::int64_t machines, std::int64_t idle,
              bool fresh, std::vector<SlottedGrant>& grants) override;
  void pass(std::int64_t, double) override {}
  void state(State& s) override { s(order_); }

 private:
  Key key_;
  IndexedHeap order_;
};

}  // namespace malleable
