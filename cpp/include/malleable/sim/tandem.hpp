// The tandem queue of map and shuffle as a fluid (Lin, Wierman, Zhang, Tan 2013, section 2.1),
// exact events: every job has map work and shuffle work, which it does at two stations.
//
// Between events every rate is constant; an event is an arrival, the end of a map phase, a buffer
// that runs empty, or a completion. Sizes are seconds at full speed, so that both capacities are 1.
// With overlap a job's map phase releases shuffle work in proportion to its progress; without, all
// of it at its end.
//
// Policies (policy/tandem_policy.hpp): ranked ones serve the job with the least rank (FCFS: by
// arrival; MaxSRPT: by the larger phase left; SplitSRPT: two classes, map-heavy and shuffle-heavy
// jobs, each by its larger phase; TwoSRPT: each station by its own rank); others share stations.
//
// Ranked policies keep heaps of the jobs with map work and of those with something to shuffle; at
// most two jobs of a class run at each station, so an event costs O(log n) for n jobs. Shares cost
// O(n) an event, O(n^2) at worst. Memory: the jobs in the system, and records only if wanted.
//
// As Lin et al. print it, the shuffle station serves only the first job of its class, and classes
// do not lend each other capacity; `conserving` (as in their experiments) passes on unused
// capacity.
//
// With true sizes, FCFS, MaxSRPT and SplitSRPT can change their order only at events, because of
// the running jobs the rank of the first falls fastest. With estimates, and for TwoSRPT, the ranks
// of the two running jobs can cross between events, and estimates can run out; these times are
// events, too.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/policy/tandem_policy.hpp"

namespace malleable {

// A job in the system. Its shuffle work left is the work in its buffer, the work that its map phase
// still releases while it runs, and the work released at the end of the map phase (queues without
// overlap).
struct FluidJob {
  double map = 0.0;     // left
  double buffer = 0.0;  // released, not yet shuffled
  double ratio = 0.0;   // released per unit of map work
  double tail = 0.0;    // released when the map phase ends
  double weight = 1.0;
  double arrival = 0.0;
  double map_size = 0.0;  // at arrival
  double shuffle_size = 0.0;
  double map_completion = 0.0;
  double start = -1.0;  // first served
  std::int64_t id = 0;
  bool shuffle_heavy = false;  // as the policy sees it
  bool alive = false;

  double shuffle() const { return buffer + map * ratio + tail; }
  double size() const { return map_size > shuffle_size ? map_size : shuffle_size; }
};

// Columns of jobs in the order of their arrivals; the optional ones are empty or as long.
struct TandemJobs {
  std::span<const double> arrival, map, shuffle;
  std::span<const double> weight = {};  // 1
  std::span<const double> map_estimate = {}, shuffle_estimate = {};
  std::span<const double> map_place = {}, shuffle_place = {};  // kOrder: smaller goes first
};

struct TandemOptions {
  TandemPolicy policy = TandemPolicy::kFcfs;
  bool conserving = true;
  bool overlap = true;
  bool records = true;
  // keep a histogram of responses; it takes a megabyte, more than a small batch
  bool histogram = true;
  bool weighted = false;           // shares by weight
  bool estimated = false;          // policies see estimates
  std::int64_t most_mapping = -1;  // kShare: only so many oldest jobs map at once; below 0: all
  std::int64_t buckets = 0;        // response over size is averaged by size, in so many buckets
  double bucket_width = 1.0;       // [s]
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
  double longest_wait = 0.0;  // for a first service
  double map_busy = 0.0;      // seconds of full capacity
  double shuffle_busy = 0.0;  // the same of the shuffle station
  double jobs_seconds = 0.0;  // integral of the number of jobs in the system
};

class TandemQueue {
 public:
  explicit TandemQueue(const TandemOptions& options);

  // Jobs must not arrive before `totals().now`; ids count up from 0. Runs up to the last arrival.
  // If `poll` throws, jobs that were not reached have not entered.
  void feed(const TandemJobs& jobs);
  // Runs up to a time; infinity: until the queue is empty.
  void advance(double until);

  // Called every few million steps of work; may throw, and the simulation can go on afterwards.
  void set_poll(std::function<void()> poll) { poll_ = std::move(poll); }

  // The jobs that run now, and their speeds.
  struct Service {
    std::uint32_t row;
    double map;
    double shuffle;
  };
  const std::vector<Service>& decide();
  const FluidJob& job(std::uint32_t row) const { return jobs_[row]; }
  std::span<const FluidJob> jobs() const { return jobs_; }  // jobs in the system have `alive` set

  const TandemTotals& totals() const { return totals_; }
  std::int64_t present() const { return totals_.arrived - totals_.completed; }
  // The response that this part of all completed jobs does not exceed, rounded up by less than 1/64
  // of an octave; NaN without completed jobs.
  double response_quantile(double part) const;

  // Completed since last emptied, in the order of completion.
  std::vector<std::int64_t> done_id;
  std::vector<double> done_start, done_map, done_completion;
  // Slowdown by size, and how many responses fell into each 1/64 of an octave.
  std::vector<std::int64_t> bucket_jobs;
  std::vector<double> bucket_stretch;
  std::vector<std::int64_t> response_histogram;

 private:
  using Ranking = KeyedHeap<TandemRank>;  // jobs by rank
  struct Class {
    Ranking mapping, buffered;  // jobs with map work left; jobs with something to shuffle
  };
  struct Place {  // the ranks of a job at the stations
    TandemRank map, shuffle;
  };
  // Estimates, and true sizes less estimates; slack: work that counts as rounding.
  struct Guess {
    double map_error, shuffle_error, map, shuffle, slack;
  };
  // A rank and how fast it falls; the second counts where the first are equal.
  struct Fall {
    double first, first_rate, second, second_rate;
  };
  struct Falls {
    Fall map, shuffle;
  };
  struct Portions {  // of both stations, by class
    std::array<double, 2> map{1.0, 0.0}, shuffle{1.0, 0.0};
    bool lends;  // a class passes on capacity that it does not use
  };
  struct Step {
    double seconds;
    bool event;  // or the time that was asked for
    double map_used, shuffle_used;
  };

  void add(const TandemJobs& jobs, std::size_t j);
  void complete(std::uint32_t row);
  void refresh(std::uint32_t row);  // its ranks, after it worked
  Portions portions() const;
  // Serves the first jobs of a class.
  void serve(const Class& group, double map_share, double flow, double given, bool lends);
  void decide_ranked();  // serves the first jobs of each class
  // Jobs that cannot use their share get what they can use; the others share the rest.
  void share_shuffle(double waiting_weight);
  void decide_shares();  // serves all jobs at once, by weight
  double weight_of(const FluidJob& job) const { return options_.weighted ? job.weight : 1.0; }
  // The least imbalance of all jobs; 1 if there are none.
  double beta() const { return imbalance_.empty() ? 1.0 : imbalance_.top_key(); }
  Seen seen(std::uint32_t row) const;  // work left, as the policy sees it
  // How fast a running job's ranks fall; `next`: time until they change otherwise, if that is
  // sooner.
  Falls falls_of(const Service& s, double& next) const;
  // The time until a job behind has a rank below that of the job in front.
  static double until_overtaken(const Fall& back, const Fall& front, double slack);
  double next_change() const;  // time until the order of jobs may change
  Step next_step(double most);
  void work(const Service& s, double seconds);
  Class& class_of(const FluidJob& job) { return classes_[split_ && job.shuffle_heavy ? 1 : 0]; }

  TandemOptions options_;
  // Classes are apart; jobs have ranks, not shares; their ranks may change as they work.
  bool split_, ranked_, crossing_;
  TandemTotals totals_;
  std::vector<FluidJob> jobs_;
  std::vector<Place> place_;
  std::vector<Guess> guess_;                            // estimated only
  std::vector<std::pair<double, double>> given_place_;  // kOrder only
  std::vector<std::uint32_t> free_;                     // rows
  std::vector<std::uint32_t> present_;                  // shares: by arrival
  std::array<Class, 2> classes_;
  IndexedHeap imbalance_;  // of present jobs, if classes are apart
  std::vector<Service> service_;
  std::vector<double> limit_;  // by service: the most that it can shuffle; 0: settled
  std::function<void()> poll_;
  std::size_t worked_ = 0;  // steps of work since the last poll
};

}  // namespace malleable
