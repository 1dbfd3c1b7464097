// Separable resource allocation (FLEX: Wolf et al. 2010, section 3.1): slots fixed for each job's
// life.
//
//   minimise  sum_j F_j(s_j)  or  max_j F_j(s_j)
//   over integers  m_j <= s_j <= M_j,  sum_j s_j <= S,
//
// with F_j non-increasing: the penalty of job j on s_j of the S slots, with m_j and M_j its least
// and most slots. The next slot of job j has a price: minus the gain F_j(s) - F_j(s+1) for convex
// sums, minus F_j(s) for every max objective (the current worst is served first). A convex penalty
// of W / r(s), the seconds of work W at the rate r(s), is convex for any concave rate r. Prices of
// one job never fall, so the cheapest units (slots with their prices) are a solution (kernel
// unit_selection). If F = w W/s, w being the weight, the number of units below a price has a closed
// form. O(J) expected, and log(M - m) more for other functions. Equal prices go to the lower index.
//
// Sums whose first differences are not monotone make a multiple-choice knapsack. Its linear
// relaxation is solved, and rounded down to whole options: the sum exceeds the least one by less
// than one job can gain. That is enough, because the slots only serve to order jobs, or as shares.
//
// Frederickson and Johnson 1982; Galil and Megiddo 1979; Fox 1966; Ibaraki and Katoh 1988.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/unit_selection.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"
#include "malleable/model/speedups.hpp"

namespace malleable {

class ResourceAllocation {
 public:
  // slots[j] for every job; 0 for a job that waits. If there are fewer slots than jobs, jobs early
  // in `preference` (empty: index order) get theirs first. `speedup`, if given, replaces the linear
  // speed-up W/s.
  void run(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
           std::span<const Index> preference, std::span<double> slots,
           const SpeedupView* speedup = nullptr);

 private:
  struct Task {  // the arguments of run()
    const Problem& problem;
    const Penalties& penalties;
    Aggregate aggregate;
    std::span<const Index> preference;
    std::span<double> slots;
    const SpeedupView* speedup;
    bool linear() const { return speedup == nullptr; }
    double duration(std::size_t j, double s) const;
    double cost(std::size_t j, double s) const;  // F_j(s)
  };
  struct Option {  // so many slots of a job, and its penalty then
    double slots, cost;
  };
  // The common case in closed form: linear penalties and speed-ups; false in other cases.
  bool run_closed(const Task& task);
  // Ranges of slots in which the costs of jobs are finite.
  void set_ranges(const Task& task);
  void set_range(const Task& task, std::size_t j);
  void select_worst(const Task& task);  // serves the worst job first
  bool convex(const Task& task, std::size_t j, bool dense) const;
  void select_gains(const Task& task);  // convex costs: takes the largest gain first
  template <typename Price>
  void select(const Task& task, Price price, double dearest);
  // Other costs: chooses among slot counts at which penalties fall; `dense`: among all counts.
  void choose_options(const Task& task, bool dense);
  // Adds the slots at which the steps of a step function can be met.
  void offer_steps(const Task& task, std::size_t j);
  static double gain(const Option& from, const Option& to);  // of a slot
  // Adds an option, and removes options that a mixture of two others beats.
  void offer(Option option);

  Scratch<double> low_, high_, scale_;
  std::vector<Unit> units_;      // between two prices
  std::vector<Option> options_;  // of a job
};

}  // namespace malleable
