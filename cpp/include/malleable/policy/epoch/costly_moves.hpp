// Changes of slots that cost their jobs time (a job's restart, model/restarts.hpp): a decision of
// any rule keeps only the changes that gain more than they cost.
//
// A rule says where slots are best, but not by how much. A change gains a running job a part of its
// time, in proportion to the square of the relative change, because losses are flat near the best
// slots. A job without slots gains the time until some job ends. A change costs its restart: the
// seconds of the job, and the seconds of its slots, at the weight of all present jobs over all
// slots, and more if jobs keep coming. So the dearer a change and the sooner a job ends, the
// farther its slots may be from its best slots. Jobs that want more slots then get them, the
// largest gain per slot first, if the gain is more than the smallest loss of other jobs that can
// give them. If sizes are unknown, a job that loses all slots also waits: until some job ends, or
// the job that takes them, if that is sooner. So jobs of which the same is guessed do not take
// turns. All other jobs keep their slots, except that a change is made at any cost if the job has
// no work left, or holds more than its maximum or less than its minimum.
//
// A second counts by the weight of its job (stretch: over its size), for every objective. O(J log
// J) for the J jobs whose slots change; no work while all changes are free.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class CostlyMoves {
 public:
  // Before a rule decides.
  void begin(const Scene& at);
  // After it.
  void settle(Scene& at);
  // Whether the rule wanted other slots for the job, but the change costs more than it gains.
  bool keeps(std::size_t row) const { return settled_ && slots_[row] != wanted_[row]; }

 private:
  struct Move {
    Index row;
    std::int64_t slots;  // that change hands
    double gain;         // of the job that takes them; the loss of a job that gives them
    // Seconds that a job must wait that gives all of its slots to this one; and what each second of
    // waiting costs the job that gives.
    double wait = 0.0, each_second = 0.0;
    double each() const { return gain / static_cast<double>(slots); }
  };
  // The seconds until the job ends, its restart included, with so many slots from now on.
  double seconds(const Scene& at, std::size_t row, std::int64_t slots) const;
  // What the change costs: the restart's seconds of the job and of its slots.
  double loss(const Scene& at, std::size_t row, std::int64_t from, std::int64_t to) const;
  // Whether the rule's change is made at any cost.
  bool must(const Scene& at, std::size_t row) const;
  // Lists the jobs that want more slots (takers_) and the jobs that want fewer (givers_).
  void list_moves(const Scene& at);
  // Takes slots from givers until so many are free; false if they would lose more than `gain`.
  bool give_way(double gain, std::int64_t needed, double wait);
  // Gives a taker its slots if that pays.
  void take(const Scene& at, const Move& taker);
  // Gives free slots to jobs that then end earlier.
  void fill(const Scene& at);

  // Some change of slots costs a job time; this decision is settled.
  bool costs_ = false, settled_ = false;
  std::vector<std::int64_t> held_, wanted_, slots_;  // before, by the rule, in the end
  std::vector<Move> takers_, givers_;
  std::size_t given_way_ = 0;  // so many of givers_
  std::int64_t free_ = 0;
  double price_ = 0.0;  // of a slot-second
};

}  // namespace malleable
