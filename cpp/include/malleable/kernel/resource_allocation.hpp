// Separable resource allocation (FLEX, section 3.1): slots fixed for each job's life.
//
//   minimise  sum_j F_j(s_j)  or  max_j F_j(s_j)   over integers  m_j <= s_j <= M_j, sum_j s_j <=
//   S,
//
// with F_j non-increasing. Giving job j its next slot has a price: minus the gain F_j(s) - F_j(s+1)
// for convex sums, minus F_j(s) for every max objective (the current worst is served first). A
// convex penalty of W / r(s) is convex for any concave rate r. Prices of one job never fall, so the
// cheapest units are a solution (kernel unit_selection). Where F = w max(0, W/s - c) the number of
// units below a price has a closed form. O(J) expected, and log(M - m) more for other functions.
// Equal prices go to the lower index.
//
// Sums whose first differences are not monotone go to the multiple-choice knapsack.
//
// Frederickson and Johnson 1982; Galil and Megiddo 1979; Fox 1966; Ibaraki and Katoh 1988.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/multiple_choice_knapsack.hpp"
#include "malleable/kernel/unit_selection.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"
#include "malleable/model/speedups.hpp"

namespace malleable {

struct AllocationResult {
  double value = 0.0;        // objective of the allocation; infinite when a job waits without end
  double lower_bound = 0.0;  // equal to value when exact
  bool exact = true;
};

class ResourceAllocation {
 public:
  // slots[j] for every job; 0 for a job that waits. Where not all jobs can have a slot, those early
  // in `preference` (empty: index order) get theirs first. `effort` limits the states of the
  // knapsack; when it runs out the lower convex envelope rounded to slots comes back with its
  // certified bound. `speedup`, if given, replaces the linear speed-up W/s. Without
  // `with_value` the closed form leaves value and bound at 0.
  AllocationResult run(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       std::span<const Index> preference, std::size_t effort,
                       std::span<double> slots, bool with_value = true,
                       const SpeedupView* speedup = nullptr);

 private:
  struct Task {  // what run() was asked
    const Problem& problem;
    const Penalties& penalties;
    Aggregate aggregate;
    std::span<const Index> preference;
    std::size_t effort;
    std::span<double> slots;
    bool with_value;
    const SpeedupView* speedup;
    bool linear() const { return speedup == nullptr; }
    double duration(std::size_t j, double s) const;
    double cost(std::size_t j, double s) const;  // F_j(s)
  };
  AllocationResult solve(const Task& task);
  bool run_closed(const Task& task);
  bool hinges(const Problem& problem, const Penalties& penalties);
  void set_ranges(const Task& task);
  void set_range(const Task& task, std::size_t j);
  AllocationResult select_worst(const Task& task);
  bool convex(const Task& task, std::size_t j, bool dense) const;
  AllocationResult select_gains(const Task& task);
  template <typename Price, typename Guess>
  AllocationResult select(const Task& task, Price price, Guess guess, double dearest);
  AllocationResult choose_options(const Task& task, bool dense);
  void step_options(const Task& task, std::size_t j, double paid);
  static AllocationResult exact(const Task& task);

  Scratch<double> low_, high_;
  // Closed form: F = scale / s + constant up to `top` slots; `last` is the price of one more.
  Scratch<double> scale_, slope_, top_, last_;
  std::vector<Unit> units_;  // between two prices
  MultipleChoiceKnapsack knapsack_;
};

// How many states the knapsack may visit unless the caller says otherwise.
inline constexpr std::size_t kKnapsackEffort = 4'000'000;

}  // namespace malleable
