// Which jobs run at the map and at the shuffle station of an overlapping tandem queue (Lin,
// Wierman, Zhang, Tan 2013): ranks of jobs, and how two classes of jobs share both stations.
//
//   FCFS       by arrival at both stations
//   MaxSRPT    least max(remaining map, remaining shuffle) first (section 4.1)
//   SplitSRPT  map-heavy jobs by remaining map, shuffle-heavy ones by remaining shuffle; the
//              classes share the stations by beta(t), the least ratio of the larger to the smaller
//              phase among the present jobs (section 4.2)
//   TwoSRPT    ours: each station by a rank of its own. Map: remaining map plus 1/16 of the
//              remaining shuffle; shuffle: max(remaining map, remaining shuffle)
//   Order      the caller gives both orders
//   PS, WPS    equal or weighted shares; k-LPS: only the k oldest jobs share the map station (5.1)
//
// Ranks use sizes as the policy sees them: true, or an estimate less the work done. If a phase has
// outlived its estimate, a part of the work done counts as left, as in all loops
// (kernel/slot_periods). Here that part rises each time the work done has doubled, because jobs
// whose ranks rise together would have to share a station without end.
//
// Sizes are seconds at full speed of a station, so that both capacities are 1. O(1) each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/domain.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

// kOrder: a given order of all jobs; kShare: ps, wps and k-lps.
enum class TandemPolicy { kFcfs, kMaxSrpt, kSplitSrpt, kTwoSrpt, kOrder, kShare };

// The work left of a job, as the policy sees it.
struct Seen {
  double map = 0.0;
  double shuffle = 0.0;
};

// Smaller goes first; ties by id.
struct TandemRank {
  double first;
  double second;
  std::int64_t id;

  bool operator<(const TandemRank& other) const {
    if (first != other.first) return first < other.first;
    if (second != other.second) return second < other.second;
    return id < other.id;
  }
};

// TwoSRPT: the part of a job's shuffle work that counts in its rank at the map station.
inline constexpr double kShuffleInMapRank = 1.0 / 16;

inline TandemRank map_rank(TandemPolicy policy, const Seen& seen, bool shuffle_heavy,
                           std::int64_t id) {
  switch (policy) {
    case TandemPolicy::kMaxSrpt:
      return {seen.map > seen.shuffle ? seen.map : seen.shuffle, 0.0, id};
    case TandemPolicy::kSplitSrpt:
      if (shuffle_heavy) return {seen.shuffle, 0.0, id};
      return {seen.map, seen.shuffle, id};
    case TandemPolicy::kTwoSrpt:
      return {seen.map + kShuffleInMapRank * seen.shuffle, 0.0, id};
    default:
      return {0.0, 0.0, id};
  }
}

inline TandemRank shuffle_rank(TandemPolicy policy, const Seen& seen, bool shuffle_heavy,
                               std::int64_t id) {
  const bool own = policy == TandemPolicy::kTwoSrpt;
  return map_rank(own ? TandemPolicy::kMaxSrpt : policy, seen, shuffle_heavy, id);
}

// How far the sizes of a job are from balance: max(map / shuffle, shuffle / map).
inline double imbalance_of(double map, double shuffle) {
  const double large = map > shuffle ? map : shuffle;
  const double small = map > shuffle ? shuffle : map;
  return large > 0.0 ? large / small : 1.0;
}

// The share of a station for the class that is heavy there: mu_2 = beta / (1 + beta).
inline double split_share(double beta) { return 1.0 - 1.0 / (1.0 + beta); }

// The estimate of a phase that has outlived it, doubled as long as the work done is as much. `left`
// is the estimate less the work done. Work within `slack` counts as done.
inline double last_doubling(double left, double estimate, double slack) {
  double done = std::max(estimate, kWorkRange.least);
  while (estimate - left + slack >= 2.0 * done) done *= 2.0;
  return done;
}

// The work left of a phase as a policy sees it. `left` is the estimate less the work done (below 0:
// an overrun).
inline double seen_left(double left, double estimate, double slack) {
  return left > slack ? left : still_left(last_doubling(left, estimate, slack));
}

// How much more must be done until seen_left() jumps.
inline double until_jump(double left, double estimate, double slack) {
  return left > slack ? left : 2.0 * last_doubling(left, estimate, slack) - (estimate - left);
}

}  // namespace malleable
