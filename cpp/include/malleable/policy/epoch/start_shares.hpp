// Slots of started jobs, for speed-ups below linear and for maxima: starting from the slots that
// jobs hold, slots move one by one to the job that gains most, as long as another job loses less.
//
// Sums: the gain of a slot is what it adds to the job's rate, times the value of a unit of its work
// (see policy/concave): the least (stake + price s) / rate(s) over slot counts s, at one price of
// slots for all jobs. For penalties that rise at deadlines the stake grows as these come near, and
// short jobs come first. Maxima: the job with the worst end comes first, and slots come from jobs
// that stay better off without them. Tables that are not concave change from corner to corner of
// their hulls; others by a slot, or by 1/32 of what they have. A job's rates are computed again
// only when its slots change: O(J) a decision, and O(log J) for each change of slots.
#pragma once

#include <span>
#include <vector>

#include "malleable/model/state.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

// The stake of a job: its penalty for a second, or for being late once, if it ends after `left`
// seconds, and after `soonest` at the earliest. A penalty at a later time counts e times less for
// every `ahead` seconds until then.
double stake(const Scene& at, std::size_t row, double left, double soonest, double ahead);

// Whether jobs start and share as for a sum. This holds for a maximum of stretches, too, because
// many jobs soon have nearly the worst stretch, and the sum's rule keeps the queue short.
inline bool as_sum(const Scene& at) { return at.sums() || at.jobs.all(Kind::kStretch); }

class StartShares {
 public:
  // Whether it can share for these jobs and options.
  static bool applies(const Scene& at);

  // A new row, the last one; rows that leave.
  void come();
  void close(const RowsGone& gone);
  // Forgets data derived from the speed-up of a row, which may have changed.
  void forget(std::size_t row) { known_[row] = {}; }

  // Slots by row. `least`: minima by row, which fit together; below 0: the job gets none.
  std::span<const double> share(const Scene& at, std::span<const double> least);

  void state(State& s);

 private:
  struct Corner {
    double slots, rate;
  };
  // Kept for a row on `slots`, from `least` to `most`: its rate, and the change of the rate per
  // slot by the next step of slots and by the last one.
  struct Known {
    double slots = -1.0, least = -1.0, most = -1.0;
    double rate = 0.0, up = 0.0, down = 0.0, more = 0.0, less = 0.0;
    // rate on best_ slots; change by one slot less, and by one more
    double best_rate = 0.0, before = 0.0, after = 0.0;
    std::vector<Corner> hull;  // corners of a table that is not concave
  };
  struct Move {
    double gain, slots;  // a job on `slots` slots
    Index row;
  };

  void begin(const Scene& at, std::span<const double> least);
  void shape(const Scene& at, Index row);
  void look(const Scene& at, Index row);
  void weigh(const Scene& at);
  double unit_value(const Scene& at, Index row, double worth, double price);
  double on_hull(const Known& own, double worth, double price) const;
  double on_table(Index row, std::span<const double> rates, double worth, double price);
  double end_on(const Scene& at, Index row, double rate) const;
  void offer(const Scene& at, Index row);
  void move(const Scene& at, Index row, double slots);
  template <typename Order>
  const Move* first(std::vector<Move>& heap, const Order& order);
  void give_back(const Scene& at);
  void climb(const Scene& at);

  std::vector<Known> known_;
  std::vector<double> best_;  // by row: the slots on which a unit of its work costs least
  std::vector<double> slots_, value_;
  std::vector<Index> rows_;
  double free_ = 0.0;
  bool sums_ = false;              // shares by gains, not by the worst end
  std::vector<Move> ups_, downs_;  // heaps
};

}  // namespace malleable
