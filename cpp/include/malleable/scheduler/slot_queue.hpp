// Free slots in the order in which they became free; if speeds differ, slots of fast nodes first. A
// ring of nodes for each speed, which never grows.
//
// All O(speeds), except `erase`, O(slots).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/domain.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class SlotQueue {
 public:
  // Sets by node the place of its speed, 0 for the fastest; without this call all are equal. Call
  // it before reset().
  void set_speeds(std::span<const Index> speed) { speed_.assign(speed.begin(), speed.end()); }
  // Makes all slots free, one of each node in turn.
  void reset(std::span<const std::int64_t> slots) {
    for (Ring& ring : rings_) ring.nodes.clear();  // which keeps its memory
    std::size_t all = 0;
    for (std::size_t node = 0; node < slots.size(); ++node) {
      if (speed_of(node) >= rings_.size()) rings_.resize(speed_of(node) + 1);
      std::vector<Index>& nodes = rings_[speed_of(node)].nodes;
      nodes.resize(nodes.size() + static_cast<std::size_t>(slots[node]));
      all += static_cast<std::size_t>(slots[node]);
    }
    for (Ring& ring : rings_) ring.head = ring.size = 0;
    size_ = 0;
    for (std::int64_t turn = 0; size_ < all; ++turn) {
      for (std::size_t node = 0; node < slots.size(); ++node) {
        if (slots[node] > turn) push(static_cast<Index>(node));
      }
    }
  }

  std::size_t size() const { return size_; }
  // The place of the speed of the next pop(), and the number of free slots of that speed; size() >
  // 0.
  std::size_t speed() const {
    std::size_t speed = 0;
    while (rings_[speed].size == 0) ++speed;
    return speed;
  }
  std::size_t alike() const { return rings_[speed()].size; }
  void push(Index node) {
    rings_[speed_of(node)].push(node);
    ++size_;
  }
  Index pop() {
    --size_;
    return rings_[speed()].pop();
  }
  // Removes slots of a node, by default all.
  void erase(Index node, std::int64_t most = kMostSlots) {
    Ring& ring = rings_[speed_of(node)];
    for (std::size_t left = ring.size; left > 0; --left) {
      const Index other = ring.pop();
      if (other == node && most > 0) {
        --most;
        --size_;
      } else {
        ring.push(other);
      }
    }
  }

 private:
  struct Ring {
    std::vector<Index> nodes;
    std::size_t head = 0, size = 0;

    void push(Index node) {
      std::size_t place = head + size++;
      if (place >= nodes.size()) place -= nodes.size();
      nodes[place] = node;
    }
    Index pop() {
      const Index node = nodes[head];
      if (++head == nodes.size()) head = 0;
      --size;
      return node;
    }
  };
  std::size_t speed_of(std::size_t node) const { return speed_.empty() ? 0 : speed_[node]; }

  std::vector<Index> speed_;    // by node
  std::vector<Ring> rings_{1};  // by speed
  std::size_t size_ = 0;
};

}  // namespace malleable
