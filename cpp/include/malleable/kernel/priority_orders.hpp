// Priority orders to pack by, built from the penalties' slopes, jumps and inverses rather than from
// a metric's name (FLEX: Wolf et al. 2010, section 3.1, "metric-specific schemes", which leaves
// them out).
//
// Each is a key per job, sorted; O(J log J). W is the remaining work, M the most slots of the job,
// S the number of all slots, p = W/S the time of the work on all slots, e the earliest completion,
// D the last time at which the penalty is still at its least (infinite if it never rises), r the
// rate at which it rises.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/on_time_set.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"

namespace malleable {

enum class OrderRule : std::uint8_t {
  kSmith,         // W / r: shortest work where all r are equal (Smith 1956)
  kShortestPath,  // (W / M) / r
  kDueDate,       // D: earliest due date (Jackson 1955)
  kModifiedDue,   // max(D, p) / r: weighted modified due date
  kApparentCost,  // W / r, postponed while D - W / M is ahead: apparent tardiness cost (Vepsalainen
                  // and Morton 1987); r as soon as D has passed
  kOnTimeSet,     // Moore and Hodgson 1968 with weights, several steps and the others' minima: drop
                  // what costs least per work freed; maxima are not looked at
  kFittingSet,    // jobs that can all be on time by the exact test (on_time_set.hpp), those first
                  // whose step costs most for their work; served by latest start
  kSpareSet,      // the same, but for spare_slots(): slots are whole, and a set that needs all of
                  // them at many times is rarely packed without a miss
  kLeastSlack,    // D - e
};

// The part of the slots that is best left out of an on-time set of so many jobs, because packing
// never fills all slots: 1 % for 1,000 jobs, 0.3 % for 10,000 (measured on due_table and due_steps
// of benchmarks/instances).
inline double spare_slots(std::size_t jobs) {
  return std::min(0.01, 0.3 / std::sqrt(static_cast<double>(jobs)));
}

// Rounds keys that are logarithms, so that rounding does not separate equal keys.
inline double rounded_key(double key) { return std::floor(key * 0x1p24 + 0.5) * 0x1p-24; }

class PriorityOrders {
 public:
  // Fills `order`; ties by index. `earliest`: the result of earliest_completions()
  // (demand_bound.hpp). This form is for decisions: its on-time sets look at few times.
  void make(OrderRule rule, const Problem& problem, const Penalties& penalties,
            std::span<const double> earliest, std::span<Index> order);

  // For several rules on one instance: study() once, then apply() for each rule. Its on-time sets
  // look at more times than those of make().
  void study(const Problem& problem, const Penalties& penalties, std::span<const double> earliest);
  void apply(OrderRule rule, const Problem& problem, const Penalties& penalties,
             std::span<const double> earliest, std::span<Index> order);

  // D of every job, from problem.now, as study() has found it. Completions within the tolerance of
  // the deadline count, so that schedules aim at its middle.
  std::span<const double> due() const { return due_; }
  // The due times in the on-time set that was made last: infinite for jobs that will be late.
  std::span<const double> target() const { return target_; }

  // An on-time set (jobs that can all end by their due times) that jobs join by the keys of their
  // asks, least first. A job may ask again with an earlier due time. If there is no room, the job
  // takes a later step of its penalty, at once or when all jobs have asked, and in the end an
  // earlier one that has become free. Call study() first. `spare`: this part of the slots stays out
  // of the set. When late() says true, the set is left unchanged.
  void set_by(const Problem& problem, const Penalties& penalties, std::span<const DueAsk> asks,
              double spare, bool at_once, std::span<Index> order,
              const std::function<bool()>& late = {});

  // The order of the set that was made last with its members by end rather than by latest start.
  void set_by_end(const Problem& problem, std::span<Index> order);

  // Orders by the given due times (from problem.now), ties by longest path first.
  void by_due(const Problem& problem, std::span<const double> due, std::span<Index> order);

  // Orders by the completions that slots fixed for life give; jobs without slots last, in the order
  // `waiting`. The completions (from problem.now) replace the slots.
  void by_moldable(const Problem& problem, std::span<double> slots, std::span<const Index> waiting,
                   std::span<Index> order);

  // Rate at which the penalty rises, for Smith's ratio: the slope where there is only one,
  // otherwise the mean slope between the earliest completion and the end of all work.
  static double rate(const Problem& problem, const Penalties& penalties, std::size_t j,
                     double earliest, double end);

  KeySort& sorter() { return sorter_; }

 private:
  // The key of a rule, before it is divided by the rate at which the job's penalty grows.
  double key_of(OrderRule rule, const Problem& problem, std::size_t j, double earliest) const;
  // The logarithm of Smith's ratio by the rate at which the job loses soon, plus the time it can
  // wait.
  double apparent_cost(const Problem& problem, const Penalties& penalties, std::size_t j,
                       double earliest, double patience, double& rate) const;
  // The cost of giving up a target (the end of a step of the penalty).
  static double loss_of_step(const Problem& problem, const Penalties& penalties, std::size_t j,
                             double due, double end);
  void begin_on_time_set(const Problem& problem);  // no job is chosen yet
  Index take_target(std::size_t& next);            // the next job by target
  // Moves a job's target to `from` if there is room; with `later`, else to the first step after it
  // that has room and is before the present target.
  void move_target(const Problem& problem, const Penalties& penalties, Index j, double from,
                   bool later);
  // Tries the asks (jobs with due times) in turn, then later steps of jobs that asked.
  void fill_set(const Problem& problem, const Penalties& penalties, std::span<const DueAsk> asks,
                bool at_once, const std::function<bool()>& late);
  // The end of the step after `due`; infinite if there is none.
  double next_due(const Problem& problem, const Penalties& penalties, std::size_t j,
                  double due) const;
  // Orders by a set of jobs that keep their targets: built by time, giving up the cheapest steps;
  // or joined one by one, by the cost of the next step over work.
  void on_time_set(const Problem& problem, const Penalties& penalties, std::span<Index> order);
  void fitting_set(const Problem& problem, const Penalties& penalties, double spare,
                   std::span<Index> order);
  // Orders the set by `key`, the rest by Smith's ratio.
  void serve(const Problem& problem, std::span<const double> key, std::span<Index> order);

  struct Entry {
    double key;
    Index job;
    bool operator<(const Entry& other) const {  // heaps serve the largest: least key, lowest index
      return key != other.key ? key > other.key : job > other.job;
    }
  };

  KeySort sorter_;
  OnTimeSet set_;
  double end_ = 0.0;             // end of all work on all slots
  std::size_t set_times_ = 128;  // number of times that a fitting set looks at
  std::vector<Entry> by_target_, by_loss_;
  std::vector<DueAsk> asks_;
  Scratch<double> rate_, due_, key_, target_, loss_, alone_, low_;
  std::vector<std::uint8_t> more_;     // chosen, and needs more than its minimum
  std::vector<Index> first_, second_;  // jobs by first target, and by end on their minima
};

}  // namespace malleable
