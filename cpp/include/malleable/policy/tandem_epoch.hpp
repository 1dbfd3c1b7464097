// FCFS, MaxSRPT, SplitSRPT and TwoSRPT (tandem_policy.hpp describes them) for a scheduler's own
// loop: which jobs run now at the map and at the shuffle station (all slots for map work, and for
// shuffle work), with which share of it and how many slots.
//
// The caller gives the work left of every job, true or estimated, and the shuffle work that is
// ready. Given the state of the simulated tandem queue, the decision is the simulator's
// (sim/tandem). In addition, jobs may have a maximum of slots, and slots that the first job cannot
// use go down the order. Shares are rounded to whole slots by largest remainder, after their sum
// was rounded up.
//
// A decision that is held for a period gives a job no more slots than it can use fully: at the map
// station whole slot-periods (one slot for one period) of its work left, at the shuffle station of
// the work that is ready or becomes ready within the period. Slots that no job can use fully go to
// the job whose phase ends earlier by them the most. Shares are then whole slots.
//
// Jobs stand in heaps by rank, O(log n) a change of one of n jobs. A decision takes O(k log k) for
// k running jobs, with a period O(n log n). Allocates nothing once warm. Source: Lin, Wierman,
// Zhang, Tan 2013, section 4.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/indexed_heap.hpp"
#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/bound.hpp"
#include "malleable/model/terms.hpp"
#include "malleable/policy/epoch/period_clock.hpp"
#include "malleable/policy/epoch/table.hpp"
#include "malleable/policy/tandem_policy.hpp"

namespace malleable {

struct TandemEpochOptions {
  TandemPolicy policy = TandemPolicy::kMaxSrpt;
  bool conserving = true;  // false: a class keeps what it cannot use
  std::array<std::int64_t, 2> slots{1, 1};
  double period = 0.0;  // seconds for which a decision holds; 0: until something ends

  void state(State& s) { s(policy, conserving, slots); }
};

class TandemEpoch {
 public:
  enum Station : std::size_t { kMapping, kShuffling };
  template <typename T>
  using Both = std::array<T, 2>;  // by station

  static constexpr const char* kName = "TandemEpoch";
  static TandemEpoch blank() { return TandemEpoch(TandemEpochOptions{}); }  // to read a state into
  explicit TandemEpoch(const TandemEpochOptions& options);

  // Equally long columns. Map work 0: the phase has ended; below 0: an estimate is overrun by as
  // much. The same for shuffle work. Whole numbers as limits; infinity: none.
  struct Columns {
    std::span<const double> map, shuffle;  // work left, in seconds of the whole station
    // ready shuffle work; empty: from the map phase's progress
    std::span<const double> ready;
    std::span<const double> max_map_slots, max_shuffle_slots;

    std::size_t size() const { return map.size(); }
    // `rows` kAnyLength: columns of new jobs; the first column gives their number.
    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t rows, Visit&& visit) {
      const bool new_jobs = rows == kAnyLength;
      visit("map", self.map, rows, !new_jobs);
      if (new_jobs) rows = self.size();
      visit("shuffle", self.shuffle, rows, !new_jobs);
      visit("ready", self.ready, rows, true);
      visit("max_map_slots", self.max_map_slots, rows, true);
      visit("max_shuffle_slots", self.max_shuffle_slots, rows, true);
    }
    void check(bool new_jobs) const;
  };
  using Changes = Columns;
  // Adds jobs, whose sizes are the work left now; fills `ids`. Throws before anything changes. If
  // `arrival` is empty, they arrive at the last decision, or at the first one.
  void add(std::span<const double> arrival, const Columns& columns, std::span<std::int64_t> ids);
  // Overwrites the given columns (others are empty). Throws before anything changes.
  void update(std::span<const std::int64_t> ids, const Columns& columns);
  void finish(std::span<const std::int64_t> ids) { remove(ids); }
  void remove(std::span<const std::int64_t> ids);

  // A share is a part of its station. `changed`: whether the slots differ from the last decision.
  struct Service {
    std::int64_t id;
    Both<double> share{};
    Both<std::int64_t> slots{};
    bool changed = false;
    Both<Bound> bound{Bound::kOrder, Bound::kOrder};
  };
  // Jobs by their ranks at the map station, then jobs that only shuffle, then jobs that lost all
  // their slots. Valid until the next call. Given capacities hold from now on; 0 is allowed. Throws
  // before anything changes if `now` is before the decision before, or a job arrives later.
  // `period`, if given: of this decision.
  std::span<const Service> decide(double now, std::optional<Both<std::int64_t>> slots = {},
                                  std::optional<double> period = {});
  // If the last decision had a period: the jobs that could use a slot of the station that becomes
  // free, by rank.
  std::span<const std::int64_t> order(Station at) const { return stations_[at].turn; }
  // Whether the arriving jobs need more whole slot-periods of a station than there are.
  bool overloaded() const;

  std::size_t size() const { return jobs_.size(); }
  std::pair<std::int64_t, std::int64_t> slots() const {
    return {options_.slots[kMapping], options_.slots[kShuffling]};
  }
  const char* rule() const;  // name of the policy

  void state(State& s);

 private:
  using Row = Index;
  struct Job {
    Both<double> left{}, size{}, most{kInfinity, kInfinity};
    double ready = 0.0, arrival = 0.0;
    std::int64_t sequence = 0;
    bool shuffle_heavy = false, ready_given = false;
    // Within a decision: if it maps with nothing ready, the rate of its shuffle work, as a share of
    // that station; the number of its service, from 1.
    double flow = kInfinity;
    std::size_t service = 0;

    void state(State& s) {
      s(left, size, most, ready, arrival, sequence, shuffle_heavy, ready_given);
    }
    // Shuffle work for each unit of map work.
    double ratio() const { return size[kMapping] > 0.0 ? size[kShuffling] / size[kMapping] : 0.0; }
  };
  struct Part {  // a job's share of a station
    Row row;
    double share, most;
    Bound bound;  // reason of the maximum
  };
  struct StationState {
    // By class: jobs that have something to do here, by rank; running jobs in order, of which the
    // last one may take more.
    Both<KeyedHeap<TandemRank>> ranking;
    Both<std::vector<Part>> parts;
    std::vector<std::int64_t> turn;
  };

  void write(Row row, const Columns& columns, std::size_t k);
  void serve(Station at, double heavy);
  void serve_shuffles(double heavy);
  void note_services();
  // Computes a job's ready shuffle work (unless it is given) and its ranks.
  void refresh(Row row);
  KeyedHeap<TandemRank>& ranking_of(Row row, Station at) {
    return stations_[at].ranking[split_ && jobs_[row].shuffle_heavy ? 1 : 0];
  }
  TandemRank rank_of(Row row, Station at) const;
  // Hands up to `quota` of a station down the line of a class; returns the rest.
  double fill(Station at, std::size_t group, double quota);
  // The work that a job can do at a station within the period [slot-seconds].
  double usable(Row row, Station at) const;
  void hand_out_rest(Station at);
  // Rounds shares to slots, by largest remainder.
  void to_slots(Station at);
  Service& service_of(Row row);
  // Calls visit(part) for each part with a share.
  template <typename Visit>
  void each_part(Station at, const Visit& visit) {
    for (std::vector<Part>& parts : stations_[at].parts) {
      for (Part& part : parts) {
        if (part.share > 0.0) visit(part);
      }
    }
  }
  double slots_at(Station at) const { return static_cast<double>(options_.slots[at]); }

  TandemEpochOptions options_;
  EpochTable<Job, 2> jobs_;
  PeriodClock clock_;
  // jobs of two classes, map-heavy and shuffle-heavy, have their own parts of a station
  bool split_;
  // in the present decision, jobs and classes pass on capacity that they cannot use
  bool lends_ = true;
  Both<StationState> stations_;
  IndexedHeap imbalance_;  // of classes apart: jobs by the larger over the smaller phase
  std::int64_t sequence_ = 0;
  double latest_arrival_ = -kInfinity;

  std::vector<Service> service_;
  std::vector<std::pair<double, std::size_t>> remainder_;  // rest of the whole slots; service
  // Workspace for decisions with a period.
  std::vector<double> rest_work_, rest_high_, rest_slots_;
  LeftOverSlots left_over_;
  std::vector<KeyedHeap<TandemRank>::Entry> by_rank_;
};

}  // namespace malleable
