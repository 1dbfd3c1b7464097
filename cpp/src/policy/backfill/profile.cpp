#include "malleable/policy/backfill/profile.hpp"

#include <algorithm>
#include <limits>

namespace malleable {

// Adds a step of the profile before step k.
void Profile::add_step(std::size_t k, double time) {
  times_.insert(times_.begin() + static_cast<std::ptrdiff_t>(k), time);
  steps_.resize(times_.size() * cells_);
  const auto from = steps_.begin() + static_cast<std::ptrdiff_t>((k - 1) * cells_);
  std::copy_backward(from, steps_.end() - static_cast<std::ptrdiff_t>(cells_), steps_.end());
}

// Finds a place for each job, one after the other. The search ends once all later jobs are wider
// than the slots that are free now.
void Profile::pass(const QueueMoment& at, std::vector<Cells::Taken>& taken) {
  taken.clear();
  narrowest_.resize(at.queue.size());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t k = narrowest_.size(); k-- > 0;) {
    narrowest_[k] = least = std::min(least, at.queue[k].width);
  }
  cells_ = at.cells.size();
  room_ = at.room;
  window_.from.assign(cells_, -kInfinity);
  times_.assign(1, at.now);
  steps_ = room_.cell;
  for (const TaskBundle& bundle : at.running) {
    const double end = std::max(bundle.end, at.now);
    if (end > times_.back()) add_step(times_.size(), end);
    step(times_.size() - 1)[bundle.cell].give(bundle.needs, bundle.slots);
  }
  for (Index place = 0; place < at.queue.size() && narrowest_[place] <= room_.free; ++place) {
    const QueuedJob& job = at.queue[place];
    const std::size_t first = earliest(at.cells, job);
    if (first == times_.size()) continue;  // without enough nodes it never fits
    const double end = times_[first] + job.seconds;
    std::int64_t tasks = job.width;
    own_.clear();
    if (first == 0) {
      const std::int64_t now_too =
          std::min(at.cells.most(room_, window_, job.needs, end), job.tasks);
      tasks = std::max(job.width, now_too / job.width * job.width);
      if (tasks <= now_too) {  // tasks that outlived their time may not have ended
        at.cells.take(room_, &window_, place, job.needs, end, tasks, own_);
        taken.insert(taken.end(), own_.begin(), own_.end());
      }
    }
    if (own_.empty()) {
      spot_.cell = window_.room;
      at.cells.take(spot_, nullptr, place, job.needs, end, tasks, own_);
    }
    auto last = static_cast<std::size_t>(std::ranges::lower_bound(times_, end) - times_.begin());
    if (last == times_.size() || times_[last] > end) add_step(last, end);
    for (std::size_t k = first; k < last; ++k) {
      for (const Cells::Taken& own : own_) step(k)[own.cell].give(job.needs, -own.tasks);
    }
  }
}

std::size_t Profile::earliest(const Cells& cells, const QueuedJob& job) {
  std::size_t first = 0;
  while (first < times_.size()) {
    window_.room.assign(step(first).begin(), step(first).end());
    const double end = times_[first] + job.seconds;
    bool fits = true;
    std::size_t k = first;
    for (; fits && k < times_.size() && (k == first || times_[k] < end); ++k) {
      for (std::size_t c = 0; c < cells_; ++c) window_.room[c].narrow(step(k)[c]);
      fits = cells.most(window_.room, job.needs) >= job.width;
    }
    if (fits) return first;
    first = cells.most(step(k - 1), job.needs) < job.width ? k : first + 1;
  }
  return first;
}

}  // namespace malleable
