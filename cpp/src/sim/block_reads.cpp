// Reads of blocks share links. With n nodes, link k is the storage of node k, n + k its way out,
// and 2 n + k its way in; a read from another node uses three. Rates are max-min fair: all rise
// together, and the link whose level (its room by its rising reads) is least fixes its reads first.
#include "malleable/sim/block_reads.hpp"

#include <algorithm>
#include <functional>

namespace malleable {

BlockReads::BlockReads(const ClusterView& cluster) : reads_at_(cluster.size(), 0) {
  for (const auto& speeds : {cluster.storage, cluster.link, cluster.link}) {
    for (const double speed : speeds) {
      links_.push_back({speed});
      limited_ |= speed < kInfinity;
    }
  }
}

template <typename Visit>
void BlockReads::each_link(const Read& read, const Visit& visit) {
  const std::size_t nodes = reads_at_.size();
  visit(links_[read.from]);
  if (read.from == read.to) return;
  visit(links_[nodes + read.from]);
  visit(links_[2 * nodes + read.to]);
}

// A task (`owner`) reads so many bytes from a node.
void BlockReads::start(Index from, Index to, double bytes, Index owner, double now) {
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(reads_.size()));
    reads_.emplace_back();
  }
  reads_[free_.back()] = {owner, from, to, bytes, 0.0, now, kInfinity};
  free_.pop_back();
  ++reads_at_[from];
  if (from != to) remote_ += bytes;
  stale_ = true;
}

void BlockReads::remove(Index place) {
  Read& read = reads_[place];
  --reads_at_[read.from];
  read.owner = kNone;
  read.end = kInfinity;
  free_.push_back(place);
  stale_ = true;
  find_next_end();
}

void BlockReads::stop(Index owner) {
  const auto found = std::find_if(reads_.begin(), reads_.end(),
                                  [&](const Read& read) { return read.owner == owner; });
  remove(static_cast<Index>(found - reads_.begin()));
}

Index BlockReads::end_next() {
  const auto first = std::find_if(reads_.begin(), reads_.end(),
                                  [&](const Read& read) { return read.end == next_end_; });
  const Index owner = first->owner;
  remove(static_cast<Index>(first - reads_.begin()));
  return owner;
}

void BlockReads::find_next_end() {
  next_end_ = kInfinity;
  for (const Read& read : reads_) next_end_ = std::min(next_end_, read.end);
}

// Fixes the rates of the reads of the link that fills up first; then of the next one.
void BlockReads::share() {
  for (Link& link : links_) {
    link.room = link.capacity;
    link.reads.clear();
    link.stale = false;
  }
  for (std::size_t k = 0; k < reads_.size(); ++k) {
    if (reads_[k].owner == kNone) continue;
    reads_[k].level = -1.0;
    each_link(reads_[k], [&](Link& link) { link.reads.push_back(static_cast<Index>(k)); });
  }
  levels_.clear();
  for (std::size_t k = 0; k < links_.size(); ++k) {
    Link& link = links_[k];
    link.rising = static_cast<Index>(link.reads.size());
    if (link.rising > 0) levels_.emplace_back(link.level(), static_cast<Index>(k));
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    auto& [level, place] = levels_.back();
    Link& link = links_[place];
    if (link.rising > 0 && std::exchange(link.stale, false)) {
      level = std::max(level, link.level());
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      continue;
    }
    const double rate = level;
    levels_.pop_back();
    for (const Index k : link.reads) {
      if (reads_[k].level >= 0.0) continue;
      reads_[k].level = rate;
      each_link(reads_[k], [&](Link& other) {
        other.room -= rate;
        --other.rising;
        other.stale = true;
      });
    }
  }
}

// Computes all rates again after reads have come or gone, and moves the ends.
void BlockReads::settle(double now) {
  stale_ = false;
  share();
  for (Read& read : reads_) {
    if (read.owner == kNone || read.rate == read.level) continue;
    read.left = std::max(0.0, read.left - read.rate * (now - read.since));
    read.since = now;
    read.rate = read.level;
    read.end = now + read.left / read.rate;
  }
  find_next_end();
}

}  // namespace malleable
