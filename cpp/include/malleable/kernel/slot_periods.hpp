// Slots that are held for a period: caps at whole slot-periods (one slot for one period each), and
// the slots left over.
//
// A decision that holds for P seconds wastes what a job cannot use within them: with w slot-seconds
// left a job that may have m to M slots needs q = ceil(w / P) slot-periods, however they are
// spread, and slots beyond q would idle when it ends. So every policy gets maxima of max(m, min(M,
// q)). The slots left over go, one by one, to the job that gains most: v w / (a (a + 1)) by one
// more than a slots, where v is the value of ending a second earlier. Only jobs that end within the
// period gain anything; all others are at their maxima. If the speed-up is below linear, q is the
// fewest slots that do w within P. A job whose penalty jumps
// within the period, d seconds from now, pays less on ceil(w / d) slots. Its cap is the number of
// slots with the largest saving less the price of the slots beyond q. The price is what the first
// job in the order for which no slots are left loses by it: its jumps that can still be avoided,
// over its q; 0 if all jobs get q. Caps: O(J) for J jobs. Left-over
// slots: O(J) expected (kernel unit_selection), and a factor of the logarithm of the slots if a
// speed-up is below linear.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/unit_selection.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"
#include "malleable/model/speedups.hpp"

namespace malleable {

// Whole slot-periods that so much work takes; a quotient that misses a whole number by rounding
// counts as that number. At least 1 if there is work.
double slot_periods(double work, double period);
void slot_periods(std::span<const double> work, double period, std::span<double> periods);

// The work that counts as left for a job that has outlived its estimate: a part of the work done so
// far.
inline double still_left(double done) { return 0.25 * done; }

// max(low, min(high, q)).
double cap_at_period(double work, double period, double low, double high);

// Cuts the maxima of an instance to whole slot-periods. Jobs without work keep theirs.
void cap_at_period(Problem& problem, double period, const SpeedupView& speedup = {});

// Raises caps `high` (whole slot-periods, linear speed-ups) to slots that reach jumps of penalties
// within the period, if these are worth their price. O(J + rows of the penalties).
void reach_jumps(const Problem& problem, const Penalties& penalties, double period,
                 std::span<const Index> order, std::span<double> high);

// Jobs that share slots for one period.
struct PeriodicJobs {
  double slots, period;
  std::span<const double> work, low, high;  // work left; minima, which fit together; maxima
  std::span<const double> value;            // value of ending a second earlier; empty: 1
  SpeedupView speedup = {};                 // linear

  double value_of(std::size_t j) const { return value.empty() ? 1.0 : value[j]; }
};

class LeftOverSlots {
 public:
  // Hands out the slots that `slots` leave free, up to maxima; minima are not read. Slots by which
  // no job gains stay free; returns their number. Equal gains go to the lower index. Allocates
  // nothing once warm.
  double hand_out(const PeriodicJobs& jobs, std::span<double> slots);
  double hand_out(const Problem& problem, double period, std::span<const double> value,
                  std::span<double> slots, const SpeedupView& speedup = {}) {
    return hand_out(
        {problem.slots, period, problem.work, problem.low, problem.high, value, speedup}, slots);
  }

 private:
  // Notes which jobs end in the period, and earlier with one more slot.
  void mark(const PeriodicJobs& jobs, std::span<const double> slots);

  std::vector<std::size_t> gaining_;  // jobs that gain
  // Jobs that gain: their limits; work times value. given_: by job whether it gains, then the slots
  // of jobs that gain.
  std::vector<double> low_, high_, scale_, given_;
  std::vector<Unit> units_;
};

}  // namespace malleable
