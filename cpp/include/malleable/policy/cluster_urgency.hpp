// Which job on a cluster starts its waiting tasks first if delays cost at deadlines.
//
// Apparent cost (Vepsalainen and Morton 1987) by whole tasks. Tasks are not interrupted, so a job
// loses something at a deadline if its last task starts after deadline - seconds of a task (reduces
// that come after maps need their time, too). A job goes by the work of its waiting tasks over what
// it loses soon: a loss counts exp(-slack / patience) as much, the patience being twice the mean
// time of a job on all slots. Steps that cannot be reached any more do not count; jobs that have
// nothing else to lose come last, by Smith's ratio (work over weight). O(n + m log m) for
// the first m of n jobs.
#pragma once

#include <span>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class ClusterUrgency {
 public:
  struct Waiting {
    Index job, rank;
    std::int64_t low, most;  // slots: its minimum, and as many as it could use
    double work;             // [s] of its waiting tasks on all slots
    double tail;             // [s] from the start of its last task to the end of the job
    bool lost;               // it has nothing to lose any more
    double key;

    bool operator<(const Waiting& other) const {
      if (lost != other.lost) return other.lost;
      return key != other.key ? key < other.key : rank < other.rank;
    }
  };

  // Whether it can compare penalties of this kind: steps, bends and lines.
  static bool knows(Kind kind) { return !info(kind).endless; }
  void clear() { waiting_.clear(); }
  // Adds a job that has waiting tasks in the pool.
  void add(const ClusterState& state, int pool, Index job, std::int64_t low, std::int64_t most);
  // All added jobs: first the `first` most urgent ones in order, then the others. `usual`: the kind
  // of penalty of jobs that have none of their own.
  std::span<const Waiting> sort(const ClusterState& state, Kind usual, std::size_t first);

 private:
  // Sets its place in the order.
  static void place(const ClusterState& state, Kind usual, double patience, Waiting& row);

  std::vector<Waiting> waiting_;
};

}  // namespace malleable
