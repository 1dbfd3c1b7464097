// Options of a scheduler and the table of them: its policy's first, then its own.
#pragma once

#include <cstdint>
#include <optional>

#include "malleable/model/speedup_curve.hpp"
#include "malleable/policy/policy_options.hpp"

namespace malleable {

// The prior of p, if s running tasks together do s^p (kernel/speedup_posterior).
inline constexpr const char* kProcessors[] = {"own", "unknown", "beyond"};

struct SchedulerOptions : PolicyOptions {
  std::optional<double> slow_start;
  bool take_back = true;
  bool split_copy = false;
  double delay = 0.0;
  std::int64_t replicas = 0;
  bool learn = false;
  double prior = 1.0;
  double ageing = 600.0;
  double period = 0.0;
  SpeedupPrior processors = SpeedupPrior::kUnknown;
  // Used by the simulation only.
  double epoch = 0.5;
  // nodes offer their free slots one by one; false: all free slots are known at once
  bool offered = false;

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    PolicyOptions::each(self, visit);
    visit(Option{"slow_start", 0.0, 1.0, "", "",
                 "reduce tasks of a job may start when this part of its maps has finished. If a "
                 "reduce task starts before the last map has finished, it holds its slot while it "
                 "waits for the maps. none: without `learn`, reduce tasks start when all maps have "
                 "finished. With `learn` a reduce task may start earlier, if the last maps will "
                 "probably finish before it has copied the output of the finished maps"},
          self.slow_start);
    visit(flag("take_back", "",
               "true (the default of simulations): running tasks can be ended. A backup task is "
               "ended if a ready task wants its slot. If one of two attempts at a task has ended, "
               "the other attempt is ended. With `learn`, and without `slow_start`, reduce tasks "
               "may also start in slots that no other task wants. If such a reduce task waits for "
               "maps, and a ready task finds no slot, the ready task gets the slot. false (the "
               "default of `malleable.Scheduler`): every attempt runs to its end"),
          self.take_back);
    visit(flag("split_copy", "",
               "true: copying takes no slot. In a simulation a reduce task then starts when "
               "everything is copied. In a `Scheduler` it starts when you call `ready`. If you do "
               "not give `slow_start`, copying begins when 0.05 of the maps have finished"),
          self.split_copy);
    visit(Option{"delay", 0.0, kLatestTime, "s", "",
                 "with `replicas`: how long a job waits for a slot on a node that has one of its "
                 "blocks. Until then, slots on other nodes go to other jobs"},
          self.delay);
    visit(Option{"replicas", 0.0, 1000.0, "", "",
                 "how many nodes have a copy of the block (the data) that a map task reads. 0: map "
                 "tasks have no blocks, so all nodes are equally good"},
          self.replicas);
    visit(flag("learn", "",
               "true: the scheduler corrects its estimates of task times by the tasks that have "
               "ended, also in earlier runs. The default is true for `malleable.Scheduler` and the "
               "C interface, and for simulations with `auto`, `gittins` or `estimates='learn'`"),
          self.learn);
    visit(
        Option{
            "prior", 0.0, kWorkRange.most, "s", "",
            "how long the scheduler expects a task to take before anything is known of the task"},
        self.prior);
    visit(
        Option{
            "ageing", 0.0, kLatestTime, "s", "",
            "if a job has had ready tasks for so many seconds and none of its tasks ran in this "
            "time, one of its tasks goes before the tasks of all other jobs, and does not wait for "
            "a block. At any time such tasks hold at most one slot in twenty. Over a long time "
            "they get at most one slot-second in a thousand. 0: no job goes first because it has "
            "waited"},
        self.ageing);
    visit(Option{"period", 0.0, kWeightRange.most, "s", "",
                 "above 0: tasks start only at decisions, which are so many seconds apart. If a "
                 "task ends between two decisions, its slot idles until the next decision, and "
                 "this time counts as work of the job. 0: a free slot gets a task at once"},
          self.period);
    visit(Option{"processors", 0.0, 2.0, "", "",
                 "with `learn`: how much the scheduler expects tasks to slow each other down, "
                 "until tasks have shown it. `own`: hardly, because each task has a processor of "
                 "its own. `unknown`: perhaps. `beyond`: probably, because more tasks run than "
                 "there are processors",
                 kProcessors},
          self.processors);
  }
  // The part of a job's maps after which its reduce tasks may start in any case.
  double start_at() const { return slow_start.value_or(split_copy ? 0.05 : 1.0); }
};

}  // namespace malleable
