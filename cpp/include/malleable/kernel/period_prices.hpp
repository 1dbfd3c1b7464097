// Slots that are held for a period, by the price of a slot-period: sums of linear penalties.
//
// A job with w left needs q = ceil(w / P) slot-periods, and pays v a second. Jobs are served in the
// order of q / v. A slot that carries work over to later periods is worth y: the slot-periods that
// are missing then delay every job that does not end in this period, y = kappa P V(y) / S with V
// what those jobs pay a second. So a job that ends in this period may have more than q slots as
// long as the a-th saves v w / (a (a - 1)) >= y; others have their maxima. V falls as y rises, and
// the price is found by halving. Slots beyond q of jobs that end, and slots left over, go to the
// jobs that end sooner by them the most (slot_periods). kappa is 1 / (1 - load) if jobs keep
// coming, load in whole slot-periods: a slot-period that is missing is caught up with so slowly.
//
// With kappa = 0 all get c = max(m, min(M, q)) before anybody gets more. O(J) for keys and
// selection, O(h log h) for the h jobs that get slots behind their minima.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/slot_periods.hpp"

namespace malleable {

class PeriodPrices {
 public:
  // slots[j] for every job. Jobs that `held` more than their minima (empty: none) count as
  // (1 + hysteresis) times as urgent. Equal keys go to less work, then to the lower index. Speed-up
  // is linear. Allocates nothing once warm.
  void run(const HeldJobs& jobs, double kappa, double hysteresis, std::span<const double> held,
           std::span<double> slots);

  // Of the last run; small is urgent.
  std::span<const double> key() const { return key_; }
  double price() const { return price_; }
  void state(State& s) { s(selection_); }

 private:
  struct Row {  // a job that may get slots behind its minimum, in the order of keys
    double key;
    Index job;
    double value, worth, low, cap, high;
    bool ends;  // within the period, with enough slots
  };
  struct Served {
    double waiting;  // what those pay a second that do not end
    double left;     // slots
  };
  double set_keys(const HeldJobs& jobs, double hysteresis, std::span<const double> held);
  void choose(const HeldJobs& jobs, double slack);
  static double demand(const Row& row, double price);
  Served serve(double price, double slack) const;

  double price_ = 0.0;
  double waiting_ = 0.0;  // what all pay a second whose minima do not end them
  Scratch<double> key_, room_;
  std::vector<Row> rows_;
  PrioritySelection selection_;
  LeftOverSlots left_over_;
};

}  // namespace malleable
