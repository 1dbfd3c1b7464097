// A queue of future events whose times never fall behind the event taken last.
//
// Times are spread over buckets by the leading bits of their binary form, which is a logarithmic
// scale with linear steps inside each power of two; a bucket is sorted only when its turn comes,
// and what arrives in it after that waits in a binary heap. Push and pop take O(1) expected when
// times spread and O(log n) always.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

struct Event {
  double time;
  Index position;
};

class EventCalendar {
 public:
  static constexpr Index kNone = ~Index{0};

  // An empty queue for positions below `count`, with times mostly in [first, last], first > 0.
  void reset(std::size_t count, double first, double last) {
    heap_.clear();
    sorted_.clear();
    front_ = {kInfinity, kNone};
    waiting_ = 0;
    current_ = 0;
    // Few events: one bucket, that is, a plain binary heap.
    if (count <= 64 || !(first > 0.0) || !(last > first) || last == kInfinity) {
      buckets_ = 1;
      return;
    }
    base_ = std::bit_cast<std::uint64_t>(first);
    const std::uint64_t range = std::bit_cast<std::uint64_t>(last) - base_;
    // More buckets than events: a bucket with one event needs no sorting. Still more would cost
    // more in cache than they save (measured).
    shift_ = std::max(
        0, static_cast<int>(std::bit_width(range)) - static_cast<int>(std::bit_width(count)) - 3);
    buckets_ = (range >> shift_) + 1;
    head_.resize(buckets_);
    occupied_.assign(buckets_ / 64 + 1, 0);
    if (stored_.size() < count) stored_.resize(count);
  }

  // The earliest event, ties by position; time infinite and position kNone when there is none.
  const Event& front() const { return front_; }

  void push(double time, Index position) {
    if (earlier({time, position}, front_)) {
      const Event old = front_;
      front_ = {time, position};
      if (old.position != kNone) store(old);
    } else {
      store({time, position});
    }
  }

  void pop() {
    if (!sorted_.empty()) {
      if (heap_.empty() || earlier(sorted_.back(), heap_.front())) {
        front_ = sorted_.back();
        sorted_.pop_back();
      } else {
        pop_heap();
      }
    } else if (!heap_.empty()) {
      pop_heap();
    } else if (waiting_ > 0) {
      open_next_bucket();
    } else {
      front_ = {kInfinity, kNone};
    }
  }

 private:
  static bool earlier(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.position < b.position;
  }
  static bool later(const Event& a, const Event& b) { return earlier(b, a); }

  std::size_t bucket_of(double time) const {
    if (buckets_ == 1) return 0;
    const auto bits = std::bit_cast<std::uint64_t>(time);
    if (bits <= base_) return 0;
    return std::min<std::size_t>((bits - base_) >> shift_, buckets_ - 1);
  }

  void store(const Event& event) {
    const std::size_t bucket = bucket_of(event.time);
    if (bucket <= current_) {
      heap_.push_back(event);
      std::push_heap(heap_.begin(), heap_.end(), later);
      return;
    }
    const std::uint64_t bit = std::uint64_t{1} << (bucket % 64);
    std::uint64_t& word = occupied_[bucket / 64];
    stored_[event.position] = {event.time, (word & bit) ? head_[bucket] : kNone};
    word |= bit;
    head_[bucket] = event.position;
    ++waiting_;
  }

  void pop_heap() {
    front_ = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }

  // Called when everything up to the current bucket is gone.
  void open_next_bucket() {
    std::size_t word = (current_ + 1) / 64;
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << ((current_ + 1) % 64));
    while (bits == 0) bits = occupied_[++word];
    current_ = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    const Index first = head_[current_];
    // Positions are scattered: fetch the next bucket's while this one is served.
    bits &= bits - 1;
    if (bits != 0) {
      const std::size_t next = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      __builtin_prefetch(&stored_[head_[next]]);
    }
    --waiting_;
    front_ = {stored_[first].time, first};
    if (stored_[first].next == kNone) return;
    sorted_.push_back(front_);
    for (Index p = stored_[first].next; p != kNone; p = stored_[p].next) {
      --waiting_;
      sorted_.push_back({stored_[p].time, p});
    }
    if (sorted_.size() > 8) {
      std::sort(sorted_.begin(), sorted_.end(), later);
    } else {
      for (std::size_t k = 1; k < sorted_.size(); ++k) {
        for (std::size_t i = k; i > 0 && later(sorted_[i], sorted_[i - 1]); --i) {
          std::swap(sorted_[i], sorted_[i - 1]);
        }
      }
    }
    front_ = sorted_.back();
    sorted_.pop_back();
  }

  struct Stored {
    double time;
    Index next;  // in the same bucket
  };

  Event front_{kInfinity, kNone};
  std::size_t buckets_ = 1, current_ = 0, waiting_ = 0;
  std::uint64_t base_ = 0;
  int shift_ = 0;
  std::vector<Index> head_;
  std::vector<Stored> stored_;
  std::vector<std::uint64_t> occupied_;
  std::vector<Event> sorted_, heap_;  // of the current bucket; sorted_ ends with the earliest
};

}  // namespace malleable
