// Local search over priority orders of J jobs, each candidate packed and scored: packing makes a
// schedule in which jobs get slots in the order (malleable_packing.hpp). An order with deadlines is
// packed for them (laxity_packing.hpp).
//
// Insertions and swaps, first improvement, from several starts and then from perturbations of the
// best order. Step penalties leave plateaus; there a secondary objective decides, which falls as
// jobs come closer to the steps that they miss. A candidate is given up as soon as the penalties of
// the jobs that have ended exceed the best score. Deterministic: its own generator with a fixed
// seed. O(J log J) per candidate; 10 jobs take less than a microsecond.
//
// Optima tend to share jobs' places (the "big valley"): hence perturbations of the best order
// rather than fresh starts.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/laxity_packing.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/model/penalties.hpp"

namespace malleable {

struct Score {
  double value = kInfinity;
  double secondary = kInfinity;
};

// A change of an order: two positions swap, or the job at `from` moves to `to`.
struct OrderMove {
  Index from, to;
  bool swap;
  void apply(std::vector<Index>& order) const;
};

// splitmix64
class SearchRandom {
 public:
  explicit SearchRandom(std::uint64_t state = 0) : state_(state) {}
  std::uint64_t operator()();

 private:
  std::uint64_t state_;
};

struct PackedOrder {
  std::vector<Index> order;
  std::vector<double> due = {};  // from problem.now; empty: malleable_packing
};

class OrderSearch {
 public:
  // Prepares to score orders of this instance; both must outlive the calls below.
  void begin(const Problem& problem, const Penalties& penalties, Aggregate aggregate);

  // Packs the order. If the value would exceed `limit`, it is infinite.
  Score score(std::span<const Index> order, const Score& limit = {},
              std::span<const double> due = {});

  static bool better(const Score& a, const Score& b);
  // No job pays more than its least penalty.
  bool least(const Score& score) const { return score.value <= base_; }

  // Tries up to `effort` candidates, starting from `starts` (best first), and leaves the best order
  // in starts[0]. Ends early when the value reaches `bound`, or when stop() says so. Returns how
  // many candidates it tried.
  std::uint64_t improve(std::vector<PackedOrder>& starts, Score& best, std::uint64_t effort,
                        double bound, const std::function<bool()>& stop);

 private:
  OrderMove random_move();  // mostly between near positions
  void list_moves();        // all moves, if they are few
  // Moves to better neighbours until there is none, or none was found for long.
  void descend(PackedOrder& packed, Score& score);
  bool exhausted();  // the effort is used up, or the caller stops the search
  template <typename Done>
  void pack(std::span<const Index> order, std::span<const double> due, Done done) {
    if (due.empty()) {
      packing_.run_until(*problem_, order, done);
    } else {
      laxity_.run_until(*problem_, order, due, done);
    }
  }

  const Problem* problem_ = nullptr;
  const Penalties* penalties_ = nullptr;
  Aggregate aggregate_ = Aggregate::kSum;
  double base_ = 0.0;             // the objective of the least penalties
  double horizon_ = 1.0;          // length of the schedule, to scale the secondary objective
  std::vector<double> earliest_;  // penalty that each job pays at least
  MalleablePacking packing_;
  LaxityPacking laxity_;

  std::vector<Index> trial_;
  std::vector<OrderMove> moves_;
  SearchRandom random_;
  std::size_t active_ = 0;                // jobs with work: the front of every order
  std::uint64_t tried_ = 0, effort_ = 0;  // schedules made, and most
  double goal_ = 0.0;                     // the value at which the search ends
  const std::function<bool()>* stop_ = nullptr;
};

}  // namespace malleable
