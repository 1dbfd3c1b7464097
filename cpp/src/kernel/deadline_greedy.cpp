#include "malleable/kernel/deadline_greedy.hpp"

#include <algorithm>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: a flow's jobs are replaced by pseudo-jobs, a chain of amounts of work, each with the
// number of slots it can use (kernel/flow_chains.hpp); `height` is the number of slots of a
// pseudo-job, or of a piece of it. Intervals cut time where the number of free slots changes;
// `jump` leads on from full ones (path halving).
void DeadlineGreedy::reset(double slots) {
  slots_ = slots;
  intervals_.clear();
  intervals_.push_back({0.0, slots, kNone, 0});
}

// The first interval from i on that has a free slot; the last one of all always does.
Index DeadlineGreedy::find(Index i) {
  Index root = i;
  while (intervals_[root].jump != root) root = intervals_[root].jump;
  while (intervals_[i].jump != root) {
    const Index next = intervals_[i].jump;
    intervals_[i].jump = root;
    i = next;
  }
  return root;
}

// The first interval with a free slot that ends after `time`.
Index DeadlineGreedy::at(double time) {
  Index i = find(0);
  while (intervals_[i].next != kNone && intervals_[intervals_[i].next].start <= time) {
    i = find(intervals_[i].next);
  }
  return i;
}

// Lets the pseudo-jobs of a flow take all free slots they can use, as early as possible after
// `release`; returns the end of the last one.
double DeadlineGreedy::place(const FlowChains& chains, Index flow, double release,
                             ChainPieces* pieces) {
  double time = release;
  Index i = time > 0.0 ? at(time) : find(0);
  const std::size_t stop = chains.offset[flow + 1];
  for (std::size_t k = chains.offset[flow]; k < stop; ++k) {
    const double height = chains.height[k], work = chains.work(k);
    double left = work;
    while (left > 0.0) {
      const double from = std::max(time, intervals_[i].start);
      const double slots = std::min(height, intervals_[i].free);
      const Index next = intervals_[i].next;
      const double end = next == kNone ? kInfinity : intervals_[next].start;
      double until = end;
      // Work left by rounding counts as done.
      if (slots * (end - from) >= left - kRounding * work) {
        until = std::min(end, from + left / slots);
        left = 0.0;
      } else {
        left -= slots * (end - from);
      }
      if (until > from) {
        if (pieces != nullptr) {
          pieces->pseudo_job.push_back(k);
          pieces->start.push_back(from);
          pieces->end.push_back(until);
          pieces->height.push_back(slots);
        }
        if (from > intervals_[i].start) {  // cut off what lies before
          const auto cut = static_cast<Index>(intervals_.size());
          intervals_.push_back({from, intervals_[i].free, next, cut});
          intervals_[i].next = cut;
          i = cut;
        }
        if (until < end) {  // and what lies behind
          const auto cut = static_cast<Index>(intervals_.size());
          intervals_.push_back({until, intervals_[i].free, next, cut});
          intervals_[i].next = cut;
        }
        intervals_[i].free -= slots;
      }
      time = until;  // even if the work is too little to change the time
      const Index behind = intervals_[i].next;
      if (intervals_[i].free == 0.0) intervals_[i].jump = behind;
      // This interval is used up, unless it goes on beyond `until`.
      if (behind != kNone && intervals_[behind].start <= until) i = find(behind);
    }
    if (pieces != nullptr) pieces->done[k] = time;
  }
  if (pieces != nullptr) {
    pieces->flow.push_back(flow);
    pieces->offset.push_back(pieces->pseudo_job.size());
  }
  return time;
}

}  // namespace malleable
