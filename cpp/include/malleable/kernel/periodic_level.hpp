// Whether a loop that decides every P seconds and holds its slots may meet deadlines: the deadline
// test in whole slot-periods.
//
// A job that must end by D = (K + f) P from now, K whole and 0 <= f < 1, can do at most M P in each
// later period and M f P in period K. So during the periods 0 ... k together it holds at least
//   must(k) = max(0, ceil(w / P - M f) - M (K - 1 - k))     for k < K
// slot-periods, and from K on ceil(w / P), or M K + ceil((w - M K P) / (f P)) if the K whole
// periods do not suffice. Deadlines can be met only if w <= M D for every job and sum_j must_j(k)
// <= S (k + 1) for every k. A job's part is constant, rises by M a period, then jumps once: the sum
// is linear in k between these events, so that only events and the periods before them are tested.
// Minima are left out: that lets more loops compete.
//
// O(J) a test where slots are busy for fewer periods than there are jobs, else O(J log J). Source:
// ours.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

// The slot-periods that a job must hold during the periods 0 ... k together.
struct PeriodicNeed {
  double first = 0.0, start = 0.0;  // from period `first` on, and so many then
  double slope = 0.0;               // more in each later period below `edge`
  double edge = 0.0, whole = 0.0;   // so many just before period `edge`
  double total = 0.0;               // and so many from there on

  double at(double k) const {
    if (k >= edge) return total;
    return k < first ? 0.0 : start + slope * (k - first);
  }
};
// Of a job that can end by `due`, from now: work <= high * due.
PeriodicNeed periodic_need(double work, double high, double due, double period);

// Whether such a job surely need not hold anything in the periods 0 ... k: `first` is above k, as
// it is above due / P - work / (P high) - 3. Without whole numbers, and so without calls.
inline bool surely_later(double work, double high, double due, double period, double k) {
  return due - work / high > period * (k + 4.0);
}

class PeriodicLevel {
 public:
  // Whether such a loop may meet these deadlines (from problem.now, may be infinite).
  bool may_meet(const Problem& problem, double period, std::span<const double> due);

 private:
  struct Event {
    double period;  // whole
    double jump;    // slot-periods more from there on
    double slope;   // slot-periods more a period after it
  };
  // Collects what jobs must hold up to period `last`, and what all do in the end; infinity if one
  // cannot end in time.
  double collect(const Problem& problem, double period, std::span<const double> due, double last);
  void sort_events(double last);

  std::vector<Event> events_, sorted_;
  std::vector<double> periods_;
  std::vector<std::size_t> places_;
};

}  // namespace malleable
