// The nodes of the outputs of finished maps, and the ends of copying them.
//
// A reduce task first copies for `shuffle` seconds, if all is there: the k-th finished map of n
// releases one n-th of what each reduce task copies, so that a task that starts at s has copied
// everything at
//     max(s + shuffle, max_k (t_k + (n - k + 1) / n shuffle)),
// t_k being when k maps were done: exact, and one number a job. O(1) a map; for a node that leaves
// O(maps of the present jobs).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

class MapOutputs {
 public:
  // `kept`: the nodes of outputs are remembered, because a node that leaves takes outputs along.
  MapOutputs(const ClusterJobsView& jobs, bool kept) : jobs_(jobs), kept_(kept) {
    rows_.resize(jobs.size());
  }

  bool kept() const { return kept_; }
  double shuffle(Index job) const { return jobs_.shuffle.empty() ? 0.0 : jobs_.shuffle[job]; }
  // The earliest end of copying that finished maps allow.
  double copied(Index job) const { return rows_[job].copied; }
  // Moves that time to `time` if it is earlier.
  void copied_not_before(Index job, double time) {
    rows_[job].copied = std::max(rows_[job].copied, time);
  }
  // A map has ended after `before` others.
  void ended(Index job, std::int64_t before, double now) {
    const auto maps = static_cast<double>(jobs_.tasks[kMap][job]);
    const double tail = (maps - static_cast<double>(before)) / maps * shuffle(job);
    copied_not_before(job, now + tail);
  }
  // How long a reduce task that started at `start` waits for outputs.
  double wait(Index job, double start, double copied) const {
    return std::max(0.0, copied - (start + shuffle(job)));
  }

  // Remembers the node of a map's output.
  void put(Index job, Index task, Index node) {
    auto& output = rows_[job].output;
    if (output.empty()) output.assign(static_cast<std::size_t>(jobs_.tasks[kMap][job]), kNone);
    output[task] = node;
  }
  // The number of outputs that left with their node and were not made again.
  Index gone(Index job) const { return rows_[job].gone; }
  void node_left(Index job, Index node) {
    for (Index& place : rows_[job].output) {
      if (place != node) continue;
      place |= kGone;
      ++rows_[job].gone;
    }
  }
  // Forgets the outputs that left, and calls visit(task, node) for each.
  template <typename Visit>
  void drop_gone(Index job, const Visit& visit) {
    auto& output = rows_[job].output;
    for (Index task = 0; task < output.size(); ++task) {
      if (output[task] == kNone || (output[task] & kGone) == 0) continue;
      visit(task, output[task] & ~kGone);
      output[task] = kNone;
    }
    rows_[job].gone = 0;
  }
  void forget(Index job) { std::vector<Index>().swap(rows_[job].output); }

 private:
  static constexpr Index kGone = Index{1} << 31;  // flag of an output whose node left
  struct Row {
    double copied = -kInfinity;  // when all outputs are copied
    Index gone = 0;              // outputs that left with their node
    std::vector<Index> output;   // by map task: the node that has its output
  };

  ClusterJobsView jobs_;
  bool kept_;  // whether places of outputs are kept
  std::vector<Row> rows_;
};

}  // namespace malleable
