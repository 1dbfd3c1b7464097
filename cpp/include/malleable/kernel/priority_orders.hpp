// Priority orders to pack by, built from the penalties' slopes, jumps and inverses rather than from
// a metric's name (FLEX, section 3.1, "metric-specific schemes"; the paper leaves them out).
//
// Each is a key per job, sorted; O(J log J). W is the remaining work, p its time on all slots W/S,
// e the earliest completion, D the last time at which the penalty is still the least that can be
// had (infinite if it never rises), r the rate at which it rises.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"

namespace malleable {

enum class OrderRule : std::uint8_t {
  kSmith,         // W / r: shortest work where all r are equal (Smith 1956)
  kShortestPath,  // (W / M) / r
  kDueDate,       // D: earliest due date (Jackson 1955)
  kModifiedDue,   // max(D, p) / r: weighted modified due date
  kApparentCost,  // W / r, put off while there is slack: apparent tardiness cost
  kOnTimeSet,     // Moore and Hodgson 1968 with weights, several steps and the others' minima: drop
                  // what costs least per work freed
  kLeastSlack,    // D - e
};

class PriorityOrders {
 public:
  // Fills `order`; ties by index. `earliest` as from earliest_completions().
  void make(OrderRule rule, const Problem& problem, const Penalties& penalties,
            std::span<const double> earliest, std::span<Index> order);

  // The same in two steps, for several rules on one instance: what the rules look at, then each.
  void study(const Problem& problem, const Penalties& penalties, std::span<const double> earliest);
  void apply(OrderRule rule, const Problem& problem, const Penalties& penalties,
             std::span<const double> earliest, std::span<Index> order);

  // Orders by the given due times (from problem.now), ties by longest path first.
  void by_due(const Problem& problem, std::span<const double> due, std::span<Index> order);

  // By the completions of slots fixed for life; jobs without slots last, in the order `waiting`.
  // The completions (from problem.now) take the place of the slots.
  void by_moldable(const Problem& problem, std::span<double> slots, std::span<const Index> waiting,
                   std::span<Index> order);

  // Rate at which the penalty rises, for Smith's ratio: the slope where there is only one,
  // otherwise the mean slope between the earliest completion and the end of all work.
  static double rate(const Problem& problem, const Penalties& penalties, std::size_t j,
                     double earliest, double end);

  KeySort& sorter() { return sorter_; }

 private:
  void on_time_set(const Problem& problem, const Penalties& penalties, std::span<Index> order);

  struct Entry {
    double key;
    Index job;
    bool operator<(const Entry& other) const {  // heaps serve the largest: least key, lowest index
      return key != other.key ? key > other.key : job > other.job;
    }
  };

  KeySort sorter_;
  std::vector<Entry> by_target_, by_loss_;
  double end_ = 0.0;  // of all work, on all slots
  Scratch<double> rate_, due_, key_, target_, alone_, low_;
  std::vector<std::uint8_t> more_;
  std::vector<Index> first_, second_;
};

}  // namespace malleable
