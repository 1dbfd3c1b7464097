// Slots of started jobs, if some speed-ups are below linear: starting from the slots that jobs
// hold, slots move one by one to the job that gains most, as long as another job loses less.
//
// If the objective is a sum: the gain of a slot is what it adds to the job's rate, times the value
// of a unit of its work: what the unit costs now, (stake + price s) / rate(s) on s slots, at one
// price of slots for all jobs. For penalties that rise at deadlines the stake grows as these come
// near, and short jobs come first. For a maximum: the job with the worst end comes first, and slots
// come from jobs that stay better off without them. A step is one slot, or 1/32 of what a job has.
// A job's rates are computed again only when its slots change: O(J) a decision, and O(log J) for
// each change of slots.
#pragma once

#include <vector>

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

// The stake of a job: its penalty for a second, or for being late once, if it ends after `left`
// seconds, and after `soonest` at the earliest. A penalty at a later time counts e times less for
// every `ahead` seconds until then.
double stake(const Scene& at, std::size_t row, double left, double soonest, double ahead);

// Its penalty if it ends then, of kinds that are lines; negative if it is early.
double lateness_at(const Scene& at, std::size_t row, double end);

// Whether jobs start and share as for a sum. This holds for a maximum of stretches, too, because
// many jobs soon have nearly the worst stretch, and the sum's rule keeps the queue short.
inline bool as_sum(const Scene& at) { return at.sums() || at.jobs.all(Kind::kStretch); }

class StartShares {
 public:
  // Whether it can share for these jobs and options.
  static bool applies(const Scene& at);
  // All jobs have their minima, which fit. False: some table is not concave, so that one step does
  // not say what the next one gains.
  bool decide(Scene& at);
  // Forgets data derived from the speed-up of a row, which may have changed.
  void forget(std::size_t row) {
    if (row < known_.size()) known_[row] = {};
  }

 private:
  // Kept for a row on `slots`, from `low` to `most`: its rate, and the change of the rate per slot
  // by the next step of slots (up) and by the last one (down). These steps are
  // `more` and `less` slots.
  struct Known {
    std::int64_t id = -1;
    double slots = 0.0, low = 0.0, most = 0.0;
    double rate = 0.0, up = 0.0, down = 0.0, more = 0.0, less = 0.0;
    double fastest = 0.0;  // rate on `most`
    bool rough = false;    // its table is not concave
  };
  struct Move {
    double gain, slots;  // a job on `slots` slots
    Index row;
  };

  // Sets slots_ to what jobs hold, within their limits; false: some table is not concave.
  bool begin(const Scene& at);
  // Computes the Known of a row on its slots.
  void look(const Scene& at, Index row);
  // Computes value_.
  void weigh(const Scene& at);
  // Puts a step more and a step less of the job on the heaps.
  void offer(const Scene& at, Index row);
  // The job holds so many slots from now on.
  void move(const Scene& at, Index row, double slots);
  // The first move of a heap, after dropping those of jobs that hold other slots by now.
  template <typename Order>
  const Move* first(std::vector<Move>& heap, const Order& order);
  // Moves slots while a job gains more than another loses.
  void climb(const Scene& at);

  std::vector<Known> known_;           // by row
  std::vector<double> slots_, value_;  // by row: slots, and the value of a unit of work
  std::vector<Index> rows_;
  double free_ = 0.0;              // slots
  std::vector<Move> ups_, downs_;  // heaps
};

}  // namespace malleable
