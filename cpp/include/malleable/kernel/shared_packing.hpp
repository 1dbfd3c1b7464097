// A schedule by shares, for jobs whose speed-up is below linear (malleable_packing is for linear
// jobs).
//
// At every completion the unfinished jobs share the slots again, and run at the rates of their
// slots (model/speedups.hpp). Shares are
//   fixed      in proportion to a number for each job (FAIR: equal; WDEQ: by weight; or slots fixed
//              for life), or
//   by order   of m jobs the i-th from the end gets (i / m)^q - ((i - 1) / m)^q, i counted by
//              weight where there are weights: heSRPT's parts with q = 1 / (1 - p) for rates of
//              s^p on s slots (Berg, Vesilo, Harchol-Balter 2020). q = 1 is FAIR; q infinite: the
//              first one takes all it can use.
// between minima and maxima, in whole slots by water_filling, or
//   by gains   each slot where value times what it adds is largest (marginal_gains).
// If a table of speed-ups is not concave, its job's share ends at a corner of its hull, the least
// concave speed-ups above it (marginal_gains settles this). O(J) a completion for J jobs, plus the
// cost of marginal_gains.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/marginal_gains.hpp"
#include "malleable/kernel/water_filling.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/speedups.hpp"

namespace malleable {

// Minima, then all that is left down the order: each job up to its maximum; a gang gets at least
// its minimum or nothing. Jobs without work get nothing.
void share_in_order(const Problem& problem, std::span<const Index> order, std::span<double> slots);

class SharedPacking {
 public:
  struct Rule {
    // by job; empty: equal. With an order: a factor of each share
    std::span<const double> share = {};
    std::span<const Index> order = {};    // empty: shares are fixed
    double power = kInfinity;             // q, from 1 on
    std::span<const double> weight = {};  // by job, for the order; empty: equal
    std::span<const double> value = {};   // by job: by gains; in place of shares
    // prepared for the problem; needed for `value` and for tables that are not concave
    MarginalGains* gains = nullptr;
  };

  // Slots now. Jobs without work get none.
  void allocate(const Problem& problem, const Rule& rule, std::span<double> slots);

  // The whole schedule. Completions count from problem.now; infinite: a gang (which runs on at
  // least its minimum, or not at all) that never fits. With `plan`, its start, allocation and
  // pieces are filled too.
  void run(const Problem& problem, const SpeedupView& speedup, const Rule& rule,
           std::span<double> completion, Plan* plan = nullptr);

 private:
  struct Run {  // the arguments of run()
    const Problem& problem;
    const SpeedupView& speedup;
    std::span<double> completion;
    Plan* plan;
  };
  void load(const Problem& problem, const Rule& rule);
  // The job holds `slots` from `time` on.
  void set_slots(const Run& run, Index job, double time, double slots);
  // Sets slots and rates; returns the time until the first job ends.
  double share_out(const Run& run, double time);
  // Lets `span` pass, until `time`.
  void work_off(const Run& run, double span, double time);
  void share_by_order();
  void split_by_shares(std::span<double> slots);
  // The slots of the jobs that are left.
  void split(std::span<double> slots);
  void compact();  // removes ended jobs from the columns

  Problem left_;              // unfinished jobs, and perhaps some that have ended
  std::vector<Index> row_;    // row of left_ -> job
  std::vector<Index> order_;  // order of the rows of left_, if the rule has one
  std::vector<double> factor_, weight_, value_, share_;  // by row of left_
  MarginalGains* gains_ = nullptr;
  double power_ = kInfinity;
  std::size_t ended_ = 0;  // among left_
  // sum of the shares by order when they were last computed; computed again once little is left
  double leading_ = 0.0;
  // By job that is left: slots, next slots, speed; by job: slots held, since when.
  std::vector<double> slots_, next_, rate_, since_, held_;
  std::vector<Index> place_;  // rows of left_ that stay when ended jobs are removed
  WaterFilling water_filling_;
};

}  // namespace malleable
