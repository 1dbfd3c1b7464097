// Options of a scheduler and the table of them: its policy's first, then its own.
#pragma once

#include <cstdint>

#include "malleable/model/speedup_curve.hpp"
#include "malleable/policy/policy_options.hpp"

namespace malleable {

// Which of the jobs with targets a free slot goes to: the one with the least running / target, with
// the most slots below its target, or, before those that have theirs, with the largest deficit:
// target less running added up over time (FLEX, sections 1 and 4.2).
enum class Assignment : std::uint8_t { kRatio, kDifference, kDeficit };
inline constexpr const char* kAssignments[] = {"ratio", "difference", "deficit"};

// How sure p is before anything has run (kernel/speedup_likelihood).
inline constexpr const char* kProcessors[] = {"own", "unknown", "beyond"};

// From when on reduces may start where copying takes no slot and nobody says it.
inline constexpr double kSplitSlowStart = 0.05;

struct SchedulerOptions : PolicyOptions {
  double slow_start = 1.0;
  bool early_reduces = true;
  bool take_back = true;
  bool split_copy = false;
  double delay = 0.0;
  double rack_delay = 0.0;
  std::int64_t replicas = 0;
  bool learn = false;
  double prior = 1.0;
  double ageing = 600.0;
  double period = 0.0;
  Assignment assignment = Assignment::kRatio;
  bool in_order = false;
  SpeedupPrior processors = SpeedupPrior::kUnknown;
  // Of the simulation, which drives a scheduler.
  double epoch = 0.5;
  bool offered = false;  // nodes offer their free slots themselves; else all are known at once

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    PolicyOptions::each(self, visit);
    visit(Option{"slow_start",
                 0.0,
                 1.0,
                 "",
                 "",
                 "part of the maps that has finished when reduces may start; a reduce task that "
                 "starts earlier holds its slot until the last map has ended",
                 {},
                 0.05},
          self.slow_start);
    visit(flag("early_reduces", "",
               "with learn, and slow_start 1: reduces may also start when all maps will probably "
               "have ended by the time they have copied what there is"),
          self.early_reduces);
    visit(
        flag(
            "take_back", "",
            "tasks can be ended: with early_reduces, reduces may also start in slots that nothing "
            "else wants, and a reduce task that waits for maps gives its slot to a task that finds "
            "none; a backup task ends as soon as a ready task wants its slot or the other attempt "
            "has ended; false: every attempt runs to its end, a scheduler's unless it is given"),
        self.take_back);
    visit(flag("split_copy", "",
               "copying takes no slot: reduces start when told so (simulation: when everything is "
               "copied), and slow_start is 0.05 unless it is given"),
          self.split_copy);
    visit(Option{"delay", 0.0, kLatestTime, "s", "",
                 "a job waits so long for a slot beside a block of its own"},
          self.delay);
    visit(Option{"rack_delay", 0.0, kLatestTime, "s", "",
                 "and then for one in a rack with a block of its own"},
          self.rack_delay);
    visit(Option{"replicas", 0.0, 1000.0, "", "", "copies of each block; 0: tasks have no place"},
          self.replicas);
    visit(flag("learn", "",
               "estimates follow the tasks, here and in earlier runs; a scheduler's is true, a "
               "simulation's follows the policy unless it is given"),
          self.learn);
    visit(Option{"prior", 0.0, kWorkRange.most, "s", "",
                 "a task takes so long before anything is known of it"},
          self.prior);
    visit(
        Option{"ageing",
               0.0,
               kLatestTime,
               "s",
               "",
               "a job whose ready tasks have waited so long without one that runs goes first, "
               "with one task, and does not wait for a block; such jobs hold one slot in twenty at "
               "most, in the long run one slot-second in a thousand; 0: never",
               {},
               0.0},
        self.ageing);
    visit(Option{"period", 0.0, kWeightRange.most, "s", "",
                 "tasks start at decisions only, which come so often, so that a slot whose task "
                 "ends in between idles: tasks count as whole periods; 0: a free slot is used at "
                 "once"},
          self.period);
    visit(Option{"assignment", 0.0, 2.0, "", "auto, flex, fair, wdeq, flowflex, hesrpt",
                 "which job below its target gets a free slot: with the least running / target, "
                 "with the largest target - running, or with the most slot-seconds below its "
                 "targets so far",
                 kAssignments},
          self.assignment);
    visit(flag("in_order", "flex",
               "targets are filled in the policy's order, the first job's wholly before the next "
               "one's, instead of evenly"),
          self.in_order);
    visit(
        Option{"processors", 0.0, 2.0, "", "",
               "with learn: before tasks have shown it, whether they slow each other down: hardly, "
               "as each has a processor of its own; not known; probably, as more run than there "
               "are processors",
               kProcessors},
        self.processors);
  }
  // After some options were given by their names.
  void settle(bool slow_start_given) {
    if (split_copy && !slow_start_given) slow_start = kSplitSlowStart;
  }
};

}  // namespace malleable
