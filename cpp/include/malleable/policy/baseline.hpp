// The schedulers that FLEX is measured against (Wolf et al. 2010, sections 1 and 4).
//
// FIFO packs by arrival and obeys maxima only. FAIR shares slots by integer water-filling, again at
// every completion: all jobs get the same number of slots, and slots that a job cannot use go to
// the others. WDEQ is FAIR with weights and knows no sizes (water_filling.hpp). For J jobs FIFO
// takes O(J log J), FAIR and WDEQ O(J) a completion. Kernels: malleable_packing, water_filling,
// lower_bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/lower_bound.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/water_filling.hpp"

namespace malleable {

// Policies that plan jobs and decide in epochs.
enum class EpochPolicy : std::uint8_t { kFlex, kFair, kFifo, kWdeq, kHeSrpt };

// The quantity that is equal for all jobs: none (an order decides), slots, or slots over weight.
enum class Shares : std::uint8_t { kByOrder, kEqual, kWeighted };

class Baseline {
 public:
  // By `arrival`, ties by index. Minima are dropped from a copy of the instance; the bound, too,
  // holds for schedules without minima.
  void fifo(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
            std::span<const double> arrival, Plan& plan);

  // FAIR with an empty `weight`, WDEQ otherwise. The order reported is that of completions.
  void water_filling(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                     std::span<const double> weight, Plan& plan);

 private:
  KeySort sorter_;
  MalleablePacking packing_;
  WaterFilling water_filling_;
  LowerBound lower_bound_;
  std::vector<double> completion_;
};

}  // namespace malleable
