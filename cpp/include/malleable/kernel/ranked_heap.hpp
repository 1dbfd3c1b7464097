// A priority queue of rows whose keys change, with a look at the smallest few that changes nothing.
//
// Rows are small integers that the caller hands out and reuses; each is in the queue at most once.
// Smaller keys first, ties by the smaller sequence number. A 4-ary heap with positions: set and
// erase O(log n), front O(1), the k smallest in order O(k log k) by best-first descent.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

class RankedHeap {
 public:
  struct Entry {
    double key;
    std::int64_t sequence;
    Index row;

    bool operator<(const Entry& other) const {
      return key < other.key || (key == other.key && sequence < other.sequence);
    }
    void state(State& s) { s(key, sequence, row); }
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Entry& front() const { return heap_.front(); }
  bool contains(Index row) const { return row < place_.size() && place_[row] != kAbsent; }

  // Puts the row in, or moves it to where its new key belongs.
  void set(Index row, double key, std::int64_t sequence) {
    if (row >= place_.size()) place_.resize(std::size_t{row} + 1, kAbsent);
    const Entry entry{key, sequence, row};
    if (place_[row] == kAbsent) {
      heap_.push_back(entry);
      rise(heap_.size() - 1, entry);
      return;
    }
    const std::size_t at = place_[row];
    if (entry < heap_[at]) {
      rise(at, entry);
    } else {
      sink(at, entry);
    }
  }

  // Nothing happens if the row is not in.
  void erase(Index row) {
    if (!contains(row)) return;
    const std::size_t at = place_[row];
    place_[row] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (last < heap_[at]) {
      rise(at, last);
    } else {
      sink(at, last);
    }
  }

  // Calls visit(entry) in order until it returns false. The heap must not change meanwhile.
  template <typename Visit>
  void visit_in_order(Visit visit) {
    open_.clear();
    if (heap_.empty()) return;
    const auto later = [this](Index a, Index b) { return heap_[b] < heap_[a]; };
    open_.push_back(0);
    while (!open_.empty()) {
      std::pop_heap(open_.begin(), open_.end(), later);
      const Index at = open_.back();
      open_.pop_back();
      if (!visit(heap_[at])) return;
      const std::size_t first = kWays * std::size_t{at} + 1;
      const std::size_t end = std::min(first + kWays, heap_.size());
      for (std::size_t child = first; child < end; ++child) {
        open_.push_back(static_cast<Index>(child));
        std::push_heap(open_.begin(), open_.end(), later);
      }
    }
  }

  void state(State& s) {
    s(heap_);
    if (!s.reading()) return;
    Index rows = 0;
    for (const Entry& entry : heap_) rows = std::max(rows, entry.row + 1);
    place_.assign(rows, kAbsent);
    for (std::size_t at = 0; at < heap_.size(); ++at) put(at, Entry(heap_[at]));
  }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr Index kAbsent = ~Index{0};

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.row] = static_cast<Index>(at);
  }
  void rise(std::size_t at, const Entry& entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kWays;
      if (!(entry < heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sink(std::size_t at, const Entry& entry) {
    for (;;) {
      const std::size_t first = kWays * at + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(first + kWays, heap_.size());
      std::size_t best = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child] < heap_[best]) best = child;
      }
      if (!(heap_[best] < entry)) break;
      put(at, heap_[best]);
      at = best;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<Index> place_;  // by row
  std::vector<Index> open_;
};

}  // namespace malleable
