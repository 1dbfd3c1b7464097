// The shortest makespan (end of the last job) of a batch of n jobs in the overlapping tandem queue,
// in which a job shuffles while it still maps, at two stations (Lin, Wierman, Zhang, Tan 2013,
// section 3.1).
//
// A job has x seconds of map and y of shuffle work. Served in one order at both stations, job k of
// the order ends at F_k = max(F_{k-1} + y_k, X_k) with X_k the map work of the first k: its shuffle
// phase follows those before it and cannot end before its map phase does. (A job without shuffle
// work ends at X_k in any case, an empty job at 0.) Jobs with y >= x first make the makespan
// max(sum x, sum y), which no schedule can beat. O(n).
#pragma once

#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

// Jobs with shuffle >= map first, otherwise by index.
std::vector<Index> makespan_order(std::span<const double> map, std::span<const double> shuffle);

// Completion of every job if both stations serve strictly in this order; all jobs are there at 0.
void order_completions(std::span<const double> map, std::span<const double> shuffle,
                       std::span<const Index> order, std::span<double> completion);

}  // namespace malleable
