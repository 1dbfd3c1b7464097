// Whether a loop that decides every P seconds and holds its slots may meet deadlines: the deadline
// test of demand_bound.hpp in whole slot-periods (one slot for one period each). A level, that is a
// value of a max objective, sets every job a deadline, so this also tests whether a level can be
// reached.
//
// There are S slots; a job has w slot-seconds of work left and may have at most M slots. If it must
// end by D = (K + f) P from now, K whole and 0 <= f < 1, it can do at most M P in each whole period
// before K and M f P in period K. So during the periods 0 ... k together it holds at least
//   must(k) = max(0, ceil(w / P - M f) - M (K - 1 - k))     for k < K
// slot-periods, and from K on ceil(w / P), or M K + ceil((w - M K P) / (f P)) if the K whole
// periods do not suffice. Deadlines can be met only if w <= M D for every job and sum_j must_j(k)
// <= S (k + 1) for every k. A job's part is constant, rises by M a period, then jumps once. The sum
// is linear in k between these events, so only events and the periods before them are tested.
// Minima are left out, which makes the test weaker.
//
// If not all deadlines can be met, jobs are given up where the sum is too large, the one with the
// least weight for its slot-periods first.
//
// For J jobs O(J) a test if slots are busy for fewer periods than there are jobs, otherwise O(J log
// J), as for giving up. Not from a paper.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

// The slot-periods that a job must hold during the periods 0 ... k together.
struct PeriodicNeed {
  double first = 0.0, start = 0.0;  // from period `first` on; `start` in that period
  double slope = 0.0;               // more in each later period below `edge`
  // The period of the deadline. Just before it the need is `whole`; in it, it jumps to `total`.
  double edge = 0.0, whole = 0.0;
  double total = 0.0;  // from period `edge` on

  double at(double k) const {
    if (k >= edge) return total;
    return k < first ? 0.0 : start + slope * (k - first);
  }
};
// The need of a job that can end by `due`, from now: work <= high * due.
PeriodicNeed periodic_need(double work, double high, double due, double period);

// True only if the job need not hold anything in the periods 0 ... k: `first` is above k, because
// it is above due / P - work / (P high) - 3. Cheap: no rounding to whole numbers, so no calls.
inline bool surely_later(double work, double high, double due, double period, double k) {
  return due - work / high > period * (k + 4.0);
}

class PeriodicDemandTest {
 public:
  // Whether a loop with this period may meet these deadlines (from problem.now, may be infinite).
  bool may_meet(const Problem& problem, double period, std::span<const double> due);
  // Gives up more jobs until it may meet the deadlines of the others. Every job that
  // is not given up yet must be able to end in time alone.
  void give_up(const Problem& problem, double period, std::span<const double> due,
               std::span<const double> weight, std::span<std::uint8_t> given_up);

 private:
  struct Event {
    double period;  // whole
    double jump;    // extra slot-periods from this event on
    double slope;   // extra slot-periods a period after it
    Index job;
    bool first;  // of its job
  };
  // Collects the needs of jobs up to period `last`; returns the sum of all needs in the end, or
  // infinity if one job cannot end in time.
  double collect(const Problem& problem, double period, std::span<const double> due, double last);
  void sort_events(double last);
  // Adds up the needs of the events that counts(event), as long as they fit. If they do not, less()
  // says whether it could make them fewer.
  template <typename Counts, typename Less>
  bool sweep(double slots, const Counts& counts, const Less& less);

  std::vector<Event> events_, sorted_;
  // By job: slot-periods of its work; deadline, infinite if it is given up.
  std::vector<double> periods_, open_;
  std::vector<std::size_t> places_;             // by period: where its events begin in sorted_
  double at_ = 0.0, held_ = 0.0, slope_ = 0.0;  // in a sweep: the period, the needs, their slope
};

}  // namespace malleable
