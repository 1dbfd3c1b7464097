// Options of a cluster's policies, and the table of them: the base of a scheduler's options.
#pragma once

#include <cstdint>

#include "malleable/model/domain.hpp"
#include "malleable/model/option.hpp"

namespace malleable {

// What the minimum of a phase means: tasks that it may always run, or tasks that start together.
enum class PhaseMinimum : std::uint8_t { kGuarantee, kStart };
inline constexpr const char* kPhaseMinima[] = {"guarantee", "start"};

// Orders of a queue of rigid jobs (policy/backfill).
enum class QueueOrder : std::uint8_t {
  kArrival,
  kShortest,
  kSmallest,
  kWfp3,
  kUnicef,
  kF1,
  kFactors
};
inline constexpr const char* kQueueOrders[] = {"arrival", "sjf", "area",       "wfp3",
                                               "unicef",  "f1",  "multifactor"};

struct PolicyOptions {
  QueueOrder order = QueueOrder::kArrival;
  double hysteresis = 0.0;
  std::optional<std::uint64_t> effort;
  bool at_least_one = false;
  std::optional<bool> by_user;
  PhaseMinimum min_mode = PhaseMinimum::kGuarantee;
  double pool_minimum = 0.0;
  CommonSpeedup speedup;

  // Option: name, least, most, unit, policies that read it (empty: all), meaning, names of the
  // choices.
  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    visit(Option{"hysteresis", 0.0, kWeightRange.most, "", "auto, flex",
                 "slots move to another job only if the move gains enough: a job counts as (1 + "
                 "hysteresis) times as urgent while it holds more slots than its minimum. 0: slots "
                 "move freely"},
          self.hysteresis);
    visit(Option{"effort", 0.0, 0x1p53, "", "auto, flex, flowflex, flowflex-fast",
                 "how many schedules each decision tries, after a few fixed orders of the jobs. "
                 "none: a decision tries nothing, not even the fixed orders, and takes the "
                 "policy's own order"},
          self.effort);
    visit(flag("at_least_one", "auto, flex, fair, wdeq",
               "true: the minimum of every job is at least one slot"),
          self.at_least_one);
    visit(flag("by_user",
               "auto, flex, fair, fifo, wdeq, flowflex, flowflex-fast, srpt, max-srpt, asrpt, "
               "hesrpt, gittins",
               "true: users share the slots first, then the policy decides for the jobs of each "
               "user. false: the policy decides for all jobs together. none: as true if the "
               "cluster names users, otherwise as false"),
          self.by_user);
    visit(Option{"min_mode", 0.0, 1.0, "", "",
                 "guarantee: each job is guaranteed its minimum. start: if the minimum of a "
                 "job is m, a phase of the job waits until m of its tasks can start together",
                 kPhaseMinima},
          self.min_mode);
    visit(Option{"order", 0.0, 6.0, "", "fcfs, easy, conservative",
                 "which job stands first in the queue of jobs that wait. `arrival`: the oldest. "
                 "`sjf`: the shortest requested time. `area`: the least requested time times "
                 "slots. `wfp3`: the largest (wait / requested time)^3 times slots. `unicef`: the "
                 "largest wait / (requested time times log2 of slots). `f1`: the least n log10(r) "
                 "+ 870 log10(a + 1), with n slots, requested time r, and arrival a seconds after "
                 "the first job. `multifactor`: age, size and the user's fair share count "
                 "equally. Ties go to the older job",
                 kQueueOrders},
          self.order);
    visit(Option{"pool_minimum", 0.0, 1.0, "", "auto, flex, fair, wdeq",
                 "a part of all map slots and of all reduce slots that is guaranteed to the jobs, "
                 "in equal shares"},
          self.pool_minimum);
    visit(Option{"speedup", 0.0, 1.0, "", "asrpt, flex, hesrpt, the simulation",
                 "for tasks that slow each other down: how much the tasks of a phase do together. "
                 "A number p: s tasks do as much as s^p tasks that run alone. A list: how much 1, "
                 "2, 3 ... tasks do. A job's own `speedup` counts instead"},
          self.speedup);
  }
  bool start_together() const { return min_mode == PhaseMinimum::kStart; }
};

}  // namespace malleable
