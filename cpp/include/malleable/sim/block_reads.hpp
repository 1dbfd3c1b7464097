// Blocks that map tasks read over the disks and links of a cluster.
//
// Links, each with its own bytes a second: every node's disk, every node's link out and in (full
// duplex). A byte from node a to node b crosses a's disk; if b is another node, a's link out and
// b's link in. Reads share these links max-min fairly (Bertsekas and Gallager 1992, Data Networks,
// section 6.5.2): the rates of all reads rise together until a link is full; the rates of its reads
// then stay.
//
// When a read begins or ends, all rates are computed again: O(nodes + reads log nodes).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

class BlockReads {
 public:
  explicit BlockReads(const ClusterView& cluster);
  // Whether any disk or link is limited, so that bytes take time.
  bool limited() const { return limited_; }

  // Starts a read, which begins to move at settle(). end_next() returns `owner` when it ends.
  void start(Index from, Index to, double bytes, Index owner, double now);
  void stop(Index owner);
  // Computes all rates again; needed while stale(), after reads began or ended.
  void settle(double now);
  bool stale() const { return stale_; }
  double next_end() const { return next_end_; }
  // Removes the first read that ends then, and returns its owner.
  Index end_next();

  // Number of unfinished reads from a node's disk.
  std::int64_t reads_at(Index node) const { return reads_at_[node]; }
  // Bytes that have begun to move between nodes.
  double remote() const { return remote_; }

 private:
  struct Read {
    Index owner, from, to;
    double left, rate, since, end;  // bytes left at `since`, bytes a second, and the end then
    double level = -1.0;            // the next rate; negative while it rises
  };
  struct Link {
    double capacity, room = 0.0;    // bytes a second; those that fixed rates leave
    std::vector<Index> reads = {};  // places of reads
    Index rising = 0;               // reads whose rate still rises
    bool stale = false;

    // The rate of each rising read at which the link is full.
    double level() const { return room > 0.0 ? room / rising : 0.0; }
  };

  template <typename Visit>
  void each_link(const Read& read, const Visit& visit);
  // Computes max-min fair rates.
  void share();
  void remove(Index place);
  void find_next_end();

  bool limited_ = false, stale_ = false;  // some speed is finite; rates must be computed again
  std::vector<Link> links_;               // disks, links out, links in
  std::vector<Read> reads_;               // by place; a place without a read has the owner kNone
  std::vector<Index> free_;               // places
  std::vector<std::int64_t> reads_at_;    // by node: reads from its disk
  std::vector<std::pair<double, Index>> levels_;  // a heap: the levels at which links fill up
  double next_end_ = kInfinity, remote_ = 0.0;    // remote_: bytes read from other nodes
};

}  // namespace malleable
