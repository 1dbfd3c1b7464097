// A priority queue of numbered items whose keys change: least key first.
//
// Items are small integers that the caller hands out and may use again; each is in the queue at
// most once. No two inside have equal keys, so the order is total: IndexedHeap has numbers as keys,
// and ties go to the lower rank. A 4-ary heap with positions: set and erase O(log n), top O(1), the
// k first in order O(k log k) by best-first descent.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// `Key` has operator<.
template <typename Key>
class KeyedHeap {
 public:
  struct Entry : Key {
    Index item;
    void state(State& s) {
      Key::state(s);
      s(item);
    }
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  bool contains(Index item) const { return item < place_.size() && place_[item] != kNone; }
  Index top() const { return heap_[0].item; }
  const Key& top_key() const { return heap_[0]; }
  std::span<const Entry> entries() const { return heap_; }  // in no order

  // Inserts, or changes the key.
  void set(Index item, const Key& key) {
    if (item >= place_.size()) place_.resize(std::size_t{item} + 1, kNone);
    const Entry entry{key, item};
    if (place_[item] == kNone) {
      heap_.push_back(entry);
      rise(heap_.size() - 1, entry);
    } else if (const Key& now = heap_[place_[item]]; now < key || key < now) {
      move(place_[item], entry);
    }
  }

  // Nothing happens if the item is not in.
  void erase(Index item) {
    if (!contains(item)) return;
    const std::size_t at = place_[item];
    place_[item] = kNone;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) move(at, last);
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
      const std::size_t first = kWays * at + 1, end = std::min(first + kWays, heap_.size());
      for (std::size_t child = first; child < end; ++child) {
        open_.push_back(static_cast<Index>(child));
        std::push_heap(open_.begin(), open_.end(), later);
      }
    }
  }

 protected:
  static constexpr std::size_t kWays = 4;  // children of a node

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.item] = static_cast<Index>(at);
  }
  // Moves the entry from `at`, whose content may be overwritten, to where it belongs.
  void move(std::size_t at, const Entry& entry) {
    if (entry < heap_[at]) {
      rise(at, entry);
    } else {
      sink(at, entry);
    }
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
  std::vector<Index> place_;  // by item
  std::vector<Index> open_;   // places that a visit in order may take next
};

struct RankedKey {
  double key;
  std::int64_t rank;

  bool operator<(const RankedKey& other) const {
    return key != other.key ? key < other.key : rank < other.rank;
  }
  void state(State& s) { s(key, rank); }
};

class IndexedHeap : public KeyedHeap<RankedKey> {
 public:
  // Empties the queue, for items 0 .. rank.size() - 1 with these ranks.
  void reset(std::span<const Index> rank) {
    heap_.clear();
    place_.assign(rank.size(), kNone);
    rank_.assign(rank.begin(), rank.end());
  }
  // Makes room for items below `count`.
  void grow(std::size_t count) {
    place_.resize(count, kNone);
    rank_.resize(count, 0);
  }
  // Sets the rank of an item that is not inside.
  void set_rank(Index item, Index rank) {
    assert(place_[item] == kNone);
    rank_[item] = rank;
  }
  double top_key() const { return heap_[0].key; }

  // Would the top item still come first if its key were `key`? That is: is it before all others?
  bool before_second(double key, Index item) const {
    const RankedKey own{key, rank_[item]};
    return std::none_of(heap_.begin() + 1, heap_.begin() + std::min(heap_.size(), kWays + 1),
                        [&](const Entry& other) { return other < own; });
  }

  // Inserts, or changes the key; the item has a rank.
  void set(Index item, double key) { KeyedHeap::set(item, {key, rank_[item]}); }
  // Inserts, or changes key and rank.
  void set(Index item, double key, std::int64_t rank) {
    if (item >= rank_.size()) rank_.resize(std::size_t{item} + 1);
    rank_[item] = rank;
    KeyedHeap::set(item, {key, rank});
  }

  void state(State& s) {
    s(heap_);
    if (!s.reading()) return;
    std::size_t items = 0;
    for (const Entry& entry : heap_) items = std::max(items, std::size_t{entry.item} + 1);
    place_.assign(items, kNone);
    rank_.resize(items);
    for (std::size_t at = 0; at < heap_.size(); ++at) {
      place_[heap_[at].item] = static_cast<Index>(at);
      rank_[heap_[at].item] = heap_[at].rank;
    }
  }

 private:
  std::vector<std::int64_t> rank_;  // by item, as far as known
};

}  // namespace malleable
