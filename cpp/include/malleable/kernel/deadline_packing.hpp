// A schedule that meets deadlines whenever any schedule does: water-filling with integer slots.
//
// Job j has the work W_j, from m_j to M_j slots, and the deadline D_j. It holds its minimum until
// min(W_j/m_j, D_j). Jobs that need more are poured, earliest deadline first, into the lowest part
// of the profile of used slots on [0, D_j], at most M_j - m_j high. The profile never rises with
// time. If the water level falls between two integers, the first part of the filled stretch gets
// the higher one: capacities and maxima are integers, so this costs later jobs nothing, and slots
// stay whole at all times. Filled stretches merge, so pouring is O(1) amortised except for
// stretches that a maximum keeps apart.
//
// A second pass pulls every job forward, in the same order, into free slots: no slot that a job can
// use now stays idle, and no completion gets later. O(J (pieces per job)) typically, O(J^2) at
// worst.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class DeadlinePacking {
 public:
  // Schedules by `due` (from problem.now; infinite: after the others). The deadlines should pass
  // the test of demand_bound.hpp; jobs that do not fit end late. Not for gangs, which run on at
  // least their minimum or not at all. Fills completion (from problem.now) and the plan's start,
  // allocation and pieces. `order` receives the jobs by deadline.
  void run(const Problem& problem, std::span<const double> due, std::span<Index> order,
           std::span<double> completion, Plan& plan);

 private:
  struct Column {  // from `start` to the next column, `used` slots are taken
    double start, used;
  };
  struct Piece {  // of a job
    double start, end, slots;
  };
  // Makes a column begin at this time; returns its index.
  std::size_t split(double time);
  // Joins neighbouring columns with equally many used slots.
  void merge(std::size_t from, std::size_t to);
  // Adds a piece to a job.
  void take(Index job, double start, double end, double slots);
  // Adds `need` slot-seconds before `due`, at most `cap` slots at once, in free slots.
  void pour_work(const Problem& problem, Index job, double due, double cap, double need);
  // Takes the minima of all jobs, before any other work.
  void hold_minima(const Problem& problem, std::span<const double> due,
                   std::span<double> completion);
  void write(const Problem& problem, Plan& plan) const;
  // Gives the job's slots back and lets it take free slots as early as it can.
  void pull_forward(const Problem& problem, Index job, double& completion);

  KeySort sorter_;
  std::vector<Column> columns_;           // used slots over time; the last column never ends
  std::vector<std::vector<Piece>> held_;  // pieces of each job
  std::vector<std::pair<double, double>> drops_;  // ends of minima: time, slots that become free
};

}  // namespace malleable
