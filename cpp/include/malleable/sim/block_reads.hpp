// Blocks that map tasks read over the disks and links of a cluster.
//
// Links, each with its own bytes a second: every node's disk, every node's link out and in (full
// duplex). A byte from node a to node b crosses a's disk; if b is another node, a's link out and
// b's link in. Reads share these links max-min fairly (Bertsekas and Gallager 1992, Data Networks,
// section 6.5.2): the rates of all reads rise together until a link is full, whose reads stay as
// they are.
//
// All rates are found again when a read has begun or ended: O(nodes + reads log nodes).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

class BlockReads {
 public:
  explicit BlockReads(const ClusterView& cluster);
  // Whether anything is limited at all, so that bytes take time.
  bool limited() const { return limited_; }

  // A read rests until settle(). Whoever starts it names it, and gets that back when it ends.
  void start(Index from, Index to, double bytes, Index owner, double now);
  void stop(Index owner);
  void settle(double now);
  bool stale() const { return stale_; }
  double next_end() const { return next_end_; }
  // The first read that ends then, which has gone.
  Index end_next();

  // Reads from a node's disk that go on.
  std::int64_t reads_at(Index node) const { return reads_at_[node]; }
  // Bytes that have begun to move between nodes.
  double remote() const { return remote_; }

 private:
  struct Read {
    Index owner, from, to;
    double left, rate, since, end;
    double level = -1.0;  // its next rate; negative while it rises
  };
  struct Link {
    double capacity, room = 0.0;
    std::vector<Index> reads = {};  // places of reads
    Index rising = 0;               // of these
    bool stale = false;

    double level() const { return room > 0.0 ? room / rising : 0.0; }
  };

  template <typename Visit>
  void each_link(const Read& read, const Visit& visit);
  void share();
  void remove(Index place);
  void find_next_end();

  bool limited_ = false, stale_ = false;
  std::vector<Link> links_;  // disks, links out, links in
  std::vector<Read> reads_;  // by place; one that has gone has an owner kNone
  std::vector<Index> free_;  // places
  std::vector<std::int64_t> reads_at_;
  std::vector<std::pair<double, Index>> levels_;  // a heap: at which links fill up
  double next_end_ = kInfinity, remote_ = 0.0;
};

}  // namespace malleable
