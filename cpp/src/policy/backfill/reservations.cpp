#include "malleable/policy/backfill/reservations.hpp"

#include <algorithm>

namespace malleable {

void Reservations::pass(const QueueMoment& at, std::span<const Index> order, bool reserves,
                        bool holds, std::span<const std::int64_t> left,
                        std::vector<Cells::Taken>& taken) {
  taken.clear();
  holders_.clear();
  passed_ = at.room;
  const std::size_t cells = at.cells.size();
  reserved_.room.resize(cells);
  reserved_.from.assign(cells, kInfinity);
  std::size_t open = cells;  // cells without a reservation
  for (const Index place : order) {
    if (passed_.free == 0) return;
    const QueuedJob& job = at.queue[place];
    const std::int64_t width = std::min(job.width, left[place]);
    if (width == 0) continue;
    const double end = at.now + job.seconds;
    std::int64_t free = passed_.free;
    if (cells == 1 && end > reserved_.from[0]) free = std::min(free, reserved_.room[0].slots);
    if (open == 0 && width > free) continue;
    const std::int64_t room_for = at.cells.most(passed_, reserved_, job.needs, end);
    const std::int64_t tasks = std::min(room_for, left[place]) / width * width;
    at.cells.take(passed_, &reserved_, place, job.needs, end, tasks, taken);
    if (tasks == left[place] || open == 0) continue;
    if (!holds && job.overdue > at.now) continue;
    const std::int64_t rest = std::min(job.width, left[place] - tasks);
    const std::size_t held = reserve(at, reserves, taken, job.needs, rest);
    if (held > 0) holders_.push_back(place);
    open -= held;
    if (open == 0 && !reserves) return;
  }
}

// The time at which the tasks have room, if running and started tasks end as expected, becomes the
// shadow time of all cells where they may run, unless a cell has one.
std::size_t Reservations::reserve(const QueueMoment& at, bool reserves,
                                  std::span<const Cells::Taken> taken, const TaskNeeds& needs,
                                  std::int64_t tasks) {
  std::size_t cells = 0;
  for (std::size_t c = 0; c < at.cells.size(); ++c) {
    if (!at.cells.may_run_in(c, needs)) continue;
    if (reserved_.from[c] < kInfinity) return 0;
    ++cells;
  }
  const double shadow = reserves ? find_room(at, taken, needs, tasks) : -kInfinity;
  if (shadow == kInfinity) return 0;
  for (std::size_t c = 0; c < at.cells.size(); ++c) {
    if (!at.cells.may_run_in(c, needs)) continue;
    reserved_.from[c] = shadow;
    reserved_.room[c] = reserves ? then_.cell[c] : NodeRoom{};
  }
  return cells;
}

// Then then_ is the room beside the tasks.
double Reservations::find_room(const QueueMoment& at, std::span<const Cells::Taken> taken,
                               const TaskNeeds& needs, std::int64_t tasks) {
  ahead_.clear();
  for (const Cells::Taken& own : taken) {
    const QueuedJob& job = at.queue[own.place];
    ahead_.push_back({at.now + job.seconds, job.rank, job.job, own.tasks, own.cell, job.needs});
  }
  std::size_t late = 0;  // bundles that outlived their time, which count as ending at once
  for (; late < at.running.size() && at.running[late].end < at.now; ++late) {
    ahead_.push_back(at.running[late]);
    ahead_.back().end = at.now;
  }
  std::sort(ahead_.begin(), ahead_.end());
  then_ = passed_;
  std::int64_t fits = at.cells.most(then_.cell, needs);
  std::size_t k = 0;
  for (std::size_t r = late; k < ahead_.size() || r < at.running.size();) {
    const bool own = r == at.running.size() || (k < ahead_.size() && ahead_[k] < at.running[r]);
    const TaskBundle& first = own ? ahead_[k++] : at.running[r++];
    NodeRoom& room = then_.cell[first.cell];
    fits -= at.cells.fit(room, first.cell, needs);
    room.give(first.needs, first.slots);
    fits += at.cells.fit(room, first.cell, needs);
    if (fits < tasks) continue;
    spare_.clear();
    at.cells.take(then_, nullptr, 0, needs, at.now, tasks, spare_);
    return first.end;
  }
  return kInfinity;
}

}  // namespace malleable
