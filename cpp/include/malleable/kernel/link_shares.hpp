// Transfers between nodes whose links are shared as fluids.
//
// A transfer from node a to node b goes at
//     min(storage_a, link_a / transfers at a, link_b / transfers at b),
// every link being shared in equal parts among the transfers into and out of its node. What a
// transfer cannot use of its part is not handed on, so rates depend on two nodes only and a start
// or stop changes the transfers of those: O(transfers at the two nodes). Nothing is allocated once
// warm.
#pragma once

#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

class LinkShares {
 public:
  // No transfers; bytes a second of each node.
  void reset(std::span<const double> link, std::span<const double> storage);

  // Rates are those after the next settle(); until then nothing moves, so both happen at one time.
  // `from` and `to` differ. Numbers of transfers that have stopped are used again.
  Index start(Index from, Index to, double bytes, double now);
  void stop(Index transfer);

  bool stale() const { return !touched_.empty(); }
  // Calls ends(transfer, time) for every transfer whose end moved.
  template <typename Ends>
  void settle(double now, Ends ends) {
    for (const Index node : touched_) {
      mark_[node] = 0;
      for (const Index transfer : at_[node]) {
        if (refresh(transfer, now)) ends(transfer, end_of(transfer));
      }
    }
    touched_.clear();
  }

  std::size_t transfers_at(Index node) const { return at_[node].size(); }
  double rate_of(Index transfer) const { return transfers_[transfer].rate; }

 private:
  struct Transfer {
    Index from, to;
    double left, rate, since;
  };
  double end_of(Index transfer) const {
    const Transfer& t = transfers_[transfer];
    return t.since + t.left / t.rate;
  }
  bool refresh(Index transfer, double now);
  void touch(Index node);

  std::vector<double> link_, storage_;
  std::vector<std::vector<Index>> at_;  // by node
  std::vector<Transfer> transfers_;
  std::vector<Index> free_, touched_;
  std::vector<char> mark_;
};

}  // namespace malleable
