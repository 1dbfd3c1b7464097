// What a simulated cluster does: its scheduler's options, and how tasks behave.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/scheduler/cluster_scheduler.hpp"

namespace malleable {

struct ClusterOptions : SchedulerOptions {
  double heartbeat = 0.0;                // seconds; 0: free slots are offered at once
  std::int64_t tasks_per_heartbeat = 0;  // 0: as many as the node has free slots
  std::int64_t shuffle_steps = 64;  // in which reduce tasks hear of map output; 0: of every map
  double network_epoch = 0.0;       // seconds between changes of transfers' rates; 0: at once
  double noise = 0.0;  // standard deviation of the logarithm of a task's time; its mean stays
  double straggler_share = 0.0;
  double straggler_factor = 1.0;
  double failure = 0.0;       // probability that an attempt fails
  double speedup = 1.0;       // s running tasks of a phase together do s^speedup
  std::vector<double> rates;  // what 1, 2 ... of them do, instead of that; empty: none given
  std::uint64_t seed = 0;
  bool lose_output = true;  // a node that leaves takes the outputs of finished maps along
  bool trace = false;       // every start and end of a task
  bool batches = false;     // the same, those that are alike and follow each other as one row
};

}  // namespace malleable
