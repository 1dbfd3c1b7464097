// Which of the waiting jobs start now, each on its minimum; running jobs count with their minima.
//
// Jobs start in the order of their keys if their minima fit. The first job that does not fit and
// may have a reservation gets one: at the earliest time by which enough running jobs will
// have ended, if all stay on their minima. A later job may still start if it ends by then, or uses
// slots that are spare even then. A patient job starts only if it is worth the slots that it takes
// from jobs that would grow: if it saves at least a part, kWorth, of what these save. So a start,
// which cannot be undone, does not stop jobs that end soon from growing. O(n) to line up, O(log n)
// for each job that is looked at after that, until no slot is free. Allocates nothing once warm.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

class StartLine {
 public:
  struct Waiting {
    Index row;
    bool reserves;   // it may have a reservation
    bool patient;    // it starts only if it is worth the slots
    double key;      // the least is first
    double need;     // slots
    double seconds;  // until its end on these slots
    double gain;     // gain of the objective a second, on these slots
  };
  struct Running {
    double need, seconds;
  };

  void clear();
  void wait(const Waiting& job) { waiting_.push_back(job); }
  void run(const Running& job) { running_.push_back(job); }
  // A running job would grow by so many slots, each of which gains so much a second.
  void grow(double gain, double slots) { growth_.push_back({gain, slots}); }
  // The rows that start, in order.
  const std::vector<Index>& start(double free);

 private:
  // Slots that a running job would grow by, and what each of them gains a second.
  struct Growth {
    double gain, slots;
  };
  // A step of growth, and slots and gain of all steps up to it.
  struct Ranked {
    double gain, slots, all;
  };

  // Whether the job would still run when the reservation begins.
  bool delays(const Waiting& job) const {
    return reserved_ && job.seconds > until_ * (1.0 + kAmple);
  }
  // Keeps the steps of growth that gain most, as far as they use the free slots.
  void choose_growth(double free);
  // The gain of the least of these slots, so many of them.
  double least_gain(double slots);
  bool may_start(const Waiting& job, double free);
  // Reserves slots for a job at the earliest time at which it fits.
  void reserve(double need, double free);
  // Drops jobs that may not start, except the first one that may have a reservation.
  void sift(double free);

  std::vector<Waiting> waiting_;
  std::vector<Running> running_;
  std::vector<Growth> growth_;  // a heap; the least gain is first
  std::vector<Ranked> ranked_;  // steps that have left the heap
  double free_ = 0.0;           // slots at first
  std::vector<Index> started_;
  bool reserved_ = false;
  double until_ = 0.0, spare_ = 0.0;  // time of the reservation, and the slots that are spare then
};

}  // namespace malleable
