// Tasks below linear speed-up: the running tasks of a phase share a clock whose speed depends on
// how many they are, and end by it.
//
// With s tasks running, each goes on at f(s) / s of its full speed, if all s together are f(s)
// times as fast as one alone. Phase p of a job has the number 2 * job + p; a group is tasks of one
// phase that start and end together. O(log groups) for a group that starts or ends; O(log phases)
// for each phase whose count changed at an instant.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/policy/cluster_policy.hpp"
#include "malleable/sim/cluster_options.hpp"

namespace malleable {

class PhaseClocks {
 public:
  // There are no clocks if every speed-up is linear.
  PhaseClocks(const ClusterView& cluster, const ClusterJobsView& jobs,
              const ClusterOptions& options);

  bool used() const { return !clocks_.empty(); }
  // Brings a phase's own time up to now; its speed is set when the instant is over.
  void touch(Index phase, double now);
  double own_time(Index phase) const { return clocks_[phase].at; }
  // A group of tasks ends after `seconds` at full speed; returns its end in the phase's own time.
  double schedule(Index group, Index phase, double seconds, double now);
  // Changes the number of backup tasks that run beside the tasks of the phase.
  void beside(Index phase, std::int64_t more, double now) {
    touch(phase, now);
    clocks_[phase].beside += more;
  }
  // Sets the speeds, when all counts of this instant are known.
  void settle(const ClusterState& state);
  double next_end() const { return ends_.empty() ? kInfinity : ends_.top_key(); }
  // Ends the groups of the first phase that has an end at next_end(); `finish` may call schedule().
  template <typename Finish>
  void end_next(double now, const Finish& finish) {
    const Index phase = ends_.top();
    ends_.erase(phase);
    touch(phase, now);
    Clock& clock = clocks_[phase];
    clock.at = std::max(clock.at, clock.ends.front().first);
    while (!clock.ends.empty() && clock.ends.front().first <= clock.at) finish(pop(clock));
  }

 private:
  struct Clock {
    double at = 0.0, time = 0.0, speed = 1.0;    // own time at `time`, and its speed since
    std::vector<std::pair<double, Index>> ends;  // heap: (end in own time, group)
    std::int64_t beside = 0;                     // backup tasks
    bool touched = false;
  };
  static Index pop(Clock& clock);
  // The speed of each of so many running tasks; 1: as if it ran alone.
  double pace(Index phase, std::int64_t running) const;

  ClusterJobsView jobs_;
  std::vector<Clock> clocks_;
  std::vector<Index> touched_;  // phases whose speed may have changed
  IndexedHeap ends_;            // by phase: when its clock has its next end
  Index order_ = 0;             // breaks ties of phases that end together
  std::vector<double> pace_;    // of each of so many running tasks of a phase
};

}  // namespace malleable
