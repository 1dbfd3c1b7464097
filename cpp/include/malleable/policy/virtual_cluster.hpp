// The virtual SRPT machine of ASRPT (Zheng, Shroff, Sinha 2013, section VI) on a cluster: what
// would be left of the jobs' reduce work if it did not have to wait for map work.
//
// The least work left first, in seconds of all slots of its pool, maps and reduces together, a job
// gets for its maps and its reduces what they can use of the slots that are left: map work those of
// the map pool, reduce work those of the reduce pool, with generic slots both the same ones, maps
// first; never more than there are unfinished tasks, nor than still speed it up. Reduce work runs
// at the rate of those slots at once, whether the maps have finished or not. Ties: earlier arrival.
//
// In the paper every planned map task runs in its slot, so that the machine and the cluster have
// the same map work left. On a cluster nobody is preempted and they would drift apart: a job that
// is done there but not here goes either first, with all that it has left here, or last, behind
// those who are not done there. Therefore the machine has the cluster's map work at every decision,
// and never more reduce tasks left than the cluster.
//
// Nor does the paper know reduce tasks that hold slots while their maps wait for some (slow start).
// Slots that are held so serve nobody else there either. Where all are, no reduce work of others
// can run before one of the holders has done its maps.
//
// O(n) for n jobs present a decision and for each end of a reduce phase, and O(log n) for each job
// that then gets slots.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/cluster_policy.hpp"

namespace malleable {

// What s tasks of a phase do together, in tasks alone: s^p, or what a table says of 1, 2 ... of
// them. A job's own table goes first.
struct JointRate {
  double p = 1.0;
  std::vector<double> table;

  // Slots beyond which a phase does not get faster; its rate on so many slots, at least 1.
  std::int64_t useful(const ClusterState& state, Index job) const;
  double of(const ClusterState& state, Index job, std::int64_t slots) const;
};

class VirtualCluster {
 public:
  void begin(const ClusterState& state, JointRate rate);
  void grow(std::size_t jobs) {
    reduces_.resize(jobs, 0.0);
    is_moved_.resize(jobs, 0);
  }
  // A job that has just come, at state.now.
  void arrive(const ClusterState& state, Index job);
  // To state.now, and from there on with the map work that the cluster has left now.
  void advance(const ClusterState& state);

  // Reduce tasks left there, in parts of tasks.
  double reduces(Index job) const { return reduces_[job]; }
  // Jobs of which that became another number since this was last forgotten.
  std::span<const Index> moved() const { return moved_; }
  void forget_moved() {
    for (const Index job : moved_) is_moved_[job] = 0;
    moved_.clear();
  }
  // Map work that has to be done before a job whose reduce tasks hold no slot can run any, because
  // tasks that wait for their maps hold them all; 0 otherwise.
  double blocked() const { return blocked_; }

  // Not what moved: whoever reads it looks at all.
  void state(State& s) { s(now_, blocked_, slots_, pace_, reduces_, rows_); }

 private:
  struct Row {
    Index job;
    std::int64_t maps, reduces;  // slots that each can use, beyond those held
    std::int64_t held;           // by reduce tasks that wait for maps
    double map_key;              // seconds of all slots
    double reduce_key;           // the same of one task
    double seconds;              // of a reduce task

    void state(State& s) { s(job, maps, reduces, held, map_key, reduce_key, seconds); }
  };

  void set_reduces(Index job, double left) {
    reduces_[job] = left;
    if (!std::exchange(is_moved_[job], 1)) moved_.push_back(job);
  }
  void run(const ClusterState& state, double until);
  std::int64_t serve(const ClusterState& state);
  void add(const ClusterState& state, Index job);

  JointRate rate_;
  double now_ = 0.0, blocked_ = 0.0;
  std::int64_t slots_ = 0;       // for reduce work
  double pace_ = 1.0;            // mean rate of their nodes, whether up or not
  std::vector<double> reduces_;  // by job
  std::vector<Index> moved_;
  std::vector<std::uint8_t> is_moved_;            // by job
  std::vector<Row> rows_;                         // of jobs that can use slots there, by arrival
  std::vector<std::pair<double, Index>> order_;   // heap of rows
  std::vector<std::pair<double, Index>> served_;  // tasks a second, row
};

}  // namespace malleable
