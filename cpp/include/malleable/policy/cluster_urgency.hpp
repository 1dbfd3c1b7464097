// Which job on a cluster starts its waiting tasks first if delays cost at deadlines, or if the
// largest response counts.
//
// Sums: apparent cost (Vepsalainen and Morton 1987) by whole tasks. Tasks are not interrupted, so a
// job loses something at a deadline if its last task starts after deadline - seconds of a task
// (reduces that come after maps need their time, too). A job goes by the work of its waiting tasks
// over what it loses soon: a loss counts exp(-slack / patience) as much, the patience being twice
// the mean time of a job on all slots. Steps that cannot be reached any more do not count; jobs
// that have nothing else to lose come last, by Smith's ratio (work over weight).
//
// Maximum of responses: the least latest start of a last task first. The jobs are due at the least
// level that can be reached if work can be divided (kernel/linear_level) and slots are free as soon
// as running tasks have ended, on average.
//
// O(n + m log m) for the first m of n jobs, and what the level costs.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/linear_level.hpp"
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

  // Whether it can compare penalties of this kind. In sums: steps, bends and lines.
  static bool knows_in_sum(Kind kind) { return !info(kind).endless; }
  static bool knows_in_maximum(Kind kind) { return kind == Kind::kResponse; }
  void clear() {
    waiting_.clear();
    all_work_ = 0.0;
  }
  // Counts slot-seconds that a job has left in the pool.
  void count(double work) { all_work_ += work; }
  // Adds a job that has waiting tasks in the pool.
  void add(const ClusterState& state, int pool, Index job, std::int64_t low, std::int64_t most);
  // All added jobs: first the `first` most urgent ones in order, then the others. `usual`: the kind
  // of penalty of jobs that have none of their own.
  std::span<const Waiting> sort(const ClusterState& state, int pool, Aggregate aggregate,
                                Kind usual, std::size_t first);

 private:
  // Set the places in the order; of a job in a sum.
  static void place(const ClusterState& state, Kind usual, double patience, Waiting& row);
  void place_by_level(const ClusterState& state, int pool);

  std::vector<Waiting> waiting_;
  double all_work_ = 0.0;
  std::vector<double> work_, low_, most_, since_, weight_;
};

}  // namespace malleable
