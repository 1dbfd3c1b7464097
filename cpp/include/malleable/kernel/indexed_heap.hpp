// A binary heap of numbered items whose keys change: least key first, ties to the lower rank.
//
// push, change and erase take O(log n), top and `second` O(1). Ranks are given for all items when
// the heap is reset, or with an item's key; no two inside are alike, so the order is total.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

class IndexedHeap {
 public:
  // Empty, for items 0 .. rank.size() - 1.
  void reset(std::span<const Index> rank) {
    entries_.clear();
    place_.assign(rank.size(), kAbsent);
    rank_.assign(rank.begin(), rank.end());
  }

  // For more items, up to so many.
  void grow(std::size_t count) {
    place_.resize(count, kAbsent);
    rank_.resize(count, 0);
  }
  // Of an item that is not inside.
  void set_rank(Index item, Index rank) {
    assert(place_[item] == kAbsent);
    rank_[item] = rank;
  }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  bool contains(Index item) const { return place_[item] != kAbsent; }
  Index top() const { return entries_[0].item; }
  double top_key() const { return entries_[0].key; }

  // Would `item` with this key still come first if the top were its only rival gone?
  bool before_second(double key, Index item) const {
    const Entry entry{key, rank_[item], item};
    for (std::size_t k = 1; k < 3 && k < entries_.size(); ++k) {
      if (less(entries_[k], entry)) return false;
    }
    return true;
  }

  // Inserts, or changes the key.
  void set(Index item, double key) {
    const Index place = place_[item];
    if (place == kAbsent) {
      entries_.push_back({key, rank_[item], item});
      up(entries_.size() - 1);
      return;
    }
    const double old = entries_[place].key;
    if (key == old) return;
    entries_[place].key = key;
    if (key < old) {
      up(place);
    } else {
      down(place);
    }
  }

  // Inserts, or changes the key, and the rank.
  void set(Index item, double key, Index rank) {
    rank_[item] = rank;
    const Index place = place_[item];
    if (place == kAbsent) {
      set(item, key);
      return;
    }
    entries_[place].key = key;
    entries_[place].rank = rank;
    up(place);
    down(place_[item]);
  }

  void erase(Index item) {
    const Index place = place_[item];
    if (place == kAbsent) return;
    place_[item] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place == entries_.size()) return;
    entries_[place] = last;
    place_[last.item] = place;
    up(place);
    down(place_[last.item]);
  }

 private:
  static constexpr Index kAbsent = ~Index{0};
  struct Entry {
    double key;
    Index rank;
    Index item;
  };
  static bool less(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
  }

  void up(std::size_t k) {
    const Entry entry = entries_[k];
    while (k > 0 && less(entry, entries_[(k - 1) / 2])) {
      place(k, entries_[(k - 1) / 2]);
      k = (k - 1) / 2;
    }
    place(k, entry);
  }

  void down(std::size_t k) {
    const Entry entry = entries_[k];
    for (;;) {
      std::size_t child = 2 * k + 1;
      if (child >= entries_.size()) break;
      if (child + 1 < entries_.size() && less(entries_[child + 1], entries_[child])) ++child;
      if (!less(entries_[child], entry)) break;
      place(k, entries_[child]);
      k = child;
    }
    place(k, entry);
  }

  void place(std::size_t k, const Entry& entry) {
    entries_[k] = entry;
    place_[entry.item] = static_cast<Index>(k);
  }

  std::vector<Entry> entries_;
  std::vector<Index> place_, rank_;
};

}  // namespace malleable
