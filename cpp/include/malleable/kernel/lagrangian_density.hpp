// A lower bound on sums of penalties that rise with time, such as tardiness, from a price of slots
// that has a density; and the completions that jobs would choose at these prices.
//
// S is the number of slots; W, m and M are the work and the least and most slots of a job; C is its
// completion. By t no more than S t can be done. This limit has a price (a Lagrangian multiplier);
// the prices are a density l(t), constant on cells of [0, T], where T is the end of all work on all
// slots:
//   sum_j min_C ( penalty_j(C) + int_0^T l f_j(t; C) dt )  -  S int_0^T l t dt
// is a bound for any l >= 0; f_j, the forced work, is what job j must have done by t so that it
// ends by C (demand_bound.hpp). The error is of second order in the width of the cells, that of
// multipliers at single times of first order. With A(t) = int_0^t l and u(C) = (M C - W) / (M - m),
// the time until which the minimum suffices, the integral falls at the rate M (A(C) - A(u)) in C,
// which is linear between borders of cells met by C or u: one merge of both finds the minimum of a
// job exactly. It ends as soon as the penalty alone exceeds the best cost.
//
// Subgradient steps improve the density, from few cells to many. Prices do not depend on scale, so
// most steps look at a sample: jobs by due date, each drawn with the mean of its share of the
// number and its share of the work. A bound needs all jobs once. O(sample cells) a step at worst.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class LagrangianDensity {
 public:
  static constexpr std::size_t kFewest = 32;  // cells

  // Prepares for an instance that has no custom penalties; all must outlive the calls below.
  // `completion`: some schedule's, from problem.now; `earliest`: for each job the earliest
  // completion conceivable (earliest_completions() in demand_bound.hpp). Steps and bounds over many
  // jobs ask now and then whether to stop; if so, they change and return nothing.
  void begin(const Problem& problem, const Penalties& penalties, std::span<const double> earliest,
             std::span<const double> completion, const std::function<bool()>& stop);
  // Later steps look at about `jobs` jobs, or at all.
  void sample(std::size_t jobs);
  // Halves the cells until there are `cells` (a power of two times kFewest).
  void refine(std::size_t cells);
  // One step towards `value`, which some schedule reaches.
  void step(double value);

  // The bound of all jobs at the best prices (-infinity if it was stopped), and in `due` the
  // completions that they choose (infinite: the job gives up). `parts` > 1: at prices interpolated
  // over so many parts of each cell.
  double bound(std::size_t parts, std::span<double> due);
  // The average of the completions that jobs chose in the last steps, if these looked at all jobs;
  // otherwise empty.
  std::span<const double> average() const;

 private:
  struct Choice {
    double completion, cost;
  };
  struct Sums {
    double price, moment;  // int l and int l t until a border
  };
  struct Job {
    double work, low, high, last;  // `last`: completion with the minimum alone
    double least;                  // the price of ending at `last`
  };
  std::size_t cell(double t) const;  // that has this time
  Sums sums(double t) const;
  // The price of the work that a completion forces: int l f(t; C) dt.
  double forced_price(const Job& job, double completion) const;
  Job job_at(std::size_t j) const;
  Choice choose(std::size_t j) const;  // the cheapest completion, by penalty and forced work
  // `row`: the line of the job's penalty that holds between `from` and `to`.
  void scan(const Job& job, std::size_t row, double from, double to, Choice& best) const;
  // Adds the forced work of `count` such jobs to the cells.
  void add_forced(std::size_t j, double completion, double count);
  // From `at` on, the forced work by t is larger by level + ramp t.
  void change(double at, double level, double ramp);
  void sum_prices();
  double capacity_price() const;  // the price of all the work that slots could do: S int l t dt
  double evaluate();              // the bound of the sample at the present prices
  double last_of(std::size_t row) const;  // the last completion that pays the row before
  bool stops(std::size_t jobs) const;     // asks `stop` each time so many jobs were looked at

  const std::function<bool()>* stop_ = nullptr;
  const Problem* problem_ = nullptr;
  const Penalties* penalties_ = nullptr;
  std::span<const double> earliest_;
  // Cost of jobs without work; what rounding may add to forced work; end of all work.
  double constant_ = 0.0, rounding_ = 0.0, end_ = 0.0;
  // Borders of the finest cells, and of the present ones; by cell: price, best price, mean excess
  // of forced work over the slots, direction of the next step.
  std::vector<double> finest_, border_, density_, best_density_, gradient_, direction_;
  // By cell: changes of forced work within the cell, as an integral over it; changes of level and
  // ramp (see change()) from the cell on.
  std::vector<double> part_, level_, ramp_;
  std::vector<double> measure_;  // by job: the time by which begin() sorts jobs
  std::vector<double> average_;  // by job: mean of the completions chosen
  std::vector<Sums> sums_;
  std::vector<Index> jobs_, by_due_;  // of the sample
  std::vector<double> count_;         // jobs for which each of them stands
  double evaluations_ = 0.0, best_ = -kInfinity, share_ = 0.5;  // share_: scales a step's length
  int stuck_ = 0;                                               // steps since the last better bound
  KeySort sorter_;
};

}  // namespace malleable
