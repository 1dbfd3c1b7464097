// Slots that are held for a period, by the price of a slot-period: sums of linear penalties.
//
// A job with w left needs q = ceil(w / P) slot-periods, and pays v a second. Jobs are served in the
// order of P q / (v f), f = 1 + P max(0, q / M - 1) / T. A slot is worth more now than later, as
// the queue empties, by about one part in T = (work left) / (2 S) + 2 P a second: a job that cannot
// use many slots at once, and would end long after the others, goes first of those of the same
// size.
//
// A slot that carries work over to later periods is worth y: the slot-period that is missing delays
// all jobs that do not end in this period by P / S, and those that come, y = (P / S) (V + 3/4 A)
// with V what the jobs that wait pay a second, and A what those pay that come in a period. So a job
// that ends in this period may have more than q slots as long as the a-th saves v w / (a (a - 1))
// >= y; others have their maxima. V falls as y rises; the price is where they meet. Slots beyond q
// of jobs that end, and slots left over, go to the jobs that end sooner by them the most
// (slot_periods). If all jobs can end in this period, the last ones wait for the next one where the
// others gain more by their slots.
//
// O(J log J), and O(h) for each price that is tried, h jobs getting slots behind their minima. Over
// the order alone the price gives 8 % of the mean stretch and nothing of the mean response on eight
// families of streams (benchmarks/mechanisms/families), and 2 % and 20 % in the benchmarks against
// rivals.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/slot_periods.hpp"

namespace malleable {

class PeriodPrices {
 public:
  // slots[j] for every job; the jobs expected within a period pay `coming` a second. Jobs that
  // `held` more than their minima (empty: none) count as (1 + hysteresis) times as urgent. Equal
  // keys go to less work, then to the lower index. Speed-up is linear. Allocates nothing once warm.
  void run(const PeriodicJobs& jobs, double coming, double hysteresis, std::span<const double> held,
           std::span<double> slots);

  // Of the last run; small is urgent.
  std::span<const double> key() const { return key_; }
  double price() const { return price_; }

 private:
  void set_keys(const PeriodicJobs& jobs, double hysteresis, std::span<const double> held);
  double serve(const PeriodicJobs& jobs, double price, std::span<double> slots) const;
  double cost(const PeriodicJobs& jobs, std::span<const double> slots) const;
  void let_some_wait(const PeriodicJobs& jobs, std::span<double> slots);

  double price_ = 0.0;
  double waiting_ = 0.0;  // what jobs pay a second that do not end in this period by their minima
  Scratch<double> key_, periods_, high_, tried_;
  Scratch<Index> order_;
  KeySort sorter_;
  LeftOverSlots left_over_;
};

}  // namespace malleable
