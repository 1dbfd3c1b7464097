#include "malleable/kernel/event_calendar.hpp"

#include <utility>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

using Event = EventCalendar::Event;

// For n events there are n / 8 to n / 2 buckets. Most events lie within a few powers of two, so
// most buckets stay empty.
constexpr int kSparse = 3;
constexpr std::size_t kMostRanked = 64;  // beyond this a comparison sort is faster
constexpr std::size_t kFewEvents = 24;   // so many are kept in order whatever their buckets

bool earlier(const Event& a, const Event& b) {
  return a.time != b.time ? a.time < b.time : a.position < b.position;
}
bool later(const Event& a, const Event& b) { return earlier(b, a); }

constexpr std::size_t kRankLanes = 8;

// How many of the `count` times lie before each. Reads and ranks up to the next multiple of eight,
// where infinite times stand. False if some are equal. O(count^2).
MALLEABLE_VECTOR_CLONES
bool rank_times(const double* times, std::size_t count, std::uint32_t* rank) {
  std::int64_t sum[kRankLanes] = {};
  for (std::size_t k = 0; k < count; k += kRankLanes) {
    std::int64_t before[kRankLanes] = {};
    for (std::size_t first = 0; first < count; first += kRankLanes) {
#pragma GCC unroll 8
      for (std::size_t i = first; i < first + kRankLanes; ++i) {
        const double time = times[i];
#pragma omp simd
        for (std::size_t lane = 0; lane < kRankLanes; ++lane) {
          before[lane] += time < times[k + lane] ? 1 : 0;
        }
      }
    }
#pragma omp simd
    for (std::size_t lane = 0; lane < kRankLanes; ++lane) {
      rank[k + lane] = static_cast<std::uint32_t>(before[lane]);
      sum[lane] += k + lane < count ? before[lane] : 0;
    }
  }
  std::int64_t all = 0;
  for (const std::int64_t part : sum) all += part;
  return all == static_cast<std::int64_t>(count * (count - 1) / 2);
}

}  // namespace

EventCalendar::Queue EventCalendar::start(std::size_t count, double first, double last) {
  heap_.clear();
  used_ = waiting_ = 0;
  if (run_.empty()) more_room();
  end_ = &run_[1];
  *end_ = Event{};
  scale_ = {};
  Queue queue;
  queue.own_ = this;
  queue.state_ = {end_, end_ + 1};
  current_ = 0;
  // Few events: all of them in one sorted run.
  if (count <= kMostRanked || !(first > 0.0) || !(last > first) || last == kInfinity) return queue;
  scale_.base = std::bit_cast<std::int64_t>(first);
  const auto range = static_cast<std::uint64_t>(std::bit_cast<std::int64_t>(last) - scale_.base);
  scale_.shift = std::max(0, static_cast<int>(std::bit_width(range)) + kSparse -
                                 static_cast<int>(std::bit_width(count)));
  const std::uint64_t buckets = (range >> scale_.shift) + 1;
  scale_.last = static_cast<std::int64_t>(buckets - 1);
  head_.assign(buckets, kNone);
  words_.assign(buckets / 64 + 1, 0);
  for (std::size_t k = 0; k < free_.size(); ++k) free_[k] = static_cast<Index>(k);
  queue.state_ = {end_, end_};
  current_ = -1;
  queue.scale_ = scale_;
  return queue;
}

void EventCalendar::more_blocks() {
  const std::size_t blocks = free_.size(), more = std::max<std::size_t>(64, 2 * blocks);
  free_.resize(more);
  link_.resize(more);
  stored_.resize(more * kBlock);
  for (std::size_t k = blocks; k < more; ++k) free_[k] = static_cast<Index>(k);
}

// For buckets and runs twice as long.
void EventCalendar::more_room() {
  const std::size_t more = std::max(2 * kMostRanked, 2 * taken_.size());
  taken_.resize(more);
  rank_.resize(more);
  times_.resize(more);
  run_.resize(2 * more);
}

// An event for the run.
EventCalendar::State EventCalendar::insert(Event* at, double time, double slots, Index position,
                                           Index job) {
  const Event event{time, slots, position, job};
  const auto live = static_cast<std::size_t>(end_ - at);
  if (live >= kFewEvents && heap_.empty()) {
    // Those of later buckets go back.
    const std::int64_t front = scale_.bucket(at->time);
    if (front < current_) {
      for (std::int64_t b; (b = scale_.bucket(end_[-1].time)) > front;) store(b, *--end_);
      *end_ = Event{};
      current_ = front;
      const std::int64_t bucket = scale_.bucket(event.time);
      if (bucket <= front) return insert(at, time, slots, position, job);
      store(bucket, event);
      return {at, end_};
    }
  }
  if (live >= kMostRanked) {
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
    return {at, run_.data()};
  }
  if (end_ + 1 == run_.data() + run_.size()) {  // back to the start of the run's memory
    std::move(at, end_ + 1, &run_[1]);
    at = &run_[1];
    end_ = at + live;
  }
  Event* to = end_++;
  *end_ = Event{};
  for (; to > at && earlier(event, to[-1]); --to) *to = to[-1];
  *to = event;
  return {at, heap_.empty() ? end_ : run_.data()};
}

// Puts the earliest event at the front of the run.
EventCalendar::State EventCalendar::settle(Event* at) {
  if (!heap_.empty()) {
    if (earlier(heap_.front(), *at)) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      if (at == run_.data()) {
        std::swap(*at, heap_.back());
        std::push_heap(heap_.begin(), heap_.end(), later);
      } else {
        *--at = heap_.back();
        heap_.pop_back();
      }
    }
    return {at, heap_.empty() ? end_ : run_.data()};
  }
  if (waiting_ > 0) {
    const auto after = static_cast<std::uint64_t>(current_ + 1);
    std::uint64_t w = after / 64, bits = words_[w] & (~std::uint64_t{0} << (after % 64));
    while (bits == 0) bits = words_[++w];
    words_[w] &= bits - 1;
    current_ = static_cast<std::int64_t>(w * 64) + std::countr_zero(bits);
    take(static_cast<std::size_t>(current_));
    at = &run_[1];
  }
  // Where nothing waits in buckets, whatever comes next goes into the run.
  if (waiting_ == 0) current_ = scale_.last;
  return {at, at < end_ ? end_ : at + 1};
}

// Takes a whole bucket into the run, sorted.
void EventCalendar::take(std::size_t bucket) {
  std::size_t size = 0;
  for (Index last = std::exchange(head_[bucket], kNone); last != kNone;) {
    if (size + 2 * kBlock > taken_.size()) more_room();
    const Index block = last / kBlock;
    for (Index k = 0; k < kBlock; ++k) {  // a fixed number is quicker than the right one
      taken_[size + k] = block * kBlock + k;
      times_[size + k] = stored_[block * kBlock + k].time;
    }
    size += last % kBlock + 1;
    last = link_[block];
    free_[--used_] = block;
  }
  std::fill_n(&times_[size], kRankLanes, kInfinity);
  waiting_ -= size;
  Event* const run = &run_[1];
  end_ = run + size;
  *end_ = Event{};
  if (size <= kMostRanked && rank_times(times_.data(), size, rank_.data())) {
    for (std::size_t k = 0; k < size; ++k) run[rank_[k]] = stored_[taken_[k]];
  } else {
    for (std::size_t k = 0; k < size; ++k) run[k] = stored_[taken_[k]];
    std::sort(run, end_, earlier);
  }
}

}  // namespace malleable
