// What moves between the nodes of a cluster: blocks that map tasks read, and the shuffle.
//
// Links, each with its own bytes a second: every node's disk, every node's link out and in (full
// duplex). A byte from node a to node b crosses a's disk; if b is another node, a's link out and
// b's link in. Transfers share these links max-min fairly (kernel/fair_links).
//
// The shuffle: a finished map task leaves shuffle_bytes / (maps x reduces) for each of its job's
// reduce tasks on the node where it ran. All that one reduce task has to fetch is *one* transfer,
// from all nodes that hold something for it in proportion to what they still hold, so it ends when
// its slowest source does; new map output joins it. A job whose copying takes no slot (its reduce
// tasks have no nodes yet) has one transfer to all nodes in proportion to their reduce slots, which
// weighs as much as its reduce tasks together.
//
// Cost: one transfer for every reduce task that copies, none for pairs of tasks. A job's reduce
// tasks hear of its map output in so many steps (every map, one n-th of all maps at a time, and
// when the last has ended): at each, and at the end of what there was to fetch, a transfer is
// brought up to date in O(sources that hold something for it), then what fair_links takes. So a job
// costs O(reduce tasks x steps x sources), whatever the number of its maps. Memory: O(transfers x
// sources), and a number a node for each job present.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "malleable/kernel/fair_links.hpp"
#include "malleable/model/cluster.hpp"

namespace malleable {

class ClusterNetwork {
 public:
  // Nothing moves. The views stay the caller's. steps == 0: map output is told of at once.
  void reset(const ClusterView& cluster, const ClusterJobsView& jobs, std::int64_t steps = 0);
  // Whether anything is limited at all, so that bytes take time.
  static bool limits(const ClusterView& cluster);
  // Whether a job has something to shuffle.
  bool shuffles(Index job) const {
    return !jobs_.shuffle_bytes.empty() && jobs_.shuffle_bytes[job] > 0.0 &&
           jobs_.tasks[kMap][job] > 0 && jobs_.tasks[kReduce][job] > 0;
  }

  // All of these take effect at settle(); until then what starts rests. Whoever starts a transfer
  // names it by a number of his own, and gets that back when it ends.
  Index read(Index from, Index to, double bytes, Index owner, double now);
  // What one reduce task fetches (node == kNone: what all of them do).
  Index copy(Index job, Index node, Index owner);
  void map_ended(Index job, Index node);
  // The output of one of the maps that ended there is gone, and the map will run again. Copies that
  // still go on fetch of its new output what they have not had of the old one; as all of a job's
  // output is alike, that is what they fetch less of whatever comes next.
  void lose(Index job, Index node, double now);
  void stop(Index transfer, double now);
  void forget(Index job);
  void settle(double now);
  bool stale() const { return links_.stale() || !news_.empty(); }

  struct End {
    Index job;  // of a copy; kNone: a read
    Index node;
    Index owner;
    double seconds;  // for which it moved
  };
  double next_end() const { return links_.next_end(); }
  // The transfer that has moved all there is, or nothing if more is to come. It has gone then.
  std::optional<End> end_next(double now);

  // Reads from a node's disk that go on.
  std::int64_t reads_at(Index node) const { return reads_at_[node]; }
  std::uint64_t filled() const { return links_.filled(); }

  struct Totals {
    double remote = 0.0;    // bytes between nodes
    double shuffled = 0.0;  // bytes of the shuffle, those on one node too
    // Parts of what finite links could have carried in the time: mean over links, and the greatest.
    double disk_use = 0.0, link_use = 0.0;
    double busiest_disk = 0.0, busiest_link = 0.0;
  };
  Totals totals(double now) const;

 private:
  struct Transfer {
    Index owner = 0;
    Index job = kNone;   // of a copy
    Index from = kNone;  // of a read
    Index node = kNone;
    Index flow = kNone;  // none: nothing to move now
    double since = 0.0, seconds = 0.0;
    double total = 0.0;                           // bytes when its flow was last set
    std::vector<std::pair<Index, double>> holds;  // then, by source
    std::int64_t seen = 0;                        // map tasks whose output is in it, or was
    double had = 0.0;                             // bytes of outputs that were lost since
  };
  struct Shuffle {
    std::vector<std::int64_t> at;  // map tasks whose output has been told of, by node
    std::vector<Index> fresh;      // nodes where others ended
    std::int64_t told = 0;
    std::vector<Index> copies;  // transfers
    bool listed = false, tells = false;
  };

  Index disk(Index node) const { return node; }
  Index out(Index node) const { return nodes_ + node; }
  Index in(Index node) const { return 2 * nodes_ + node; }
  Index counter(Index what) const { return 3 * nodes_ + what; }
  Index new_transfer();
  void list(Index job);
  void tell(Shuffle& own);
  double each(const Transfer& transfer) const;
  void update(Index transfer, double now);
  void lose_from(Index transfer, Index node, double now);
  void go(Index transfer, double now);
  void route_to_node(const Transfer& transfer);
  void route_to_all(const Transfer& transfer);
  void use(Index link, double part) {
    if (part > 0.0) uses_.push_back({link, part});
  }

  ClusterView cluster_;
  ClusterJobsView jobs_;
  Index nodes_ = 0;
  std::int64_t steps_ = 0;
  FairLinks links_;
  std::vector<double> capacity_;
  std::vector<Transfer> transfers_;
  std::vector<Index> free_, owner_of_;  // owner_of_: transfer by flow
  std::vector<Shuffle> shuffles_;
  std::vector<Index> news_;  // jobs
  std::vector<std::int64_t> reads_at_;
  std::vector<double> share_;  // of reduce slots
  std::vector<FairLinks::Use> uses_;
  std::vector<std::pair<Index, double>> merged_, added_;
};

}  // namespace malleable
