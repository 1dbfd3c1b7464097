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
// Strict deadlines, of all jobs: as many weights as possible meet them, like the sum of tardy jobs.
//
// Maximum of responses: the least latest start of a last task first. The jobs are due at the least
// level that can be reached if work can be divided (kernel/linear_level) and slots are free as soon
// as running tasks have ended, on average.
//
// Jobs are rows, kept between decisions. O(1) for a job that changed; a decision takes O(n) cheap
// steps and O(m log m) for the first m of n jobs, and what the level costs.
#pragma once

#include <span>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

class ClusterUrgency {
 public:
  struct Row {
    Index job = kNone, rank = 0;
    std::int64_t low = 0, most = 0;  // slots: its minimum, and as many as it could use
    Kind kind = Kind::kResponse;
    bool waits = false;   // it has tasks that may start
    double left = 0.0;    // [slot-seconds] of its tasks, also running ones
    double work = 0.0;    // [s] of its waiting tasks on all slots
    double tail = 0.0;    // [s] from the start of its last task to the end of the job
    double smith = 0.0;   // the logarithm of its work over what a delay costs
    double latest = 0.0;  // a delay costs something after this start of the last task,
    double reach = 0.0;   // and nothing any more after this one
    // Its place among the first at the last decision; 0: behind them; below 0: changed since.
    double turn = -1.0;

    void state(State& s) {
      s(job, rank, low, most, kind, waits, left, work, tail, smith, latest, reach, turn);
    }
  };

  // Whether it can compare penalties of this kind, in sums: steps, bends and lines; or in maxima.
  // It compares strict deadlines only if all jobs have one.
  static bool knows(bool sums, Kind kind) {
    return sums ? !info(kind).endless : kind == Kind::kResponse;
  }

  // Sets a job's row, kNone: a new one; returns the row. `usual`: the kind of penalty of jobs that
  // have none of their own.
  Index set(Index row, const ClusterState& state, int pool, Index job, std::int64_t low,
            Kind usual);
  // Removes a row, unless it is kNone; returns the job whose row is this one now, or kNone.
  Index erase(Index row);
  // All jobs have changed.
  void unsettle() {
    for (Row& row : rows_) row.turn = -1.0;
  }

  // Chooses the `most` most urgent jobs. Returns the slots that are taken before: minima, and all
  // slots of jobs without waiting tasks.
  std::int64_t decide(const ClusterState& state, int pool, Aggregate aggregate, std::int64_t most);
  // The chosen jobs in order; and the others that changed, or were among the first.
  template <typename Visit>
  void each_first(Visit visit) const {
    for (const Turn& turn : turns_) visit(rows_[turn.row]);
  }
  template <typename Visit>
  void each_other(Visit visit) const {
    for (const Index row : others_) {
      if (rows_[row].turn == 0.0) visit(rows_[row]);
    }
  }

  void state(State& s) { s(rows_); }

 private:
  struct Turn {
    double key, smith;
    Index rank, row;

    bool operator<(const Turn& other) const {
      if (key != other.key) return key < other.key;
      return smith != other.smith ? smith < other.smith : rank < other.rank;
    }
  };

  // Sets the work and the tail of a job's waiting tasks.
  static void count_tasks(const ClusterState& state, int pool, Row& row);
  // Set the keys; of a job in a sum of steps.
  void place(const ClusterState& state);
  static double place_by_steps(const ClusterState& state, double patience, const Row& row);
  void place_by_level(const ClusterState& state, int pool);
  // The key below which the `first` least ones lie, and few others: by a sample.
  double limit(std::size_t first);

  std::vector<Row> rows_;
  // Workspace: by row; of a decision.
  std::vector<double> key_, sample_;
  std::vector<Turn> turns_;
  std::vector<Index> others_;
  std::int64_t waiting_ = 0;
  double work_sum_ = 0.0, left_sum_ = 0.0;
  std::vector<double> work_, low_, most_, since_, weight_;
};

}  // namespace malleable
