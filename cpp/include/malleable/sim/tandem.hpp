// The tandem queue of map and shuffle as a fluid (Lin et al. 2013, section 2.1), exact events.
//
// Between events every rate is constant; an event is an arrival, the end of a map phase, a buffer
// that runs empty, or a completion. Sizes are seconds at full speed, so that both capacities are 1.
// With overlap a job's map phase releases shuffle work in proportion to its progress; without, all
// of it at its end.
//
// Ranked policies keep sorted lists of the jobs with map work and of those with something to
// shuffle; at most two jobs of a class run at each station, so an event costs O(log n) comparisons
// and moves of list entries (the best ones stand at the end, where little has to move). Shares cost
// O(n) an event, O(n^2) at worst. Memory: the jobs in the system, and records only if wanted.
//
// As printed, the shuffle station serves only the first job of its class, and classes do not lend
// each other capacity; `conserving` (what the paper's experiments did) passes on what is left over.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/overlap.hpp"

namespace malleable {

struct TandemOptions {
  OverlapPolicy policy = OverlapPolicy::kFcfs;
  bool conserving = true;
  bool overlap = true;
  bool records = true;
  bool weighted = false;           // shares by weight
  std::int64_t most_mapping = -1;  // kShare: only so many oldest jobs map at once; below 0: all
  std::int64_t buckets = 0;        // slowdown by size
  double bucket_width = 1.0;
};

struct TandemTotals {
  std::int64_t arrived = 0;
  std::int64_t completed = 0;
  std::int64_t events = 0;
  double now = 0.0;
  double response = 0.0;
  double weighted_response = 0.0;
  double stretch = 0.0;
  double max_response = 0.0;
  double map_busy = 0.0;  // seconds of full capacity
  double shuffle_busy = 0.0;
  double jobs_seconds = 0.0;  // integral of the number of jobs in the system
};

class TandemQueue {
 public:
  explicit TandemQueue(const TandemOptions& options);

  // Jobs in the order of their arrivals, none before `totals().now`; ids count up from 0. Runs up
  // to the last arrival.
  void feed(std::span<const double> arrival, std::span<const double> map,
            std::span<const double> shuffle, std::span<const double> weight);
  // Runs up to a time; infinity: until the queue is empty.
  void advance(double until);

  // Who runs now and how fast.
  struct Service {
    std::uint32_t slot;
    double map;
    double shuffle;
  };
  const std::vector<Service>& decide();
  const FluidJob& job(std::uint32_t slot) const { return jobs_[slot]; }

  const TandemTotals& totals() const { return totals_; }
  std::int64_t present() const { return totals_.arrived - totals_.completed; }

  // Completed since last emptied, in the order of completion.
  std::vector<std::int64_t> done_id;
  std::vector<double> done_start, done_map, done_completion;
  // Slowdown by size, and how many responses fell into each 1/64 of an octave.
  std::vector<std::int64_t> bucket_jobs;
  std::vector<double> bucket_stretch;
  std::vector<std::int64_t> response_histogram;

 private:
  struct Entry {
    OverlapRank rank;
    std::uint32_t slot;
  };
  // Sorted, the first in rank last.
  class Ranking {
   public:
    bool empty() const { return entries_.empty(); }
    const Entry& best() const { return entries_.back(); }
    void insert(const Entry& entry);
    void erase(const OverlapRank& rank);
    void change(const OverlapRank& old, const Entry& entry);

   private:
    std::vector<Entry> entries_;
  };
  struct Class {
    Ranking mapping, buffered;
  };

  void add(double arrival, double map, double shuffle, double weight);
  void complete(std::uint32_t slot);
  void refresh(std::uint32_t slot);
  void decide_ranked();
  void decide_shares();
  double beta();
  Class& class_of(const FluidJob& job) { return classes_[split_ && job.shuffle_heavy ? 1 : 0]; }

  TandemOptions options_;
  bool split_, ranked_;
  TandemTotals totals_;
  std::vector<FluidJob> jobs_;
  std::vector<OverlapRank> rank_;  // as the rankings hold it
  std::vector<char> listed_;       // bit 0: in mapping, bit 1: in buffered
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> present_;  // shares: by arrival
  std::array<Class, 2> classes_;
  using Imbalance = std::pair<double, std::pair<std::int64_t, std::uint32_t>>;
  std::priority_queue<Imbalance, std::vector<Imbalance>, std::greater<>> imbalance_;
  std::vector<Service> service_;
  std::vector<double> limit_;
};

}  // namespace malleable
