// A queue of future events whose times never fall behind the event taken last.
//
// Times are spread over buckets by the leading bits of their binary form, which is a logarithmic
// scale with linear steps inside each power of two; two levels of bits tell which buckets hold
// events. A bucket of few events gives its earliest; one of many is sorted once, and what arrives
// in it after that waits in a binary heap. Push and pop take O(1) expected when times spread and
// O(log n) always, beyond a search of at most n / 512 words.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

struct Nothing {};

// The memory of a queue. An event may carry a payload, so that whoever takes it need not look it
// up. The queue itself is a value that lives in its user's registers; see start().
template <typename Payload = Nothing>
class EventCalendar {
 public:
  static constexpr Index kNone = ~Index{0};

  struct Event {
    double time;
    Index position;
    [[no_unique_address]] Payload payload;
  };

  class Queue;

  // An empty queue for positions below `count`, each waiting at most once at a time, with times
  // mostly in [first, last], first > 0. It ends when the next one starts.
  Queue start(std::size_t count, double first, double last) {
    heap_.clear();
    sorted_.clear();
    Queue queue;
    queue.own_ = this;
    // Few events: a plain binary heap.
    if (count <= 64 || !(first > 0.0) || !(last > first) || last == kInfinity) return queue;
    const std::uint64_t base = std::bit_cast<std::uint64_t>(first);
    const std::uint64_t range = std::bit_cast<std::uint64_t>(last) - base;
    // More buckets than events: a bucket with one event needs no sorting. Still more would cost
    // more in cache than they save (measured).
    const int shift = std::max(
        0, static_cast<int>(std::bit_width(range)) - static_cast<int>(std::bit_width(count)) - 2);
    const std::uint64_t buckets = (range >> shift) + 1;
    if (head_.size() < buckets) head_.resize(buckets);
    if (stored_.size() < count) stored_.resize(count);
    words_.assign(buckets / 64 + 1, 0);
    groups_.assign(words_.size() / 64 + 1, 0);
    queue.head_ = head_.data();
    queue.stored_ = stored_.data();
    queue.words_ = words_.data();
    queue.groups_ = groups_.data();
    queue.base_ = static_cast<std::int64_t>(base);
    queue.shift_ = shift;
    queue.last_ = static_cast<std::int64_t>(buckets - 1);
    queue.crowded_ = -1;
    return queue;
  }

 private:
  struct Stored {
    double time;
    Index next;  // in the same bucket, or in the list of free places
    Index position;
    [[no_unique_address]] Payload payload;
  };

  static bool earlier(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.position < b.position;
  }
  static bool later(const Event& a, const Event& b) { return earlier(b, a); }

  // The slow paths stand apart and take no address of the queue, which may so stay in registers.
  [[gnu::noinline]] void push_heap(Event event) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  [[gnu::noinline]] Event pop_crowd(bool* empty) {
    Event event;
    if (heap_.empty() || (!sorted_.empty() && earlier(sorted_.back(), heap_.front()))) {
      event = sorted_.back();
      sorted_.pop_back();
    } else {
      event = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    }
    *empty = sorted_.empty() && heap_.empty();
    return event;
  }

  // Takes a whole bucket.
  [[gnu::noinline]] void crowd(Index first) {
    for (Index p = first; p != kNone; p = stored_[p].next) {
      sorted_.push_back({stored_[p].time, stored_[p].position, stored_[p].payload});
    }
    std::sort(sorted_.begin(), sorted_.end(), later);
  }

  std::vector<Index> head_;
  std::vector<Stored> stored_;  // places are used again: what waits stays close together
  std::vector<std::uint64_t> words_, groups_;  // a bit for each bucket, for each word
  std::vector<Event> sorted_, heap_;  // of a crowded bucket; sorted_ ends with the earliest
};

template <typename Payload>
class EventCalendar<Payload>::Queue {
 public:
  // The earliest event, ties by position; time infinite and position kNone when there is none.
  const Event& front() const { return front_; }

  void push(double time, Index position, Payload payload = {}) {
    Event event{time, position, payload};
    if (earlier(event, front_)) {
      std::swap(event, front_);
      if (event.position == kNone) return;
    }
    const std::int64_t bucket = bucket_of(event.time);
    ++waiting_;
    if (bucket <= crowded_) {
      own_->push_heap(event);
      return;
    }
    const auto b = static_cast<std::uint64_t>(bucket), w = b / 64;
    const std::uint64_t word = words_[w];
    // No branch, which would often be mispredicted: an empty bucket's head turns into kNone.
    const auto empty = static_cast<Index>((word >> (b % 64) & 1) - 1);
    Index place = free_;
    if (place == kNone) {
      place = used_++;
    } else {
      free_ = stored_[place].next;
    }
    stored_[place] = {event.time, head_[b] | empty, event.position, event.payload};
    words_[w] = word | std::uint64_t{1} << (b % 64);
    groups_[w / 64] |= std::uint64_t{1} << (w % 64);
    head_[b] = place;
    word_ = std::min(word_, w);
  }

  void pop() {
    if (waiting_ == 0) {
      front_ = {kInfinity, kNone, {}};
      return;
    }
    --waiting_;
    if (crowded_ >= 0) {
      take_from_crowd();
      return;
    }
    std::uint64_t bits = words_[word_];
    if (bits == 0) {
      std::uint64_t group = word_ / 64;
      while (groups_[group] == 0) ++group;
      word_ = group * 64 + static_cast<std::uint64_t>(std::countr_zero(groups_[group]));
      bits = words_[word_];
    }
    const auto low = static_cast<std::uint64_t>(std::countr_zero(bits));
    const std::uint64_t bucket = word_ * 64 + low;
    const Index first = head_[bucket];
    const std::uint64_t rest = bits & (bits - 1);
    // Positions are scattered: fetch the next bucket's while this one is served.
    if (rest != 0) {
      __builtin_prefetch(
          &stored_[head_[word_ * 64 + static_cast<std::uint64_t>(std::countr_zero(rest))]]);
    }
    Stored& only = stored_[first];
    if (only.next == kNone) {
      front_ = {only.time, only.position, only.payload};
      only.next = free_;
      free_ = first;
      words_[word_] = rest;
      if (rest == 0) groups_[word_ / 64] &= ~(std::uint64_t{1} << (word_ % 64));
    } else {
      take_from_bucket(bucket, rest);
    }
  }

 private:
  friend class EventCalendar;
  static constexpr std::int64_t kAlways = std::int64_t{1} << 62;

  std::int64_t bucket_of(double time) const {
    const std::int64_t bits = std::bit_cast<std::int64_t>(time) - base_;
    return std::min(std::max(bits, std::int64_t{0}) >> shift_, last_);
  }

  void take_from_crowd() {
    bool empty = false;
    front_ = own_->pop_crowd(&empty);
    if (empty && crowded_ != kAlways) crowded_ = -1;
  }

  // A bucket of several events: unlinks the earliest, or hands all of them over.
  void take_from_bucket(std::uint64_t bucket, std::uint64_t rest) {
    Index *best = &head_[bucket], *link = best;
    int length = 0;
    for (; *link != kNone; link = &stored_[*link].next) {
      const Stored &a = stored_[*link], &b = stored_[*best];
      if (a.time != b.time ? a.time < b.time : a.position < b.position) best = link;
      ++length;
    }
    if (length > 8) {
      own_->crowd(head_[bucket]);
      *link = free_;
      free_ = head_[bucket];
      words_[word_] = rest;
      if (rest == 0) groups_[word_ / 64] &= ~(std::uint64_t{1} << (word_ % 64));
      crowded_ = static_cast<std::int64_t>(bucket);
      take_from_crowd();
      return;
    }
    const Index place = *best;
    Stored& taken = stored_[place];
    front_ = {taken.time, taken.position, taken.payload};
    *best = taken.next;
    taken.next = free_;
    free_ = place;
  }

  EventCalendar* own_ = nullptr;
  Index* head_ = nullptr;
  Stored* stored_ = nullptr;
  std::uint64_t *words_ = nullptr, *groups_ = nullptr;
  std::int64_t base_ = 0, last_ = 0;
  std::int64_t crowded_ = kAlways;  // up to this bucket events wait in the heap
  std::uint64_t word_ = 0;          // no bucket of an earlier word holds an event
  std::size_t waiting_ = 0;         // besides the front
  Index free_ = kNone, used_ = 0;   // places
  int shift_ = 0;
  Event front_{kInfinity, kNone, {}};
};

}  // namespace malleable
