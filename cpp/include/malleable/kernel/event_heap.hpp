// A heap of events, the earliest first: four children to a node, compared without branches.
//
// `Earlier` is a strict total order of waiting events, written without branches: the next event
// cannot be predicted, and a wrong guess of the processor costs more than a comparison. push takes
// O(1) expected and O(log n) at worst, pop O(log n). Allocates nothing once warm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

template <typename Event, typename Earlier>
class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  void clear() { events_.clear(); }
  const Event& front() const { return events_.front(); }

  void push(const Event& event) {
    std::size_t place = events_.size();
    events_.push_back(event);
    for (; place > 0 && earlier_(event, events_[(place - 1) / 4]); place = (place - 1) / 4) {
      events_[place] = events_[(place - 1) / 4];
    }
    events_[place] = event;
  }

  Event pop() {
    const Event first = events_.front(), last = events_.back();
    events_.pop_back();
    if (events_.empty()) return first;
    Event* const at = events_.data();
    const std::size_t n = events_.size();
    // Down to a leaf, then up again to where the last one belongs: mostly that is the leaf.
    std::size_t place = 0, child = 1;
    for (; child + 3 < n; child = 4 * place + 1) {
      const std::size_t left = child + (earlier_(at[child + 1], at[child]) ? 1 : 0);
      const std::size_t right = child + 2 + (earlier_(at[child + 3], at[child + 2]) ? 1 : 0);
      const std::size_t best = earlier_(at[right], at[left]) ? right : left;
      at[place] = at[best];
      place = best;
    }
    if (child < n) {
      std::size_t best = child;
      for (std::size_t k = child + 1; k < n; ++k) best = earlier_(at[k], at[best]) ? k : best;
      at[place] = at[best];
      place = best;
    }
    for (; place > 0 && earlier_(last, at[(place - 1) / 4]); place = (place - 1) / 4) {
      at[place] = at[(place - 1) / 4];
    }
    at[place] = last;
    return first;
  }

 private:
  std::vector<Event> events_;
  [[no_unique_address]] Earlier earlier_;
};

// The time at which a job's slots change. The event without a time comes last and says that no
// event is left.
struct JobEvent {
  double time = kInfinity;
  double slots = 0.0;      // those that the job has until then, and frees
  Index position = kNone;  // of the job in the order
  Index job = 0;
};
struct EarlierJobEvent {  // ties by position
  bool operator()(const JobEvent& a, const JobEvent& b) const {
    return (a.time < b.time) | ((a.time == b.time) & (a.position < b.position));
  }
};
using JobEvents = EventHeap<JobEvent, EarlierJobEvent>;

// An empty heap: its front is the event without a time.
inline void start_empty(JobEvents& events) {
  events.clear();
  events.push({});
}

// The same events by time, in spans of equal length up to a horizon, and one for all later times. A
// span is a pairing heap of events. If events are spread over the horizon, push and pop take O(1)
// expected, otherwise O(log n) amortized. Allocates nothing once warm.
class JobCalendar {
 public:
  // Makes it empty, for events of so many positions; its front is the event without a time.
  void start(std::size_t positions, double horizon) {
    const std::size_t last = std::min(2 * positions, kMostSpans);
    spans_.assign(last + 1, kNone);
    nodes_.resize(positions + 1);
    nodes_[positions] = {};
    spans_[last] = static_cast<Index>(positions);
    first_ = last;
    last_ = static_cast<double>(last);
    rate_ = last_ / horizon;
  }
  const JobEvent& front() {
    while (spans_[first_] == kNone) ++first_;
    return nodes_[spans_[first_]].event;
  }
  void push(const JobEvent& event) {
    const auto at = static_cast<std::size_t>(std::min(last_, event.time * rate_));
    first_ = std::min(first_, at);
    nodes_[event.position] = {event};
    spans_[at] = join(spans_[at], event.position);
  }
  // Removes the front.
  void pop() {
    Index next = nodes_[spans_[first_]].child, pairs = kNone, root = kNone;
    while (next != kNone) {
      const Index one = next, other = nodes_[one].sibling;
      next = other == kNone ? kNone : nodes_[other].sibling;
      const Index pair = join(other, one);
      nodes_[pair].sibling = std::exchange(pairs, pair);
    }
    while (pairs != kNone) {
      const Index pair = std::exchange(pairs, nodes_[pairs].sibling);
      root = join(root, pair);
    }
    spans_[first_] = root;
  }

 private:
  static constexpr std::size_t kMostSpans = 1 << 15;  // so that they stay in a near cache
  struct Node {  // by position: an event, the first later event below it, the next one beside it
    JobEvent event = {};
    Index child = kNone, sibling = kNone;
  };
  // The heap of two; the first one may be kNone.
  Index join(Index a, Index b) {
    if (a == kNone) return b;
    if (EarlierJobEvent()(nodes_[b].event, nodes_[a].event)) std::swap(a, b);
    nodes_[b].sibling = std::exchange(nodes_[a].child, b);
    return a;
  }

  std::vector<Index> spans_;  // the earliest event of each
  std::vector<Node> nodes_;
  std::size_t first_ = 0;           // no event is in a span before it
  double last_ = 0.0, rate_ = 0.0;  // the span of later times; spans a second
};

}  // namespace malleable
