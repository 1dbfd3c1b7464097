// The exact deadline test for malleable jobs, and what follows from it for max objectives.
//
// Job j has the work W_j, and runs on m_j to M_j slots; there are S slots. If it must end by D_j,
// then by time t at least
//   f_j(t) = max( min(W_j, m_j t),  W_j - M_j max(0, D_j - t) )
// of its work is done: its minimum forces the head, its maximum the tail. All deadlines can be met
// if and only if W_j <= M_j D_j for all j and sum_j f_j(t) <= S t for all t. Necessity is plain.
// Sufficiency: give every job its minimum until min(W_j/m_j, D_j) and pour the rest into the slots
// that are left. A minimum cut of that flow is always a prefix of time, because the number of free
// slots never falls with time (deadline_packing.hpp builds this schedule). sum f_j - S t is
// piecewise linear, so one sweep over sorted break points decides. O(J log J).
//
// The least level L whose deadlines D_j(L) = latest time with penalty <= L pass the test is
// therefore the malleable optimum of a max objective: Newton steps on the most overloaded time,
// from below, so that every step is a lower bound. (Lemma 1 of FLEX, Wolf et al. 2010, fails for
// jobs with maxima below S; this takes its place.)
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

// f_j(t) of a job.
inline double demand_bound(double work, double low, double high, double due, double t) {
  const double head = low * t < work ? low * t : work;
  const double left = due > t ? due - t : 0.0;
  const double tail = left < kInfinity ? work - high * left : 0.0;
  return head > tail ? head : tail;
}

// The time until which its minimum is enough for a job that must end by `due`: from then on it
// needs its maximum.
inline double minimum_until(double work, double low, double high, double due) {
  return high > low ? (high * due - work) / (high - low) : due;
}

// Earliest conceivable completion of every job, from problem.now: alone at its maximum, and not
// before the others' forced minima leave room for its work. Zero for jobs without work. O(J log J).
void earliest_completions(const Problem& problem, std::span<double> earliest);

class DemandBound {
 public:
  struct Peak {
    double time = 0.0;
    double excess = 0.0;  // positive: the deadlines cannot all be met (beyond rounding)
    Index job = kNone;    // the job whose deadline that time is, if there is one
  };
  // The time at which the demand of deadlines `due` (from problem.now, may be infinite) exceeds S t
  // most. A gang's minimum forces nothing.
  Peak peak(const Problem& problem, std::span<const double> due);

  // Least level that passes the test, searched between `from` (none below it passes) and `to`
  // (passes). Deadlines are stretched by `stretch` times the tolerance within which they count as
  // met: 1 for a floor under every schedule, less for deadlines to schedule by.
  double level(const Problem& problem, const Penalties& penalties, double from, double to,
               double stretch);

  // Deadlines of a level, from problem.now.
  static void deadlines(const Problem& problem, const Penalties& penalties, double level,
                        double stretch, std::span<double> due);
  // Deadlines of the level that was found last, on the same instance.
  void deadlines_found(const Problem& problem, const Penalties& penalties, double level,
                       double stretch, std::span<double> due) const;

 private:
  struct Window {  // the times at which there may be an overload
    double from = 0.0, until = kInfinity;
  };
  // The peak within the window, which is narrowed to the times that are overloaded.
  Peak peak(const Problem& problem, std::span<const double> due, Window& window);
  // Lists the times at which the rate of forced work changes, and its first rate; or returns a job
  // that is late in any schedule.
  Peak list_rate_changes(const Problem& problem, std::span<const double> due, double& rate);
  void add_rate_change(double time, double change, Index owner) {
    times_.push_back(time);
    rates_.push_back(change);
    owners_.push_back(owner);
  }
  // Whether the exact deadline of a job with a custom penalty does not matter.
  bool settled(const Problem& problem, const Penalties& penalties, std::size_t j, double level,
               const Window& window);
  // Makes due_ for a higher level.
  void raise(const Problem& problem, const Penalties& penalties, double level, double stretch,
             const Window& window);

  struct Excess {
    double work = 0.0;  // beyond what the slots can do
    double fall = 0.0;  // how fast that falls with the level
    // the next levels at which a penalty jumps, and at which `fall` changes
    double next = kInfinity, kink = kInfinity;
    struct Next {
      double level;
      bool sure;  // no level between passes
    };
    // The level to try after `level`, which is overloaded.
    Next further(double level) const;
  };
  Excess excess(const Problem& problem, const Penalties& penalties, double t, double level,
                double stretch);

  // Three ways to raise a level towards the least that passes: the overloaded time moves with the
  // level, it stays, or halving. `finest`: two levels that differ by less than this part count as
  // the same.
  double follow(const Problem& problem, const Penalties& penalties, const Peak& top, double low,
                double to, double stretch);
  double relieve(const Problem& problem, const Penalties& penalties, const Peak& top, double low,
                 double to, double stretch, double finest);
  double bisect(const Problem& problem, const Penalties& penalties, double low, double to,
                double stretch, Window window);
  // The least level, from `low` on, at which every job meets its deadline if it is alone.
  static double least_alone(const Problem& problem, const Penalties& penalties, double low);

  KeySort sorter_;
  bool smooth_ = false;  // no penalty jumps
  // Changes of the rate of forced work; deadlines of a level, and copies.
  std::vector<double> times_, rates_, due_, kept_, zeros_;
  std::vector<double> of_level_;  // that due_ is for
  double stretch_ = 1.0;          // and the stretch they were made with
  // penalty of a job at a deadline asked for earlier in this search
  std::vector<double> asked_, paid_;
  // Places in times_, by time; by place: the job whose deadline that is, if it is one.
  std::vector<Index> order_, owners_;
};

}  // namespace malleable
