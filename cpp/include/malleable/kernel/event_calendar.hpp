// A queue of future events whose times never fall behind the event taken last.
//
// Times are spread over buckets by the leading bits of their binary form, which is a logarithmic
// scale with linear steps inside each power of two; a bit tells whether a bucket holds events. The
// earliest bucket is taken whole and sorted: of few events by counting for each how many come
// before it, which needs no branch that nobody could predict. What arrives for a bucket after that
// is put in its place, or in a binary heap where they are many. Push and pop take O(1) expected
// when times spread and O(log n) always, beyond a search through the buckets' bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

// The memory of a queue, and the paths of it that are rare. The queue itself is a value that lives
// in its user's registers; see start().
class EventCalendar {
 public:
  // Carries what whoever takes it wants to know about its job, so as not to look it up.
  struct Event {
    double time = kInfinity;
    double slots = 0.0;
    Index position = kNone;
    Index job = 0;
  };

  class Queue;

  // An empty queue for about `count` events, with times mostly in [first, last], first > 0. It ends
  // when the next one starts. Allocates nothing once warm.
  Queue start(std::size_t count, double first, double last);

 private:
  static constexpr Index kBlock = 8;  // events of a bucket that lie side by side; a power of two

  // Where a queue stands: its front, and the end of what may be taken without a further look.
  struct State {
    Event *at, *stop;
  };
  // How buckets follow from times.
  struct Scale {
    std::int64_t base = 0, last = 0;
    int shift = 0;
    std::int64_t bucket(double time) const {
      const std::int64_t bits = std::bit_cast<std::int64_t>(time) - base;
      return std::min(std::max(bits, std::int64_t{0}) >> shift, last);
    }
  };

  // Without a branch that depends on the time, which comes late and cannot be foreseen. An empty
  // bucket's kNone looks like the last place of a full block.
  void store(std::int64_t bucket, Event event) {
    const auto b = static_cast<std::uint64_t>(bucket), w = b / 64;
    if (used_ == free_.size()) more_blocks();
    const Index last = head_[b], next = last + 1, block = free_[used_];
    const Index full = next % kBlock == 0 ? 1 : 0, all = Index{0} - full;
    link_[block] = last;
    used_ += full;
    const Index place = next ^ ((next ^ block * kBlock) & all);
    head_[b] = place;
    Event& stored = stored_[place];
    stored.time = event.time;
    stored.slots = event.slots;
    stored.position = event.position;
    stored.job = event.job;
    words_[w] |= std::uint64_t{1} << (b % 64);
    ++waiting_;
  }

  // Numbers, not the event: its address would keep it out of registers.
  State insert(Event* at, double time, double slots, Index position, Index job);
  State settle(Event* at);
  void take(std::size_t bucket);
  void more_blocks();
  void more_room();

  Scale scale_;
  std::int64_t current_ = 0;          // events of buckets up to here are in the run or the heap
  std::vector<Index> head_;           // per bucket: the place of the event stored last
  std::vector<std::uint64_t> words_;  // a bit for each bucket
  std::vector<Event> stored_;  // in blocks, which are used again: what waits stays close together
  std::vector<Index> link_;    // per block: the last place of the bucket's block before it
  std::vector<Index> free_;    // blocks; those before used_ are in use
  std::size_t used_ = 0, waiting_ = 0;  // blocks; events in buckets
  std::vector<Event> run_;  // sorted, from the front to end_, where no event stands; room before it
  Event* end_ = nullptr;
  std::vector<Event> heap_;   // besides the run
  std::vector<Index> taken_;  // places of the bucket taken, with their times and ranks
  std::vector<double> times_;
  std::vector<std::uint32_t> rank_;
};

class EventCalendar::Queue {
 public:
  // The earliest event, ties by position; time infinite and position kNone when there is none.
  const Event& front() {
    if (state_.at >= state_.stop) state_ = own_->settle(state_.at);
    return *state_.at;
  }

  void push(Event event) {
    const std::int64_t bucket = scale_.bucket(event.time);
    if (bucket <= own_->current_) {
      state_ = own_->insert(state_.at, event.time, event.slots, event.position, event.job);
    } else {
      own_->store(bucket, event);
    }
  }

  // Takes away the front, which front() has shown.
  void pop() { ++state_.at; }

 private:
  friend class EventCalendar;

  EventCalendar* own_ = nullptr;
  State state_{};
  Scale scale_;
};

}  // namespace malleable
