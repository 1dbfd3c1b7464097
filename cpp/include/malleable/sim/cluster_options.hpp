// Options of a simulated cluster and the table of them: its scheduler's first, then how nodes,
// copying and tasks behave.
#pragma once

#include <cstdint>

#include "malleable/scheduler/scheduler_options.hpp"

namespace malleable {

struct ClusterOptions : SchedulerOptions {
  double heartbeat = 0.0;
  double noise = 0.0;
  double straggler_share = 0.0;
  double straggler_factor = 1.0;
  double failure = 0.0;
  bool lose_output = true;
  bool backups = false;
  double inherent = 0.0;
  // Members that are no named options.
  std::uint64_t seed = 0;
  bool trace = false;  // every start and end of a task

  // Option: name, least, most, unit, policies that read it (empty: all), meaning.
  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    SchedulerOptions::each(self, visit);
    visit(Option{"epoch", 0.0, kNoLimit, "s", "",
                 "seconds from one decision to the next. A slot that becomes free in between gets "
                 "a task at once (with `period` it idles). 0: a decision at every event"},
          self.epoch);
    visit(Option{"heartbeat", 0.0, kNoLimit, "s", "",
                 "a node offers its free slots every so many seconds, at its heartbeats; 0: a node "
                 "offers a free slot at once"},
          self.heartbeat);
    visit(Option{"noise", 0.0, 10.0, "", "",
                 "how much the times of tasks differ: the standard deviation of the logarithm of a "
                 "task's time. The mean time stays the same"},
          self.noise);
    visit(Option{"straggler_share", 0.0, 1.0, "", "",
                 "the part of the tasks that are stragglers: tasks that take `straggler_factor` "
                 "times as long as they should"},
          self.straggler_share);
    visit(Option{"straggler_factor", 0.0, kNoLimit, "", "",
                 "how many times as long a straggler takes"},
          self.straggler_factor);
    visit(Option{"failure", 0.0, 0.99, "", "", "the probability that an attempt at a task fails"},
          self.failure);
    visit(flag("lose_output", "",
               "true: if a node leaves, the output of the maps that finished there is lost. These "
               "maps run again if a reduce task of their job has not started, or has not copied "
               "everything"),
          self.lose_output);
    visit(flag("backups", "",
               "true, with `learn`: if a task will probably run for long, a second attempt at it "
               "(a backup task) starts in a slot that no ready task wants. The first attempt to "
               "end counts"),
          self.backups);
    visit(Option{"inherent", 0.0, 1.0, "", "",
                 "how long a backup task takes. 0: as long as another task of the phase, drawn at "
                 "random. 1: as long as the first attempt. In between: a mixture of both times "
                 "(the geometric mean with these weights)"},
          self.inherent);
  }
};

}  // namespace malleable
