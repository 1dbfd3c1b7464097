// Slots by marginal gains: the job that gains most by more slots gets them, again and again, until
// no slot is left. A gain is the job's value times what the slots add, by slot.
//
// If values do not change over time, an optimal schedule does this (Hamilton-Jacobi-Bellman: the
// value of a job is the cost saved by one unit of work less). Jobs climb from one corner of their
// hull (the least concave speed-ups above the table of measured ones; SpeedupHulls) to the next,
// since a table as measured may gain nothing in between. Slots left over because no step fits go
// where they gain most by the table itself. Rows without a table climb in steps of 1/32 of what
// they have, and may take part of a step. Minima come first; a gang runs on at least its minimum or
// not at all, which is its first step. Ties go to the lower row.
//
// For J jobs and S slots: O(J + entries) to prepare; O(S log J), or with more slots than twice the
// jobs O(J) for each of some 40 halvings of the price of a slot and then few steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/speedups.hpp"

namespace malleable {

class MarginalGains {
 public:
  // Reads limits and tables of the rows that later calls name. The speed-ups must outlive these
  // calls.
  void prepare(const Problem& problem, const SpeedupView& speedup);
  const SpeedupHulls& hulls() const { return hulls_; }

  // Slots of jobs. Job k is the prepared row row[k] (`row` empty: k), with limits no wider than
  // prepared. Jobs without work get none.
  void allocate(const Problem& jobs, std::span<const Index> row, std::span<const double> value,
                std::span<double> slots);
  // Takes away the slots that a job has beyond a corner of its hull, and gives them by gains.
  // `value` empty: all 1.
  void settle(const Problem& jobs, std::span<const Index> row, std::span<const double> value,
              std::span<double> slots);

 private:
  struct Ask {  // the arguments of one call
    const Problem& jobs;
    std::span<const Index> row;
    std::span<const double> value;
    std::span<double> slots;
    Index row_of(std::size_t k) const { return row.empty() ? static_cast<Index>(k) : row[k]; }
    double value_of(std::size_t k) const { return value.empty() ? 1.0 : value[k]; }
  };
  struct Step {
    double gain;   // value times rate, per slot
    double slots;  // slots that the step takes
    Index job;
    bool whole;  // takes all its slots or none
    bool operator<(const Step& other) const {
      return gain != other.gain ? gain < other.gain : job > other.job;
    }
  };
  // The next step of job k; without slots if there is nothing to gain.
  Step next(const Ask& ask, std::size_t k) const;
  // The slots of job k at this price of a slot.
  double at_price(const Ask& ask, std::size_t k, double price) const;
  // Gives what jobs take at the highest price of a slot at which all fits; returns the free rest.
  double start_high(const Ask& ask, double free);
  void climb(const Ask& ask, double free);      // step by step, to the job that gains most
  void give_rest(const Ask& ask, double free);  // single slots, by the tables themselves

  SpeedupView speedup_;
  SpeedupHulls hulls_;
  std::vector<Step> heap_;
  std::vector<Index> blocked_;  // jobs whose next step did not fit
  std::vector<double> high_;    // slots of each job at that highest price
};

}  // namespace malleable
