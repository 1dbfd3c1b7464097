// FCFS, MaxSRPT, SplitSRPT and TwoSRPT for a scheduler's own loop: who runs now at the map and at
// the shuffle station, with which share of it and how many slots.
//
// The state is what the caller says is left of every job, truth or estimate, and what of it is
// ready to be shuffled. Given the state of the simulated tandem queue, the decision is the
// simulator's (sim/tandem); beyond it, jobs may have a most of slots, and what the first cannot use
// goes down the order. Shares are rounded to whole slots by largest remainder, first the sum up.
//
// A decision that is held for a period gives a job no more slots than it can use fully: at the map
// station whole slot-periods of what is left, at the shuffle station of what is ready or becomes
// ready within the period. What nobody can use fully goes to the job that ends its phase earlier by
// it the most. Shares are then whole slots.
//
// Ranks are kept up to date as jobs change. A decision is one pass over them, O(n), while the first
// jobs can use a whole station; jobs with few slots each make it O(n + k log n) for k that run.
// Warm, it allocates nothing. Source: Lin, Wierman, Zhang, Tan 2013, section 4.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/bound.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/terms.hpp"
#include "malleable/policy/epoch/period_clock.hpp"
#include "malleable/policy/epoch/table.hpp"
#include "malleable/policy/tandem_policy.hpp"

namespace malleable {

struct TandemEpochOptions {
  TandemPolicy policy = TandemPolicy::kMaxSrpt;
  bool conserving = true;  // as printed otherwise: see sim/tandem
  bool bounce = false;     // overrun estimates bounce
  std::array<std::int64_t, 2> slots{1, 1};
  double period = 0.0;  // seconds for which a decision holds; 0: until something ends

  void state(State& s) { s(policy, conserving, bounce, slots); }
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
    std::span<const double> map, shuffle;  // left, in seconds of the whole station
    std::span<const double> ready;         // of the shuffle; empty: by the map phase's progress
    std::span<const double> max_map_slots, max_shuffle_slots;

    std::size_t size() const { return map.size(); }
    // `rows` kAnyLength: of new jobs; the first column says how many.
    template <typename Self, typename Visit>
    static void each(Self& self, std::size_t rows, Visit&& visit) {
      const bool anew = rows == kAnyLength;
      visit("map", self.map, rows, !anew);
      if (anew) rows = self.size();
      visit("shuffle", self.shuffle, rows, !anew);
      visit("ready", self.ready, rows, true);
      visit("max_map_slots", self.max_map_slots, rows, true);
      visit("max_shuffle_slots", self.max_shuffle_slots, rows, true);
    }
    void check(bool anew) const;
  };
  using Changes = Columns;
  // New jobs; their sizes are what is left then. Fills `ids`. Throws before anything changes.
  // If `arrival` is empty, they arrive at the last decision, or at the first one.
  void add(std::span<const double> arrival, const Columns& columns, std::span<std::int64_t> ids);
  // Overwrites what is given (the others empty). Throws before anything changes.
  void update(std::span<const std::int64_t> ids, const Columns& columns);
  void finish(std::span<const std::int64_t> ids) { remove(ids); }
  void remove(std::span<const std::int64_t> ids);

  // A share is a part of its station. `changed`: the slots, since the decision before.
  struct Service {
    std::int64_t id;
    Both<double> share{};
    Both<std::int64_t> slots{};
    bool changed = false;
    Both<Bound> bound{Bound::kOrder, Bound::kOrder};
  };
  // In the order of their ranks at the map station, then those that only shuffle, then those that
  // lost all their slots. Valid until the next call. Capacities that are given hold from now on; 0
  // is one. Throws before anything changes if `now` is before the decision before, or a job arrives
  // later.
  // `period`, if given: of this decision.
  std::span<const Service> decide(double now, std::optional<std::int64_t> map_slots = {},
                                  std::optional<std::int64_t> shuffle_slots = {},
                                  std::optional<double> period = {});
  // Of the last decision, if it had a period: by station, the jobs that could use a slot which
  // becomes free, by rank.
  std::span<const std::int64_t> order(Station at) const { return stations_[at].turn; }
  // Jobs keep coming that need more whole slot-periods of a station than there are.
  bool overloaded() const;

  std::size_t size() const { return jobs_.size(); }
  std::pair<std::int64_t, std::int64_t> slots() const {
    return {options_.slots[kMapping], options_.slots[kShuffling]};
  }
  const char* rule() const;  // the policy's name

  void state(State& s);

 private:
  using Row = Index;
  struct Job {
    Both<double> left{}, size{}, most{kInfinity, kInfinity};
    double ready = 0.0, arrival = 0.0;
    std::int64_t sequence = 0;
    bool shuffle_heavy = false, ready_given = false;

    void state(State& s) {
      s(left, size, most, ready, arrival, sequence, shuffle_heavy, ready_given);
    }
    // Shuffle work for each unit of map work.
    double ratio() const { return size[kMapping] > 0.0 ? size[kShuffling] / size[kMapping] : 0.0; }
  };
  // Jobs of one station and class in order: the first is found in one pass, a heap of the others is
  // built only if they are asked for.
  struct Line {
    struct Entry {
      TandemRank rank;
      Row row;
      bool operator<(const Entry& other) const { return other.rank < rank; }
    };
    std::vector<Entry> heap;
    Row best = kNone, taken = kNone;
    std::size_t count = 0;
    bool gathered = false;
  };
  struct Part {
    Row row;
    double share, most;
    Bound bound;  // of the most
  };
  // Those of a class that run at a station, in order; the last one may take more.
  struct Parts {
    std::vector<Part> parts;
    double extend(double quota);
    double add(Row row, double quota, double most, Bound bound);
  };

  struct Flow {
    Row row;
    double rate;  // of its shuffle work, as a share of that station
  };
  struct StationState {
    // Firsts of the ranks, infinite where there is nothing to do; only these are read in a pass.
    std::vector<double> first;
    std::vector<TandemRank> rank;
    Both<Parts> parts;  // by class
    std::vector<std::int64_t> turn;
  };

  void write(Row row, const Columns& columns, std::size_t k);
  void make_room();
  void begin_decision(double now, const Both<std::int64_t>& slots, double period);
  void serve(Station at, double heavy);
  void line_up_flows();
  void find_latest();
  void refresh(Row row);
  std::size_t class_of(Row row) const { return split_ && jobs_[row].shuffle_heavy ? 1 : 0; }
  double beta() const;
  void line_up(const StationState& of);
  Row head(std::size_t group);
  void drop_head(std::size_t group);
  // Hands up to `quota` of a station down the line of a class; what is left over is returned.
  double fill(Station at, std::size_t group, double quota);
  double usable(Row row, Station at) const;
  bool cap(Row row, Station at, double& most) const;
  void hand_out_rest(Station at);
  void order_all(Station at);
  void share(Station at, double heavy);
  void to_slots(Station at);
  Service& service_of(Row row);
  Bound bound_of(Row row, const Service& service, Station at) const;
  std::span<const Service> told();
  double slots_at(Station at) const { return static_cast<double>(options_.slots[at]); }

  TandemEpochOptions options_;
  EpochTable<Job, 2> jobs_;
  PeriodClock clock_;
  bool split_;
  bool lends_ = true;  // what is left over at a station, in the decision at hand
  Both<StationState> stations_;
  std::vector<double> imbalance_;
  std::int64_t sequence_ = 0;
  double latest_arrival_ = -kInfinity;
  bool latest_stale_ = false;  // it may be of a job that was removed

  Line line_[2];
  const StationState* lined_up_ = nullptr;
  std::vector<Flow> flow_[2];  // mapping with nothing ready, the last in rank first
  std::vector<std::uint32_t> service_at_;
  std::vector<Service> service_;
  struct Remainder {
    double fraction;
    std::size_t service;
  };
  std::vector<Remainder> remainder_;
  // For a period.
  Problem rest_;
  std::vector<double> assigned_slots_;
  std::vector<Part*> rest_parts_;
  LeftOverSlots left_over_;
  std::vector<Row> by_rank_;
};

}  // namespace malleable
