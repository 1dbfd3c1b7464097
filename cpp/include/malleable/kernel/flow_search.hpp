// Schedules of flows from orders of flows, and local search over those orders.
//
// An order becomes a schedule in one of four ways:
//   chains  the greedy of FlowFlex's stage 2, a flow at a time: each flow becomes a chain of
//           pseudo-jobs, each as early and as wide as free slots allow (deadline_greedy.hpp)
//   list    a ready list (free slots go to the ready jobs by rank, ready_list.hpp): flow by flow in
//           the order, within a flow the longest path first
//   slack   a ready list of jobs by latest start: a due time per flow less the longest path from
//           the job's start on
//   keys    a ready list by a key per job (key_search.hpp)
// The search moves flows within an order (insertions and swaps, first improvement), from several
// starts and then from perturbations of the best. Step penalties and maxima leave plateaus: there a
// secondary objective decides (how far behind the steps that were missed, or the deadlines that are
// aimed at). A candidate is given up once the flows that have ended cost more than the best.
// Deterministic. One candidate costs one schedule: O(jobs log jobs) and the cost of deadline_greedy
// or ready_list.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/deadline_greedy.hpp"
#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/order_search.hpp"
#include "malleable/kernel/ready_list.hpp"
#include "malleable/model/penalties.hpp"

namespace malleable {

enum class FlowScheduler : std::uint8_t { kChains, kList, kSlack, kKeys };

// The data from which a schedule is made. Only kSlack reads `due` (from now, finite), only kKeys
// `key` (by job), the others `order`; improve() moves flows within the order and ignores keys.
struct FlowRecipe {
  FlowScheduler scheduler = FlowScheduler::kChains;
  std::vector<Index> order;
  std::vector<double> due, key;
};

class FlowSearch {
 public:
  // All of them must outlive the calls below.
  void begin(const FlowProblem& problem, const FlowChains& chains, const Penalties& penalties,
             Aggregate aggregate, std::span<const double> earliest);

  // For a maximum: the deadlines (from now) that all flows would meet at the value aimed at. The
  // secondary objective is then the total time by which they are missed. Scores before and after
  // are not comparable.
  void aim(std::span<const double> due);

  // The recipe's score; infinite once it exceeds `limit`.
  Score score(const FlowRecipe& recipe, const Score& limit = {});

  // Ranks of the jobs for a ready list.
  void rank_by_order(std::span<const Index> order, std::span<Index> rank) const;
  void rank_by_due(std::span<const double> due, std::span<Index> rank);
  void rank_by_key(std::span<const double> key, std::span<Index> rank);

  // Tries up to `effort` candidates from the recipes (best first, best.value is the first one's)
  // and leaves the best one in recipes[0]. Ends early at `bound`, or when stop() says so. Returns
  // how many it tried.
  std::uint64_t improve(std::vector<FlowRecipe>& recipes, Score& best, std::uint64_t effort,
                        double bound, const std::function<bool()>& stop);

 private:
  void apply(const OrderMove& move, FlowRecipe& recipe);
  void list_moves();  // all moves, or near ones and some far ones
  // Moves flows within the order while that lowers the score.
  void descend(FlowRecipe& recipe, Score& score);
  bool exhausted();  // the effort is used up, or the caller stops the search
  // Adds a flow that has ended to the score; false once that exceeds `cut`.
  bool count(Index flow, double end, double cut, Score& score) const;

  const FlowProblem* problem_ = nullptr;
  const FlowChains* chains_ = nullptr;
  const Penalties* penalties_ = nullptr;
  Aggregate aggregate_ = Aggregate::kSum;
  // The part of the score that no schedule changes; lateness that counts half.
  double base_ = 0.0, reach_ = 1.0;
  std::vector<double> least_;  // least penalty of each flow
  std::vector<Index> inside_;  // the jobs of each flow, longest path first
  // By flow: its rank in the schedule that is made; flows by key; flows that have work.
  std::vector<Index> rank_, by_key_, active_;
  std::vector<double> key_, end_, moved_, target_;  // target_: the deadlines aimed at
  KeySort sorter_;
  DeadlineGreedy greedy_;
  ReadyList list_;
  FlowRecipe trial_;
  std::vector<OrderMove> moves_;
  SearchRandom random_;
  std::uint64_t tried_ = 0, effort_ = 0;  // schedules made, and most
  double goal_ = 0.0;                     // the value at which the search ends
  const std::function<bool()>* stop_ = nullptr;
};

}  // namespace malleable
