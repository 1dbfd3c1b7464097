// Options of a simulated cluster and the table of them: its scheduler's first, then how nodes,
// copying and tasks behave.
#pragma once

#include <cstdint>

#include "malleable/scheduler/scheduler_options.hpp"

namespace malleable {

struct ClusterOptions : SchedulerOptions {
  double heartbeat = 0.0;
  std::int64_t tasks_per_heartbeat = 0;
  std::int64_t shuffle_steps = 64;
  double network_epoch = 0.0;
  double noise = 0.0;
  double straggler_share = 0.0;
  double straggler_factor = 1.0;
  double failure = 0.0;
  bool lose_output = true;
  bool backups = false;
  double inherent = 0.0;
  // What is random, and what is kept: not options that people set by name.
  std::uint64_t seed = 0;
  bool trace = false;    // every start and end of a task
  bool batches = false;  // the same, those that are alike and follow each other as one row

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    SchedulerOptions::each(self, visit);
    visit(Option{"epoch", 0.0, kNoLimit, "s", "", "between decisions; 0: at every event"},
          self.epoch);
    visit(Option{"heartbeat", 0.0, kNoLimit, "s", "",
                 "nodes offer their free slots so often; 0: at once"},
          self.heartbeat);
    visit(Option{"tasks_per_heartbeat", 0.0, 0x1p20, "", "",
                 "a node starts at most so many then; 0: as many as it has free slots"},
          self.tasks_per_heartbeat);
    visit(Option{"shuffle_steps", 0.0, 0x1p31, "", "",
                 "so many times reduce tasks hear of map output to fetch; 0: of every map"},
          self.shuffle_steps);
    visit(Option{"network_epoch", 0.0, kNoLimit, "s", "",
                 "between changes of transfers' rates, for large networks; 0: at once"},
          self.network_epoch);
    visit(Option{"noise", 0.0, 10.0, "", "",
                 "standard deviation of the logarithm of a task's time; its mean stays"},
          self.noise);
    visit(Option{"straggler_share", 0.0, 1.0, "", "", "part of the tasks that are stragglers"},
          self.straggler_share);
    visit(Option{"straggler_factor", 0.0, kNoLimit, "", "",
                 "a straggler takes so many times as long"},
          self.straggler_factor);
    visit(Option{"failure", 0.0, 0.99, "", "", "probability that an attempt fails"}, self.failure);
    visit(flag("lose_output", "",
               "finished maps on a node that leaves run again while reduce tasks of their job have "
               "not started or not copied everything"),
          self.lose_output);
    visit(flag("backups", "",
               "with learn: a slot that no ready task wants starts a second attempt beside a task "
               "that will probably run for long; the first to end counts"),
          self.backups);
    visit(Option{"inherent", 0.0, 1.0, "", "",
                 "how much of a task's time its backup task takes over: 0: it takes as long as "
                 "another task of the phase, drawn at random; 1: as long as the task itself; "
                 "between, the geometric mean with these weights"},
          self.inherent);
  }
};

}  // namespace malleable
