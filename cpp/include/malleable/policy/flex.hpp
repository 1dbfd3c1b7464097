// FLEX (Wolf, Rajan, Hildrum, Khandekar, Kumar, Parekh, Wu, Balmin: Middleware 2010): any penalty,
// sum or max, on top of a fair scheduler's minima.
//
// Decides: a priority order for the malleable packing scheme (each job gets slots in the order, up
// to its maximum, again at every completion). The generic order is that of completions in the
// moldable optimum, with slots fixed for each job's life (resource allocation); specific orders
// follow from slopes and due dates; each is packed, and the best is improved by local search (sums,
// gangs). If there are deadlines, the first candidate packs their order so that deadlines that can
// be met are met (laxity_packing). For max objectives the exact deadline test (demand_bound) gives
// the optimum, the least *level* (value of the objective) whose deadlines can all be met, and if no
// order attains it, water-filling (deadline_packing) a schedule that does. Strict deadlines: the
// same test says whether all can be met, water-filling meets them; otherwise a miss costs its
// weight (strict_deadlines.hpp). Kernels: resource_allocation, priority_orders (on_time_set),
// malleable_packing, laxity_packing, order_search, demand_bound, deadline_packing, lower_bound. O(J
// log J) per order or candidate for J jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "malleable/kernel/deadline_packing.hpp"
#include "malleable/kernel/lagrangian_bound.hpp"
#include "malleable/kernel/lagrangian_density.hpp"
#include "malleable/kernel/latest_start_shares.hpp"
#include "malleable/kernel/lower_bound.hpp"
#include "malleable/kernel/order_search.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/kernel/resource_allocation.hpp"
#include "malleable/kernel/strict_deadlines.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/scratch.hpp"

namespace malleable {

// Default number of candidates after the fixed orders, for up to 2,000 jobs.
inline constexpr std::uint64_t kDefaultEffort = 4000;
// How many candidates the prices of steps (flex_prices.cpp) count for, all stages together. They
// help most with many jobs.
inline constexpr std::uint64_t kPricedSteps = 60;
// With more jobs with steps than this, fewer candidates are tried between: only sets that spare
// some slots, and orders only at the end of a stage of prices.
inline constexpr std::size_t kManyStepped = 5'000;
// The default effort for so many jobs: fewer candidates if each costs more and finds less, so that
// a plan takes seconds. `curved`: some job's speed-up is below linear, and a candidate counts as
// curved_price(jobs).
std::uint64_t default_effort(std::size_t jobs, bool curved = false);
// Such a candidate takes O(J^2): with many jobs it counts as the number of candidates of a hundred
// jobs in the same time.
std::uint64_t curved_price(std::size_t jobs);
// Beyond this many jobs a max objective keeps its best order: water-filling may take O(J^2).
inline constexpr std::size_t kMostDeadlinePacked = 5000;

struct FlexOptions {
  std::uint64_t effort = kDefaultEffort;
  double budget = kInfinity;  // seconds, checked between candidates
  // Called before each candidate of the search with the number of candidates tried.
  std::function<void(std::uint64_t)> progress = {};
  std::span<const Index> known = {};  // an order of all jobs that may be good
};

class Flex {
 public:
  // The best plan found, with value and bound.
  void plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
            const FlexOptions& options, Plan& plan);

  // Packs a given order, with value and bound.
  void plan_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                  std::span<const Index> order, bool detail, Plan& plan);

  // For strict deadlines, if there is no time for several orders: own_order(), or water-filling if
  // that order misses deadlines that can be met.
  void plan_strict_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                         Plan& plan);

  // The order to use if there is no time for several: Smith's for sums of linear penalties, the
  // on-time set for steps, apparent cost for other sums, deadlines of the optimal level for max.
  // Returns that level, a lower bound; -infinity for sums.
  double own_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                   std::span<Index> order);
  // For a maximum without gangs: slots that begin a schedule that attains the optimal level, and an
  // order near them. Slots go by latest start for the deadlines of the level, with few jobs as they
  // are best held until something ends (kernel/latest_start_shares.hpp).
  void level_shares(const Problem& problem, const Penalties& penalties, std::span<Index> order,
                    std::span<double> slots);
  // A schedule that begins with such slots, with value and bound.
  void plan_level(const Problem& problem, const Penalties& penalties, std::span<const Index> order,
                  std::span<const double> slots, bool detail, Plan& plan);
  // The level of a maximum, and the deadlines that it sets, from problem.now. `before`: a level
  // that may be near.
  double own_level(const Problem& problem, const Penalties& penalties, double before,
                   std::span<double> due);

 private:
  // The order of ends if each job keeps the slots of the resource allocation problem.
  void generic_order(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                     std::span<const Index> waiting, std::span<Index> order);
  // Fills the rest of a plan from its order.
  void pack(const Problem& problem, const Penalties& penalties, Aggregate aggregate, bool detail,
            Plan& plan);
  struct Task {  // arguments of plan_finite(), the end of its budget, and its result so far
    const Problem& problem;
    const Penalties& penalties;
    Aggregate aggregate;
    const FlexOptions& options;
    const std::function<bool()>& late;
    Plan& plan;
  };
  // Packs an order, and inserts it among the others by score.
  void consider(std::vector<Index> order, std::vector<double> due = {});
  // The schedule of the best candidate.
  void pack_best(const Problem& problem, Plan* plan = nullptr);
  // Stages of a plan: schedules without late jobs, optimal levels, fixed orders, prices.
  bool try_deadlines(const Task& task);
  void try_levels(const Task& task);
  void try_rules(const Task& task);
  void try_prices(const Task& task);
  // Whether a stage may begin; then takes its price from the effort. Whether time is over.
  bool pay(const Task& task, std::uint64_t price);
  bool over(const Task& task);
  // Packs target ends in three ways.
  void consider_targets(const Task& task, std::span<const double> due);
  void try_densities(const Task& task);
  void consider_set(const Task& task, std::vector<Index>& order);
  void try_points(const Task& task);
  // Tries sets of jobs in time with keys a little different from the best ones.
  void vary_sets(const Task& task, std::vector<DueAsk> best);
  void search(const Task& task);
  void plan_finite(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlexOptions& options, Plan& plan);
  void plan_strict(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                   const FlexOptions& options, Plan& plan);
  // Replaces a plan by one that misses no strict deadline, if that costs less.
  bool meet_deadlines(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                      Plan& plan);
  // A schedule by water-filling for the deadlines in due_.
  void fill(const Problem& problem, Plan& filled, std::vector<double>& completion);
  bool starts_by(const Problem& problem, double end) const;
  bool stays_right(const Problem& problem, std::span<const double> due, double time);
  double right_until(const Problem& problem, double end);
  // Replaces a plan by one for the deadlines of the optimal level, if it is better.
  bool pack_deadlines(const Problem& problem, const Penalties& penalties, double bound, Plan& plan);

  ResourceAllocation allocation_;
  PriorityOrders orders_;
  MalleablePacking packing_;
  LaxityPacking laxity_;
  OrderSearch search_;
  DemandBound demand_bound_;
  DeadlinePacking deadline_packing_;
  LatestStartShares held_;
  LowerBound lower_bound_;
  LagrangianBound prices_;
  LagrangianDensity density_;
  StrictDeadlines strict_;
  Scratch<double> earliest_, due_, completion_;  // by job, from now
  Scratch<double> start_, later_, key_;          // of a level
  std::vector<double> begin_;                    // slots
  Problem rest_;                                 // instance after these slots
  Scratch<Index> order_;
  std::vector<PackedOrder> starts_;  // the orders tried, by score
  std::vector<Score> scores_;        // of them
  std::uint64_t left_ = 0;           // effort left
};

}  // namespace malleable
