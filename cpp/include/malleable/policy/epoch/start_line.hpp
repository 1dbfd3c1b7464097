// Which of the waiting jobs start now, each on its minimum; running jobs count with their minima.
//
// Jobs start in the order of their keys if their minima fit. A job that has waited too long comes
// before all others, by arrival. The first of these that does not fit gets a reservation: at the
// earliest time by which enough running jobs will have ended, if all stay on their minima. A later
// job may still start if it ends by then, or uses slots that are spare even then. A job that has
// not waited too long starts only if it is worth the slots that it takes from jobs that would grow:
// if it saves at least a part, kWorth, of what these save. So a start, which is not taken back,
// does not keep jobs that end soon from growing. O(n) to line up, O(log n) for each job that is
// looked at after that, until no slot is free. Allocates nothing once warm.
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
    bool late;       // it has waited too long
    double key;      // least first; for a late job its arrival
    double need;     // slots
    double seconds;  // until its end on these slots
    double gain;     // gain of the objective a second, on these slots
  };
  struct Running {
    double need, seconds;
  };
  // Slots that a running job would grow by, and what each of them gains a second.
  struct Growth {
    double gain, slots;
  };

  void clear();
  void wait(const Waiting& job) { waiting_.push_back(job); }
  void run(const Running& job) { running_.push_back(job); }
  // The next step of growth, by falling gain.
  void grow(const Growth& step) {
    growth_.push_back(step);
    grown_ += step.slots;
  }
  double grown() const { return grown_; }
  // Whether a job that is not late may start on `free` slots.
  bool asks(double free) const;
  // The rows that start, in order.
  const std::vector<Index>& start(double free);

 private:
  bool delays(const Waiting& job) const {
    return reserved_ && job.seconds > until_ * (1.0 + kAmple);
  }
  double lost(double slots, double free) const;
  bool may_start(const Waiting& job, double free) const;
  void shrink(double free);
  void reserve(double need, double free);
  void sift(double free);

  std::vector<Waiting> waiting_;
  std::vector<Running> running_;
  std::vector<Growth> growth_;
  std::vector<Index> started_;
  double grown_ = 0.0;  // sum of the slots of growth_
  bool reserved_ = false;
  double until_ = 0.0, spare_ = 0.0;  // time of the reservation, and the slots that are spare then
};

}  // namespace malleable
