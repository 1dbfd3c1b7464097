// A lower bound on any sum of penalties from prices for the work done by certain times, and the
// completions that jobs would choose at these prices.
//
// There are S slots; a job has the work W, at least m and at most M slots. A job that ends by C has
// done at least f(t; C) = max(min(W, m t), W - M max(0, C - t)) of its work by t
// (demand_bound.hpp), and all jobs together no more than S t. With any multipliers l_k >= 0 for
// times t_k, therefore,
//   sum_j min_C ( penalty_j(C) + sum_k l_k f_j(t_k; C) )  -  sum_k l_k S t_k
// is a bound. Between a penalty's break points the inner function is concave except for kinks at
// t_k + (W - min(W, m t_k)) / M, so that its minimum is exact over few completions, and prefix sums
// of the multipliers make each of them O(1). Subgradient steps improve the multipliers. The
// completion that a job chooses at the best prices is a due date for a good order.
//
// O(J (rows + T)) a step for J jobs and T times where penalties rise, O(J rows) where they are
// steps; rows are the pieces of a penalty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/on_time_set.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class LagrangianBound {
 public:
  // Numbers of times and steps that cost about as much as a few packings (quick) or as a local
  // search.
  static std::size_t times(std::size_t jobs, bool quick) {
    return quick ? std::clamp<std::size_t>(16'000 / (jobs + 1), 8, 64)
                 : std::clamp<std::size_t>(640'000 / (jobs + 1), 16, 128);
  }
  static std::size_t steps(std::size_t jobs, bool quick) {
    return quick ? 8 : std::clamp<std::size_t>(2'000'000 / (jobs + 1), 20, 400);
  }

  // Prepares for an instance, with at most so many times: quantiles of the break points and of
  // `completion`, some schedule's, from problem.now. `earliest`: for each job the earliest
  // completion conceivable (earliest_completions() in demand_bound.hpp). False if there is nothing
  // to do: custom penalties, or no time at which anything is forced.
  bool begin(const Problem& problem, const Penalties& penalties, std::span<const double> earliest,
             std::span<const double> completion, std::size_t times);

  // More times for the same instance; each price is carried over to the next new time.
  void refine(const Penalties& penalties, std::span<const double> earliest,
              std::span<const double> completion, std::size_t times);

  // Takes `steps` more steps towards `value`, which some schedule reaches. Returns the best bound
  // so far.
  double improve(double value, std::size_t steps);

  // The completions, from problem.now, that the jobs choose at the best prices; infinite where a
  // job gives up. O(options).
  void choices(std::span<double> due);
  // Lists the due times that each job asks for in an on-time set: first the one that saves most
  // penalty for its price, then earlier ones as long as each saves most for its extra price. key:
  // price over saved penalty; below 1 if the job would choose it.
  void list_asks(std::vector<DueAsk>& asks);
  // The average of the latest choices, because prices swing around the best ones and choices swing
  // with them.
  std::span<const double> average() const { return average_; }

 private:
  struct Option {  // a completion that a job may choose
    double completion, penalty;
    std::uint16_t rising, own, before;  // numbers of times: where its forced work changes
  };
  struct Sums {  // of multipliers from a time on; of earlier ones times their times
    double after, moment;
  };
  // At most `most` times at which work is forced; false for custom penalties.
  bool pick_times(const Penalties& penalties, std::span<const double> earliest,
                  std::span<const double> completion, double end, std::size_t most);
  // The last completion that pays the penalty before this row.
  double last_of(const Penalties& penalties, std::size_t row) const;
  std::uint16_t first_from(double t) const;  // number of the first time that is at least t
  void add_option(std::size_t j, double completion, double penalty, std::uint16_t rising);
  // Lists the completions that can be the best choice of the job at any prices.
  void list_options(const Penalties& penalties, std::size_t j, double from);
  double cost_of(std::size_t j, const Option& option) const;
  std::size_t choose(std::size_t j, double& cost) const;  // the cheapest option, and its cost
  void sum_prices(std::span<const double> multiplier);    // fills sums_
  double evaluate();  // the bound at the present multipliers, and its gradient

  const Problem* problem_ = nullptr;
  double constant_ = 0.0;      // penalties of jobs without work
  double rounding_ = 0.0;      // by how much rounding may raise the forced work
  std::vector<double> times_;  // with a multiplier
  std::vector<Option> options_;
  std::vector<std::size_t> offset_;  // job -> its first option
  std::vector<double> low_;  // by job: its minimum; 0 if jobs may also run without it (gangs)
  std::vector<double> multiplier_, best_multiplier_, gradient_, direction_;
  std::vector<double> level_, ramp_;  // differences of the forced work, by time
  std::vector<Sums> sums_;
  std::vector<double> average_;                          // completions chosen
  double evaluations_ = 0.0, best_ = 0.0, share_ = 1.0;  // share_: scales the length of a step
  int stuck_ = 0;                                        // steps since the last better bound
};

}  // namespace malleable
