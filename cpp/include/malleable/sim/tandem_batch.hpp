// Policy `best`: the plan of a batch (all jobs present at 0) in the overlapping tandem queue (a job
// shuffles while it still maps, at two stations) with the least total response.
//
// Fixed plans first: MaxSRPT, SplitSRPT (both within a factor of 2 of the optimum: Lin et al. 2013,
// corollaries 4 and 6), TwoSRPT (policy/tandem_policy.hpp describes them), and one order at both
// stations by lambda map + (1 - lambda) shuffle, lambda from 0 to 1. Then local search over pairs
// of orders, one a station, from the orders in which the best plan ends map phases and jobs: a job
// moves within both orders or within one, and stays if the total does not rise; after many failed
// candidates several jobs of the best orders move at once. Random numbers are fixed, so that the
// same effort gives the same plan. An optimal schedule may not have this form; `lower_bound` limits
// the difference. O(n log n) a candidate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "malleable/kernel/ordered_batch.hpp"
#include "malleable/sim/tandem.hpp"

namespace malleable {

class TandemBatch {
 public:
  // All jobs are there at 0; sizes are seconds at full speed.
  TandemBatch(std::span<const double> map, std::span<const double> shuffle);

  void search(std::int64_t candidates);

  double value() const { return value_; }  // sum of responses
  // Cut to the value, because rounding may put the bound above it.
  double lower_bound() const { return std::min(lower_bound_, value_); }
  double max_srpt() const { return max_srpt_; }
  double split_srpt() const { return split_srpt_; }
  // The origin of the best plan: max-srpt, split-srpt, two-srpt, orders or search.
  const std::string& origin() const { return origin_; }
  std::int64_t tried() const { return tried_; }

  // The best plan: a policy, and for kOrder the place of every job in the order of each station.
  TandemPolicy plan(std::vector<double>& map_place, std::vector<double>& shuffle_place) const;
  // Runs it once more; its records are in `done_*` of the queue.
  TandemQueue run() const;

 private:
  double try_policy(TandemPolicy policy, const char* name);
  // Remembers a plan with this value as the best one.
  void keep(double value, const char* name);
  // Moves a random job in one of the orders, or in both.
  void move(std::vector<Index>& map_order, std::vector<Index>& shuffle_order);

  std::vector<double> map_, shuffle_;
  // The search's present orders; by job the place in the second.
  std::vector<Index> map_order_, shuffle_order_, place_;
  // Orders of the best plan; a policy makes them until the search finds better ones.
  std::vector<Index> best_map_order_, best_shuffle_order_;
  TandemPolicy policy_ = TandemPolicy::kMaxSrpt;
  double value_, lower_bound_, max_srpt_, split_srpt_;
  double order_value_ = 0.0;  // value of the orders
  std::string origin_;
  std::int64_t tried_ = 0, stale_ = 0;  // candidates; those since the last better one
  std::mt19937_64 random_;
  OrderedBatch evaluate_;
  // Orders that are tried.
  std::vector<Index> map_trial_, shuffle_trial_;
};

}  // namespace malleable
