// Slots that are held for a period, for objectives with deadlines: maxima, and sums of tardiness
// and of tardy jobs.
//
// A level of penalties is a deadline for every job, and a deadline says how many slots the job must
// hold in this period (kernel/periodic_demand.hpp). A slot-period is one slot for one period. So a
// maximum uses the least level, not below 0, whose deadlines can all be met in whole slot-periods.
// Every job gets the slots that it must hold. Then, by deadline, jobs get the slots that they can
// use fully, or more if the deadline lies within the period. Slots left over end jobs sooner
// (slot_periods). A sum of tardiness uses the same deadlines if all can be met. For tardy weight
// the deadlines are tested from the first period on. If a test fails, the job with the least weight
// per slot-period is given up; such jobs come last.
//
// Lateness below 0 is not reduced further, because that wastes slots on jobs that have time. Minima
// are handed out first. O(J) a test of the deadlines of J jobs, some twenty tests for a least
// level; giving up O(J log J); slots O(J) expected. Not from a paper.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/periodic_demand.hpp"
#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/slot_periods.hpp"

namespace malleable {

class PeriodLevels {
 public:
  // Each finds the deadlines of this decision: those of the least level; those of penalty 0, if all
  // can be met; those of jobs that are not given up. False: there are none.
  bool least(const Problem& problem, const Penalties& penalties, double period);
  bool meet_all(const Problem& problem, const Penalties& penalties, double period);
  void give_up(const Problem& problem, const Penalties& penalties, double period,
               std::span<const double> weight);

  // slots[j] for every job, by the deadlines found last.
  void share(const PeriodicJobs& jobs, std::span<double> slots);
  // Keys of the order: small is urgent.
  std::span<const double> key() const { return key_; }

 private:
  // Whether all jobs may meet the deadlines of a level.
  bool passes(const Problem& problem, const Penalties& penalties, double period, double level);
  void set_keys();  // by deadline; jobs that were given up come last
  bool late(std::size_t j) const { return given_up_[j] != 0; }

  PeriodicDemandTest test_;
  // Deadlines of the level; keys of the order; behind_: slot-periods of a job's work over its
  // weight.
  std::vector<double> due_, key_, room_, behind_;  // room_: slots that a job can still use
  std::vector<std::uint8_t> given_up_;             // jobs whose deadlines are not kept
  PrioritySelection selection_;
  LeftOverSlots left_over_;
};

}  // namespace malleable
