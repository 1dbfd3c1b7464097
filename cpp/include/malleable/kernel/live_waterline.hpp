// FAIR's whole slots for jobs that come, go and change: an integer waterline kept between
// decisions.
//
// The largest whole level l with sum clamp(l, m_j, M_j) <= S; what is left over goes one each to
// the first jobs, in the order in which they were added, that are at the level and below their
// maximum: the allocation of kernel/waterline without weights, wherever the minima fit. The level
// is sought from the last one by Newton steps on the number of jobs at the level, between bounds
// that are halved when a step leaves them: O(J) each, few of them. A change costs O(1), and only
// slots that differ from the decision before are told. Allocates nothing once warm.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// The largest whole level of n jobs at which their slots, between low and low + room, are at most
// `slots`, and what it leaves over; sought from `from`. Infinite if everybody can have the maximum.
struct WholeLevel {
  double level = 0.0, left = 0.0;
  bool fits = false;  // the minima do
};
WholeLevel whole_level(std::span<const double> low, std::span<const double> room, double slots,
                       double from);

class LiveWaterline {
 public:
  // Behind all others, with no slots yet; returns its row. 0 <= low <= high, whole numbers.
  std::size_t add(Index item, double low, double high);
  void set(std::size_t row, double low, double high) {
    low_[row] = low;
    room_[row] = high - low;
  }
  void erase(std::size_t row);
  // Closes gaps once they are more than the jobs; calls moved(item, row) for each job if so.
  template <typename Moved>
  void compact(const Moved& moved) {
    if (2 * live_ >= item_.size()) return;
    close_gaps();
    for (std::size_t row = 0; row < item_.size(); ++row) moved(item_[row], row);
  }

  // Calls give(item, slots) for each job whose slots change. Minima that do not fit: returns false,
  // and nothing changed.
  template <typename Give>
  bool allocate(double slots, const Give& give) {
    if (!find_level(slots)) return false;
    double left = left_;
    for (std::size_t row = 0; row < item_.size(); ++row) {
      double own = level_ < low_[row] ? low_[row] : level_;
      if (own >= low_[row] + room_[row]) {
        own = low_[row] + room_[row];
      } else if (left > 0.0 && level_ >= low_[row]) {
        own += 1.0;
        left -= 1.0;
      }
      tell(row, own, give);
    }
    return true;
  }
  // Whatever else was decided: slots[row] for rows with a job.
  template <typename Give>
  void overrule(std::span<const double> slots, const Give& give) {
    for (std::size_t row = 0; row < item_.size(); ++row) tell(row, slots[row], give);
  }

  // By row; kNone, 0 and 0 in a gap.
  std::span<const Index> items() const { return item_; }
  std::span<const double> low() const { return low_; }
  double high(std::size_t row) const { return low_[row] + room_[row]; }
  std::span<const double> given() const { return given_; }

  void state(State& s) { s(item_, low_, room_, given_, live_, level_, left_); }

 private:
  template <typename Give>
  void tell(std::size_t row, double slots, const Give& give) {
    if (given_[row] == slots || item_[row] == kNone) return;
    given_[row] = slots;
    give(item_[row], slots);
  }
  bool find_level(double slots);
  void close_gaps();

  std::vector<Index> item_;
  std::vector<double> low_, room_, given_;
  std::size_t live_ = 0;
  double level_ = 0.0, left_ = 0.0;
};

}  // namespace malleable
