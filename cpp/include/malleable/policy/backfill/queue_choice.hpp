// The order in which AUTO goes through a backfill queue: it plays EASY for the present jobs to
// their end with several orders, and follows the one with the best objective for some changes.
//
// Orders: arrival, shortest first, seconds times the square root of slots, and shortest first where
// only a job that waited for long has a reservation. In each of them a job goes first, by arrival,
// once its time `overdue` has come. Orders other than arrival must be better by a tenth. The order
// is chosen again when the jobs that came or ended are one for 32 waiting jobs. O(C Q (Q + R)) an
// order for Q jobs that wait, R bundles that run and C cells, only where orders differ in what they
// start now.
#pragma once

#include <span>
#include <vector>

#include "malleable/policy/backfill/reservations.hpp"

namespace malleable {

// Puts jobs that have waited too long first, by arrival. Returns the time at which the next job
// will have.
double put_first(std::span<const QueuedJob> queue, std::span<Index> order, double now);

class QueueChoice {
 public:
  struct Followed {
    Index order = kNone;
    std::size_t changes = 0;  // jobs that came or ended since it was chosen

    void state(State& s) { s(order, changes); }
  };
  // Lists in `taken` the starts of the best order; returns the places with a reservation. With
  // `stretch`, ends count over the job's seconds.
  std::span<const Index> choose(const QueueMoment& at, bool stretch, Followed& followed,
                                std::vector<Cells::Taken>& taken);

 private:
  struct Play {
    std::vector<Index> order;         // places in the queue
    bool holds = true;                // the first job that does not fit gets a reservation
    std::vector<Cells::Taken> first;  // tasks that start now, by place
    std::vector<Index> holders;       // places with a reservation now
  };
  // The cost of an order if no jobs come; infinite once it exceeds `least`.
  double play_out(const QueueMoment& at, bool stretch, Play& play, double least);
  void make_orders(const QueueMoment& at);
  void count_left(std::span<const QueuedJob> queue);

  Reservations reservations_;
  std::vector<Play> plays_;
  std::vector<std::int64_t> left_;  // by place: tasks that have not started
  Cells::Room room_;                // in a play
  std::vector<TaskBundle> ends_;    // running bundles of a play
  std::vector<Cells::Taken> step_;  // starts of a play's step
};

}  // namespace malleable
