// Flows that share links as fluids: weighted max-min fair rates, kept as flows come and go.
//
// A flow of weight w moves x bytes a second, and `part` x of them over each link that it uses (1
// for a plain path; less where its sources or destinations are spread). The rates are the only
// ones of which no flow's x / w can be raised without lowering that of a flow with as little or
// less (Bertsekas and Gallager 1992, Data Networks, section 6.5.2: progressive filling): all flows'
// levels x / w rise together until a link is full, whose flows then stay as they are. A flow whose
// links are all without limit moves at once.
//
// Progressive filling by links: a heap of the levels at which links fill up, O(u log links) for u
// uses of links by the flows filled. A change is local: filled again are the flows that changed and
// whatever a *full* link (one that stopped flows when it was last filled) ties to them. The flows
// that stay outside keep their rates and take their part of links that were not full; where such a
// link fills up now, its flows join and the filling starts over. That is exact: every flow outside
// keeps a full link on which none has a higher level, as none of those links' flows changed.
//
// No flow can go faster than the least capacity / part of its links. A link that even then could
// carry all that uses it is slack: fillings do not look at it. So a flow from a hundred sources
// costs about as much as one from a single source, as long as only its destination can fill up.
//
// Nothing is allocated once warm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

class FairLinks {
 public:
  struct Use {
    Index link;
    double part;  // above 0: bytes on the link for every byte that the flow moves
  };

  // No flows; bytes a second of every link, above 0, infinity for no limit.
  void reset(std::span<const double> capacity);

  // Rates are those after the next settle(); until then a flow that started or changed rests, and
  // the others go on as before. No link may occur twice among a flow's uses; its weight is above 0.
  // Numbers of flows that stopped are used again.
  Index start(double weight, double bytes, std::span<const Use> uses, double now);
  // The flow has so many bytes left, and goes another way.
  void change(Index flow, double bytes, std::span<const Use> uses, double now);
  void stop(Index flow, double now);
  void settle(double now);
  bool stale() const { return !changed_.empty() || !spread_.empty(); }

  // When the next flow has moved all its bytes, and which; infinity if none will. A flow at its end
  // stays until stop().
  double next_end() const { return ends_.empty() ? kInfinity : ends_[0].time; }
  Index next() const { return ends_[0].flow; }

  double left(Index flow, double now) const;
  double rate(Index flow) const { return flows_[flow].rate; }
  // Bytes that have crossed each link until now. O(links + uses).
  std::vector<double> carried(double now) const;
  // Flows filled since reset: the cost of all changes.
  std::uint64_t filled() const { return filled_; }

 private:
  struct Member {
    Index flow;
    Index use;  // its place among the flow's uses
  };
  struct Flow {
    double weight = 0.0, left = 0.0, rate = 0.0, since = 0.0;
    double level = 0.0;                  // being filled: negative until it has stopped rising
    double most = 0.0;                   // rate that its links allow it when alone
    double moved = 0.0;                  // bytes that have not been counted on its links
    std::size_t begin = 0, end_use = 0;  // among the uses of links that may fill up
    std::vector<Use> uses;
    std::vector<Index> place;  // by use: among the link's members
    Index end = kNone;         // place among the ends
    bool live = false, chosen = false, fresh = false;
  };
  struct End {
    double time;
    Index flow;
  };
  struct Fill {  // of one link, while levels rise
    double room = 0.0, weight = 0.0;
    double whole = 0.0;  // the weight before any flow stopped rising
    Index rising = 0;    // flows
    bool seen = false, open = false, stale = false;
  };
  struct Level {
    double level;
    Index link;
  };

  void join(Index flow);
  void part(Index flow);
  void choose(Index flow);
  void spread(Index link);
  std::size_t walk(std::size_t walked);
  void set_rate(Index flow, double now);
  void start_filling();
  bool fill();
  void look(Index link);
  double used(Index link) const;
  double demand(Index link) const;
  void count(Flow& flow);
  void fold(Index flow, double now);
  void set_end(Index flow, double now);
  void drop_end(Index flow);
  void sift(std::size_t place);
  bool earlier(const End& a, const End& b) const {
    return a.time != b.time ? a.time < b.time : a.flow < b.flow;
  }

  std::vector<double> capacity_, load_, carried_;
  std::vector<double> demand_;  // load if every flow were alone
  std::vector<std::uint8_t> slack_;
  std::vector<std::uint32_t> updates_;  // of the load, since it was summed anew
  std::vector<std::vector<Member>> at_;
  std::vector<std::uint8_t> full_;
  std::vector<Flow> flows_;
  std::vector<Index> free_;
  std::vector<Index> changed_, spread_;  // flows, and full links that lost load
  std::vector<Index> chosen_, touched_;
  std::vector<Use> filling_;  // of chosen flows, on links that are not slack
  std::vector<Fill> fill_;
  std::vector<Level> levels_;
  std::vector<End> ends_;  // a heap
  std::uint64_t filled_ = 0;
};

}  // namespace malleable
