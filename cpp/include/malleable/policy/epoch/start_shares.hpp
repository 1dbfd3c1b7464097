// Slots of started jobs whose speed-ups are below linear, or of which the worst one counts: from
// what they hold, slot by slot to whom it helps most, as long as somebody else loses less by it.
//
// Sums: a slot helps by what it adds to a job's rate, times the value of a unit of its work (see
// policy/concave): the least of (stake + price s) / rate(s) over slot counts s, at one price of
// slots for all. Penalties that rise at deadlines have a stake that grows as these come near, and
// short jobs come first. Maxima: whoever ends worst is first, and slots come from whom it leaves
// better off than that. Tables that are not concave change from corner to corner of their hulls;
// others by a slot, or by 1/32 of what they have. What is known of a job's rates is kept while its
// slots stay: O(J) a decision, and O(log J) for each change of slots.
#pragma once

#include <span>
#include <vector>

#include "malleable/model/state.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

// What a job pays for a second now, or for being late once, if it ends after `left` seconds, and
// after `soonest` at the earliest. What it pays at a later time counts e times less for every
// `ahead` seconds until then.
double stake(const Scene& at, std::size_t row, double left, double soonest, double ahead);

// Whether jobs start and share as for a sum. Of a maximum of stretches, too: the job that has
// waited longest for its size is soon one of many, and the sum's rule keeps the line short.
inline bool as_sum(const Scene& at) { return at.sums() || at.jobs.all(Kind::kStretch); }

class StartShares {
 public:
  // Whether it knows what these jobs pay, and how decisions are made.
  static bool applies(const Scene& at);

  // A new row, the last one; rows that leave.
  void come();
  void close(const RowsGone& gone);
  // What was worked out of the speed-up of a row, which may have changed.
  void forget(std::size_t row) { known_[row] = {}; }

  // Slots by row: `least` by row, which all together fit; jobs below 0 have none.
  std::span<const double> share(const Scene& at, std::span<const double> least);

  void state(State& s);

 private:
  struct Corner {
    double slots, rate;
  };
  // Of a row on so many slots, from `least` to `most`: its rate, and what the next step of slots
  // and the last one do, a slot.
  struct Known {
    double slots = -1.0, least = -1.0, most = -1.0;
    double rate = 0.0, up = 0.0, down = 0.0, more = 0.0, less = 0.0;
    double best_rate = 0.0, before = 0.0, after = 0.0;  // on best_ slots, one less, one more
    std::vector<Corner> hull;                           // of a table that is not concave
  };
  struct Move {
    double gain, slots;  // of whoever has so many
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
  std::vector<double> best_;  // by row: slots on which a unit of its work costs least
  std::vector<double> slots_, value_;
  std::vector<Index> rows_;
  double free_ = 0.0;
  bool sums_ = false;              // by gains, not by the worst
  std::vector<Move> ups_, downs_;  // heaps
};

}  // namespace malleable
