// Policies of jobs whose speed-up is not linear (model/speedups.hpp: s^p on s slots, or a table of
// rates), by shares or gains (kernel/shared_packing.hpp).
//
// FIFO, FAIR and WDEQ share as for linear jobs. heSRPT (Berg, Vesilo, Harchol-Balter 2020) serves
// the least work left first, with shares by the mean exponent. FLEX tries the objective's order
// with shares from equal to very unequal, and the slots of the resource allocation problem, which
// stays convex; then it raises and lowers shares of single jobs while effort lasts. Without effort
// it uses for a maximum those slots, and for a sum the order and the mean exponent, with more equal
// shares while jobs keep coming, or gains if speed-ups differ. Decisions use the hulls of tables
// (the least concave rates above them); progress, ends and values use the tables. For J jobs O(J^2)
// a candidate, O(J log J) a decision without effort. With many jobs only as many fixed rules are
// tried as take about a second; further rules count as effort.
//
// Gains need the value of a job: what one unit of its work less saves. If a slot costs l a second
// when the job ends, the value is the least (weight + l s) / rate(s) over slot counts s: shares by
// price (WHAM: Li, Harchol-Balter, Berg 2026), but with a price for each job. The price falls with
// time, because fewer jobs wait: l = kSteep (weight of the jobs that end later + weight of jobs to
// come) / slots. For linear jobs this gives SRPT, for s^p nearly heSRPT; jobs that keep coming make
// prices more equal.
//
// Bound: the larger of
//   - the bound of linear jobs that are nowhere slower than these, alone (rate on the maximum) or
//     together (the most that all slots do, by a price of slots), and
//   - for sums of linear penalties heSRPT's optimum without limits, with the largest exponent and
//     equal weights; any weights are a sum of equal weights.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/shared_packing.hpp"
#include "malleable/model/speedups.hpp"
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/flex.hpp"

namespace malleable {

// An upper bound of the rate of all slots together, from a price at which no more slots are asked
// for than there are. O(J) powers in each of a few steps.
double most_together(const Problem& problem, const SpeedupView& speedup);

// No schedule of a sum of linear penalties costs less: limits are ignored, and no job is faster
// than s^p with the steepest p. If there are many different weights, some are rounded down. O(J log
// J).
double hesrpt_bound(const Problem& problem, const SpeedupView& speedup, const Penalties& penalties);

class Concave {
 public:
  struct Task {
    EpochPolicy policy;
    const Problem& problem;  // FIFO: without minima
    SpeedupView speedup;     // may be linear, because heSRPT is decided here, too
    const Penalties& penalties;
    Aggregate aggregate;
    std::span<const double> arrival, weight;  // by job: FIFO's order, WDEQ's shares
    // FLEX: the mean number of jobs that come later.
    double coming = 0.0;
    bool flat = false;  // shares are more equal while jobs come
  };

  void plan(const Task& task, const FlexOptions& options, Plan& plan);
  // Whether plan() can compare candidates with this effort.
  static bool compares(std::size_t jobs, std::uint64_t effort);

  // Slots now, by job. The instance `with_work` is `task.problem`, perhaps without jobs that keep
  // their slots. A job that holds more than its minimum has (1 + hysteresis) times its share.
  void decide(const Task& task, const Problem& with_work, double hysteresis,
              std::span<const std::int64_t> held, std::span<double> slots);
  // The plan of the last decision's rule; without `detail` no pieces (a piece: a job on so many
  // slots from one time to another).
  void plan_decided(const Task& task, bool detail, Plan& plan);
  // State: the rule of the last decision.
  void state(State& s) {
    s(choice_.share, choice_.order, choice_.power, choice_.weighted, choice_.value);
  }
  // Speed-ups as the last decision saw them: tables by their hulls.
  SpeedupView seen(const SpeedupView& speedup) const { return rough_ ? hulled_.view() : speedup; }

 private:
  using Rule = SharedPacking::Rule;
  struct Choice {  // a rule, with its own copies of shares and order
    std::vector<double> share;
    std::vector<Index> order;
    double power = kInfinity;
    bool weighted = false;
    std::vector<double> value;
    std::vector<double>& factors() { return value.empty() ? share : value; }
  };

  // Computes limited_, relaxed_ and the hulls.
  void prepare(const Task& task, bool for_bound);
  // The instance with the limits that the policy keeps.
  const Problem& limits(const Task& task) const;
  double mean_exponent(const Task& task) const;
  // Whether all jobs that gain by a second slot have the same exponent.
  bool alike(const Task& task) const;
  // The value of a unit of each job's work.
  std::vector<double> values(const Task& task, double steep, double coming);
  void by_policy(const Task& task, Choice& choice);
  // The choice for the objective without a search; by_policy() is for any policy.
  void own_choice(const Task& task, const Penalties& penalties, Choice& choice);
  // The slots of the resource allocation problem as shares.
  void fixed_slots(const Task& task, const Penalties& penalties, Choice& choice);
  Rule rule_of(const Task& task, const Choice& choice);
  // The value of the objective with this choice.
  double value_of(const Task& task, const Penalties& penalties, const Choice& choice);
  struct Tries {  // fixed rules: how many may be tried, how many were, and the best
    std::uint64_t most, count;
    Choice& best;
    double least;
  };
  // Tries a fixed rule, if the limit is not reached; all of them.
  void consider(const Task& task, const Penalties& penalties, Choice choice, Tries& tries);
  void try_all(const Task& task, const Penalties& penalties, Tries& tries);
  struct Search {  // arguments of refine(), and its result so far
    const Task& task;
    const Penalties& penalties;
    const FlexOptions& options;
    const std::function<bool()>& over;
    Choice& best;
    double& least;
    std::uint64_t most;  // candidates
    std::uint64_t& tried;
    bool& late;
    bool done() const { return late || tried >= most; }
  };
  // Tries the choice after `change`, and keeps it if it is better.
  template <typename Change, typename Undo>
  bool improves(const Search& search, Change change, Undo undo);
  bool swap_neighbours(const Search& search);
  bool change_shares(const Search& search, double factor);
  // Local search over orders or shares.
  void refine(const Search& search);
  // Makes the plan of a choice, with its bound.
  void finish(const Task& task, const Choice& choice, bool detail, Plan& plan);

  Problem limited_;  // with maxima cut to slots that make jobs faster
  Problem relaxed_;  // linear jobs that are nowhere slower
  StrictDeadlines strict_;
  SpeedupHulls hulls_;
  SpeedupColumns hulled_;
  bool rough_ = false;  // some table of speeds is not concave
  MarginalGains gains_;
  SharedPacking packing_;
  ResourceAllocation allocation_;
  LowerBound lower_bound_;
  Flex flex_;
  KeySort sorter_;
  Choice choice_;                                            // of the last decision
  std::vector<double> completion_, absolute_, slope_, key_;  // workspace
};

}  // namespace malleable
