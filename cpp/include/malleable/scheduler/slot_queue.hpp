// Free slots in the order in which they became free: a ring of their nodes that never grows.
//
// All O(1), but for `erase`, O(slots).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

class SlotQueue {
 public:
  // Room for all slots, all of them free: one of each node in turn.
  void reset(std::span<const std::int64_t> slots) {
    std::size_t all = 0;
    for (const std::int64_t count : slots) all += static_cast<std::size_t>(count);
    ring_.resize(all);
    head_ = size_ = 0;
    for (std::int64_t turn = 0; size_ < all; ++turn) {
      for (std::size_t node = 0; node < slots.size(); ++node) {
        if (slots[node] > turn) ring_[size_++] = static_cast<Index>(node);
      }
    }
  }

  std::size_t size() const { return size_; }
  void push(Index node) {
    std::size_t place = head_ + size_++;
    if (place >= ring_.size()) place -= ring_.size();
    ring_[place] = node;
  }
  Index pop() {
    const Index node = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
    --size_;
    return node;
  }
  // All slots of a node.
  void erase(Index node) {
    for (std::size_t left = size_; left > 0; --left) {
      const Index other = pop();
      if (other != node) push(other);
    }
  }

 private:
  std::vector<Index> ring_;
  std::size_t head_ = 0, size_ = 0;
};

}  // namespace malleable
