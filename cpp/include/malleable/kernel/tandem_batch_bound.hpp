// A lower bound of the total response time of a batch (n jobs, all present at 0) in the overlapping
// tandem queue, in which a job shuffles while it still maps, at two stations.
//
// By the k-th completion, the map station has done the map work of k jobs and the shuffle station
// their shuffle work, each at rate 1 at most; hence, if x is the map and y the shuffle work of a
// job, for every lambda in [0, 1] the k smallest lambda x + (1 - lambda) y have been done at rate
// 1, and k of the max(x, y) have passed. The bound is the sum over k of the largest of these, over
// a grid of lambda. lambda = 1 and 0 give the two lone stations of Lin et al. 2013, section 5.1;
// 1/2 gives the single server in the proof of theorem 3. O(g n log n) for g values of lambda.
#pragma once

#include <span>

namespace malleable {

inline constexpr int kBatchBoundGrid = 33;  // values of lambda, from 0 to 1

double tandem_batch_bound(std::span<const double> map, std::span<const double> shuffle);

}  // namespace malleable
