// One pass over a backfill queue: which jobs start now, and what is reserved for jobs that do not
// fit (EASY, FCFS).
//
// In each partition the first job that does not fit gets a reservation: the slots of running jobs
// are added up by their expected ends until the job fits (the shadow time). Later jobs start if
// they end before, or if they have room beside the reservation. Without reservations (FCFS) no job
// starts after the first one that does not fit. O(C (Q + R)) for Q jobs that wait, R bundles that
// run and C cells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/policy/backfill/cells.hpp"

namespace malleable {

// A job in the queue; its place there is its number in the pool's queue.
struct QueuedJob {
  double key = 0.0;
  Index rank = 0, job = 0;  // rank: place in the order of arrivals, which breaks ties
  Phase phase = kMap;
  std::int64_t width = 1, tasks = 0;                // tasks that may start
  double seconds = 0.0, since = 0.0, weight = 1.0;  // requested; time since which it waits
  double overdue = 0.0;                             // time from which it goes first
  TaskNeeds needs = {};

  bool operator<(const QueuedJob& other) const {
    return key != other.key ? key < other.key : rank < other.rank;
  }
};

struct TaskBundle {  // running tasks that are expected to end together
  double end;
  Index rank, job;
  std::int64_t slots;
  Index cell;
  TaskNeeds needs;

  bool operator<(const TaskBundle& other) const {
    return end != other.end ? end < other.end : rank < other.rank;
  }
  void state(State& s) { s(end, rank, job, slots, cell, needs); }
};

// What is known at a moment: `running` by end, then rank; `room` now.
struct QueueMoment {
  const Cells& cells;
  std::span<const QueuedJob> queue;
  std::span<const TaskBundle> running;
  const Cells::Room& room;
  double now;
};

class Reservations {
 public:
  // Lists in `taken` the tasks that start now, in an order of places. `left`: by place, the tasks
  // that have not started. `reserves`: for the first job that does not fit; else it ends the pass.
  // `holds`: false if only jobs that have waited too long get a reservation.
  void pass(const QueueMoment& at, std::span<const Index> order, bool reserves, bool holds,
            std::span<const std::int64_t> left, std::vector<Cells::Taken>& taken);
  // Places with a reservation by the last pass.
  const std::vector<Index>& holders() const { return holders_; }

 private:
  // Makes a reservation in all cells without one where the tasks may run; returns their number.
  std::size_t reserve(const QueueMoment& at, bool reserves, std::span<const Cells::Taken> taken,
                      const TaskNeeds& needs, std::int64_t tasks);
  // The time at which so many tasks have room; infinite if never.
  double find_room(const QueueMoment& at, std::span<const Cells::Taken> taken,
                   const TaskNeeds& needs, std::int64_t tasks);

  Cells::Room passed_, then_;  // room in the pass; at a time that is tried
  Cells::Reserved reserved_;
  std::vector<Index> holders_;
  std::vector<Cells::Taken> spare_;
  std::vector<TaskBundle> ahead_;  // bundles that start in the pass
};

}  // namespace malleable
