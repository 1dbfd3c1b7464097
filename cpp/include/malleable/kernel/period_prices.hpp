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
// (slot_periods).
//
// O(J) for keys and selection, and O(h) for each price that is tried, h jobs getting slots behind
// their minima: these lie in buckets by keys, and only the bucket is sorted in which slots run out.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/priority_selection.hpp"
#include "malleable/kernel/slot_periods.hpp"

namespace malleable {

class PeriodPrices {
 public:
  // slots[j] for every job; the jobs expected within a period pay `coming` a second. Jobs that
  // `held` more than their minima (empty: none) count as (1 + hysteresis) times as urgent. Equal
  // keys go to less work, then to the lower index. Speed-up is linear. Allocates nothing once warm.
  void run(const HeldJobs& jobs, double coming, double hysteresis, std::span<const double> held,
           std::span<double> slots);

  // Of the last run; small is urgent.
  std::span<const double> key() const { return key_; }
  double price() const { return price_; }
  void state(State& s) { s(selection_); }

 private:
  struct Row {  // a job that may get slots behind its minimum
    double key;
    Index job;
    double value;  // of seconds, if it ends in this period by more than its minimum
    double worth;  // infinite if it does not end in this period
    double low, cap, high;
  };
  struct Bucket {  // of rows: keys do not fall from one to the next
    std::size_t first, end;
    bool sorted;
  };
  double set_keys(const HeldJobs& jobs, double hysteresis, std::span<const double> held);
  void choose(const HeldJobs& jobs, double rate, double coming, double slack);
  void split();
  void spread(std::size_t first, std::size_t end);
  void find_price(double rate, double coming, double slack);
  void give(const HeldJobs& jobs, double slack, std::span<double> slots);
  double cost(const HeldJobs& jobs, std::span<const double> slots) const;
  void let_some_wait(const HeldJobs& jobs, double rate, double slack, std::span<double> slots);
  double demand(std::size_t row, double price) const;
  double wanted(Bucket& bucket, double price, double slack);
  double serve(double price, double slack);

  double price_ = 0.0;
  double waiting_ = 0.0;  // what jobs pay a second that do not end in this period by their minima
  double cut_ = 0.0;      // the last key that was served
  Scratch<double> key_, room_, periods_, value_, behind_;
  std::vector<Row> found_, rows_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> places_;
  Scratch<double> worth_, low_, cap_, high_;  // of rows
  Scratch<double> other_;                     // slots
  Scratch<double> waits_;                     // what is still paid a second if so many rows end
  PrioritySelection selection_;
  LeftOverSlots left_over_;
};

}  // namespace malleable
