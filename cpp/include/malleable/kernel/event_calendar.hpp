// A queue of future events whose times never fall behind the event taken last.
//
// Times are spread over buckets by the leading bits of their binary form, which is a logarithmic
// scale with linear steps inside each power of two; a bucket is sorted only when its turn comes, and
// what arrives in it after that waits in a binary heap. Push and pop take O(1) expected when times
// spread and O(log n) always.
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
  // An empty queue for positions below `count`, with times mostly in [first, last], first > 0.
  void reset(std::size_t count, double first, double last) {
    heap_.clear();
    sorted_.clear();
    waiting_ = 0;
    current_ = 0;
    // Few events: one bucket, that is, a plain binary heap.
    if (count <= 64 || !(first > 0.0) || !(last > first) || last == kInfinity) {
      buckets_ = 1;
      return;
    }
    base_ = std::bit_cast<std::uint64_t>(first);
    const std::uint64_t range = std::bit_cast<std::uint64_t>(last) - base_;
    shift_ = std::max(0, static_cast<int>(std::bit_width(range)) -
                             static_cast<int>(std::bit_width(count)) - 3);
    buckets_ = (range >> shift_) + 1;
    head_.resize(buckets_);
    occupied_.assign(buckets_ / 64 + 1, 0);
    if (stored_.size() < count) stored_.resize(count);
  }

  void push(double time, Index position) {
    const std::size_t bucket = bucket_of(time);
    if (bucket <= current_) {
      heap_.push_back({time, position});
      std::push_heap(heap_.begin(), heap_.end(), later);
      return;
    }
    const std::uint64_t bit = std::uint64_t{1} << (bucket % 64);
    std::uint64_t& word = occupied_[bucket / 64];
    stored_[position] = {time, (word & bit) ? head_[bucket] : kNone};
    word |= bit;
    head_[bucket] = position;
    ++waiting_;
  }

  // The earliest event, ties by position, among those for which keep(position) holds; others are
  // dropped for good. Null when there is none. Valid until the next call.
  template <typename Keep>
  const Event* top(Keep keep) {
    for (;;) {
      while (!sorted_.empty() && !keep(sorted_.back().position)) sorted_.pop_back();
      while (!heap_.empty() && !keep(heap_.front().position)) pop_heap();
      if (!sorted_.empty()) {
        from_heap_ = !heap_.empty() && later(sorted_.back(), heap_.front());
        return from_heap_ ? &heap_.front() : &sorted_.back();
      }
      if (!heap_.empty()) {
        from_heap_ = true;
        return &heap_.front();
      }
      if (waiting_ == 0) return nullptr;
      open_next_bucket(keep);
    }
  }

  // Removes the event that top() returned last.
  void pop() {
    if (from_heap_) {
      pop_heap();
    } else {
      sorted_.pop_back();
    }
  }

 private:
  static constexpr Index kNone = ~Index{0};

  static bool later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.position > b.position;
  }

  std::size_t bucket_of(double time) const {
    if (buckets_ == 1) return 0;
    const auto bits = std::bit_cast<std::uint64_t>(time);
    if (bits <= base_) return 0;
    return std::min<std::size_t>((bits - base_) >> shift_, buckets_ - 1);
  }

  void pop_heap() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }

  template <typename Keep>
  void open_next_bucket(Keep keep) {
    std::size_t word = (current_ + 1) / 64;
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << ((current_ + 1) % 64));
    while (bits == 0) bits = occupied_[++word];
    current_ = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    sorted_.clear();
    for (Index p = head_[current_]; p != kNone; p = stored_[p].next) {
      --waiting_;
      if (keep(p)) sorted_.push_back({stored_[p].time, p});
    }
    if (sorted_.size() > 8) {
      std::sort(sorted_.begin(), sorted_.end(), later);
      return;
    }
    for (std::size_t k = 1; k < sorted_.size(); ++k) {
      for (std::size_t i = k; i > 0 && later(sorted_[i], sorted_[i - 1]); --i) {
        std::swap(sorted_[i], sorted_[i - 1]);
      }
    }
  }

  struct Stored {
    double time;
    Index next;  // in the same bucket
  };

  std::size_t buckets_ = 1, current_ = 0, waiting_ = 0;
  std::uint64_t base_ = 0;
  int shift_ = 0;
  bool from_heap_ = false;
  std::vector<Index> head_;
  std::vector<Stored> stored_;
  std::vector<std::uint64_t> occupied_;
  std::vector<Event> sorted_, heap_;  // of the current bucket; sorted_ ends with the earliest
};

}  // namespace malleable
