// Who runs at the map and at the shuffle station of an overlapping tandem queue (Lin, Wierman,
// Zhang, Tan 2013): ranks of jobs, and how two classes of jobs share both stations.
//
//   FCFS       by arrival at both stations
//   MaxSRPT    least max(remaining map, remaining shuffle) first (section 4.1)
//   SplitSRPT  map-heavy jobs by remaining map, shuffle-heavy ones by remaining shuffle; the
//   classes
//              share the stations as beta(t) says (section 4.2)
//   PS, WPS    equal or weighted shares; k-LPS: only the k oldest jobs share the map station (5.1)
//
// Sizes are seconds at full speed of a station, so that both capacities are 1. O(1) each.
#pragma once

#include <cstdint>

namespace malleable {

enum class OverlapPolicy { kFcfs, kMaxSrpt, kSplitSrpt, kShare };

// A job in the system. What is left to shuffle is what waits in its buffer, what the map phase will
// still release while it runs, and what it will release at its end (queues without overlap).
struct FluidJob {
  double map = 0.0;     // left
  double buffer = 0.0;  // released, not yet shuffled
  double ratio = 0.0;   // released per unit of map work
  double tail = 0.0;    // released when the map phase ends
  double weight = 1.0;
  double arrival = 0.0;
  double size = 0.0;       // max(map, shuffle) at arrival
  double imbalance = 1.0;  // max(map / shuffle, shuffle / map) at arrival
  double map_completion = 0.0;
  double start = -1.0;  // first served
  std::int64_t id = 0;
  bool shuffle_heavy = false;
  bool alive = false;

  double shuffle() const { return buffer + map * ratio + tail; }
};

// Smaller goes first; ties by id.
struct OverlapRank {
  double first;
  double second;
  std::int64_t id;

  bool operator<(const OverlapRank& other) const {
    if (first != other.first) return first < other.first;
    if (second != other.second) return second < other.second;
    return id < other.id;
  }
};

inline OverlapRank overlap_rank(OverlapPolicy policy, const FluidJob& job) {
  const double shuffle = job.shuffle();
  if (policy == OverlapPolicy::kMaxSrpt) {
    return {job.map > shuffle ? job.map : shuffle, 0.0, job.id};
  }
  if (policy == OverlapPolicy::kSplitSrpt) {
    if (job.shuffle_heavy) return {shuffle, 0.0, job.id};
    return {job.map, shuffle, job.id};
  }
  return {0.0, 0.0, job.id};
}

// Share of a station that the class gets whose heavy side it is: mu_2 = beta / (1 + beta).
inline double split_share(double beta) { return 1.0 - 1.0 / (1.0 + beta); }

}  // namespace malleable
