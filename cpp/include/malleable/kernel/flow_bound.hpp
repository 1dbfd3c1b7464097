// What no schedule of flows (graphs of jobs, some of which wait for others) can beat.
//
// A flow that ends at C does in the last u seconds before C at most the work U(u) that its jobs,
// each as late as the longest path behind it allows, could do there at the given slots; and by t
// seconds after its release at most H(t), each as early as possible. Both are the work of a queue
// that is served at the rate of all slots. From these two profiles follow
//   max  a level L, a value of the objective, sets deadlines D_j(L), the latest times with a
//        penalty of at most L. By time t at least V_j - U_j(D_j - t) of the work V_j of flow j is
//        done, and all of them together no more than the slots could do by t, given when jobs can
//        start at all. The least L that passes at every t is a bound: Newton steps on the
//        time that is overloaded most. (The second bisection of Nagarajan, Wolf, Balmin, Hildrum
//        2013, section 5.1, tests the squashed area at the deadlines only.)
//   sum  mean busy times B_j (the average of the times at which units of flow j's work are done):
//        C_j >= B_j + (mean time left to the end of a flow's work, at least int (V - U) / V), so
//        the program of kernel/mean_busy_time.hpp bounds flows as it bounds jobs. If flows are
//        released over time and penalties are linear, the least mean busy times on one machine as
//        fast as all slots, which serves present flows by slope per unit of work (largest first),
//        are a bound, too.
//   sum of steps  every flow chooses which of its steps it meets; the work that this forces by
//        certain times must fit. Multipliers for those times give the linear relaxation, a
//        depth-first search with them the whole numbers, as long as its nodes last.
// O(jobs log jobs) for the profiles and for each Newton step. Sources: flow_bound.cpp (profiles,
// mean busy times), flow_bound_max.cpp, flow_bound_steps.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/mean_busy_time.hpp"
#include "malleable/model/flow_problem.hpp"
#include "malleable/model/penalties.hpp"

namespace malleable {

// Cumulative work as piecewise-linear functions of time from 0, one per row: point k says that by
// time[k] `done[k]` is possible, growing at rate[k] from there on.
struct WorkProfiles {
  std::vector<std::size_t> offset;
  std::vector<double> time, done, rate;

  void clear() {
    offset.assign(1, 0);
    time.clear();
    done.clear();
    rate.clear();
  }
  double at(std::size_t row, double t) const;
};

class FlowBound {
 public:
  // Builds the profiles of an instance. The instance and `late` must outlive the calls below.
  // Bounds that take longer than a few orders ask `late` now and then; if it says true, they end
  // with the bound found so far.
  void build(const FlowProblem& problem, const std::function<bool()>* late = nullptr);

  // Least level of a max objective that passes the test, at least `from`; `to` is some schedule's
  // value. Deadlines count as met within the tolerance.
  double max_level(const Penalties& penalties, double from, double to);

  // Deadlines of a level, from now, as flows have to meet them (may be infinite).
  void deadlines(const Penalties& penalties, double level, std::span<double> due) const;

  // True if it is proved that no schedule ends all flows by `due` (from now; infinite: no
  // deadline).
  bool impossible(std::span<const double> due);

  // Bound on the sum of penalties by mean busy times. `completion` (from now) is a schedule's.
  double busy_bound(const Penalties& penalties, std::span<const double> completion);

  // Bound on the sum of step penalties; `due`, if given, takes the deadlines of the best choice
  // found. `nodes` limits the search; 0: the linear relaxation alone.
  double step_bound(const Penalties& penalties, double value, std::uint64_t nodes,
                    std::span<double> due);

  // Bound on any sum by the same multipliers, which are chosen for completions on a grid in place
  // of steps; the bound then takes the minimum over all completions. `value` is some schedule's.
  // Not for custom penalties. O(steps of the multipliers x flows x grid x times) and O(times x
  // times x jobs), and 0 beyond kMostGrid flows. `share`, 0 to 1, scales the effort by fewer steps
  // and times.
  double grid_bound(const Penalties& penalties, double value, double share = 1.0);
  static constexpr std::size_t kMostGrid = 256;

  // The penalties if every flow had all slots to itself.
  double alone(const Penalties& penalties, Aggregate aggregate) const;

  // Completions (from now) on one machine as fast as all slots, which serves the flow with the
  // least work left over the slope of its penalty (penalties that are not linear: the least work
  // left). A list in the order of these completions decides as a loop that serves flows by work
  // left does. O(flows log flows).
  void ends_by_work_left(const Penalties& penalties, std::span<double> end);

  // Lower bounds of the completions, from now.
  std::span<const double> earliest() const { return earliest_; }
  // One row: the most work that all flows together can have done by t.
  const WorkProfiles& all() const { return all_; }
  // Flows as malleable jobs: the same work, and a maximum that no flow exceeds on average.
  void relax(Problem& jobs) const;

 private:
  struct Change {
    double time, rate;
  };
  void sort_changes();
  // Appends the profile of work that comes in at the rates of changes_, at most `limit`.
  void append(WorkProfiles& profiles, double limit);
  // A flow's earliest completion, and the malleable job that represents it.
  void shape(std::size_t j);
  // The work that a flow with a due time must have done by t.
  double forced(std::size_t j, double due, double t) const;
  // How much rounding of times may change the work that flow j is forced to have done by t, and the
  // work that all flows can have done by t.
  double rounding(std::size_t j, double due, double t) const;
  double rounding(double t) const;
  struct Peak {
    double time, excess;
  };
  Peak peak(std::span<const double> due);  // the time with the largest excess
  // By how much the work forced before a time, at a level, exceeds what fits.
  double total_excess(const Penalties& penalties, double level, double time) const;
  double root(const Penalties& penalties, double fails, double passes, double time);
  // The state of a search for a level, which rises while some time is overloaded.
  struct Climb {
    double level, passes;
    double stride = 1.0;   // how far beyond a Newton step to look, as a multiple of the step
    Peak known{0.0, 0.0};  // of the level, if known already

    double ahead(double step) const {
      const double further = level + stride * step;
      return further < passes ? further : level + (passes - level) / 2.0;
    }
  };
  double next_level(const Penalties& penalties, double level, double to, double time);
  void try_higher_level(const Penalties& penalties, double ahead, Climb& climb);

  struct Option {  // a completion that a flow may choose
    double penalty, due;
  };
  // Options of penalties that are steps, and of any piecewise linear penalties; completions from
  // `horizon` on cost the same.
  void list_options(const Penalties& penalties, double horizon);
  void list_grid(const Penalties& penalties, double horizon);
  void pick_times(std::size_t most);  // at most so many times get a multiplier
  void fill_force();                  // fills room_ and force_
  double least_price(const Penalties& penalties, std::size_t j);
  double price_options();  // the bound at the present multipliers, and its gradient
  double relax_steps(double value, int most);
  double search_steps(double value, std::uint64_t nodes, std::span<const std::size_t> least,
                      std::span<double> due);
  struct Search;

  double released_bound(const Penalties& penalties);
  void serve(const Penalties& penalties, bool by_left, std::span<double> busy,
             std::span<double> end);
  bool is_late() const { return late_ != nullptr && (*late_)(); }

  const FlowProblem* problem_ = nullptr;
  const std::function<bool()>* late_ = nullptr;
  WorkProfiles head_, tail_, all_;  // all_: one row, what all flows together can have done by t
  std::vector<double> steepest_;    // rate of each flow's profiles
  double steepest_all_ = 0.0;
  std::vector<Change> changes_, sorted_, sweep_;
  std::vector<double> sweep_time_;
  std::vector<Index> sweep_order_;
  KeySort sorter_;
  // By flow, from now: deadlines, work left, time left beyond that of one job, largest rates,
  // starting points and earliest ends of bounds.
  std::vector<double> due_, level_due_, work_, shift_, high_, point_, earliest_, at_;
  std::vector<Index> by_release_;  // flows
  // a heap of present flows: (slope per unit of work, ~flow)
  std::vector<std::pair<double, Index>> here_;
  MeanBusyTime mean_busy_time_;
  Problem jobs_;
  Penalties shifted_;
  std::vector<std::size_t> option_offset_;  // flow -> its first option
  std::vector<Option> options_;
  // Times with a multiplier, the work that fits before each, and the work that each option forces
  // before each.
  std::vector<double> times_, room_, force_, multiplier_, best_multiplier_, gradient_, ends_;
  std::vector<double> reduced_;  // by option: its price at the multipliers
};

}  // namespace malleable
