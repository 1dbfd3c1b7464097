// A choice among priority orders for a sum: each is packed (slots go to jobs in the order, again at
// every completion), and the order with the cheapest schedule decides. No single order is always
// best: narrow jobs cannot catch up later, unless there are so many that they fill the slots;
// apparent cost needs much patience for loose deadlines and little for tight ones.
//
// Jobs that come later will push ends back, by more or less. So a schedule is priced as if each end
// C were uncertain by `spread`: a jump of the penalty by J at d costs J / (1 + exp((d - C) /
// spread)), a bend of its slope by B costs B spread log(1 + exp((C - d) / spread)). Among schedules
// that cost the same today this prefers the one that keeps more slack. If sizes err (`doubt`, the
// spread of log(work / estimate)), this part of the job's time alone counts as further spread at
// jumps, and jumps that are out of reach by so much still count.
//
// Orders: work over the rate at which a job loses soon, for several patiences (spans of time that
// count as soon: apparent cost; steps count together), each with and without `catch up`: the work W
// counts as W / (A + W / M), M being the job's most slots and A a part of the time of all work on
// all slots. For lines also W M; for other penalties latest start, due date, and the set that can
// be on time (kernel priority_orders). Gangs (which run on at least their minimum, or not at all)
// are ordered by W / M times a power of M: by time if they are wide, because a wide gang blocks the
// slots, and nearer to work the narrower they all are. Jobs that come later wait as long as a mean
// unit of the work of gangs; otherwise a wide gang would wait behind narrow ones that leave slots
// idle. O(J log J) for each of up to thirteen orders.
//
// Orders and spread were chosen with benchmarks/rivals, sections events and cluster-late.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/priority_orders.hpp"
#include "malleable/model/penalties.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

// `spread`, as a part of the time of the median job on all slots; with whole tasks, which keep
// their slots until they end.
inline constexpr double kSpread = 0.1, kTaskSpread = 2.0;

class OrderChoice {
 public:
  // Fills `order` with the best order, and returns its name. Penalties must be finite, and lines
  // with jumps. `coming`: the mean number of jobs that come later.
  const char* run(const Problem& problem, const Penalties& penalties, double spread,
                  std::span<Index> order, double coming = 0.0, double doubt = 0.0);

 private:
  // Computes what all orders need.
  void study(const Problem& problem, const Penalties& penalties, double spread);
  void make_keys(const Penalties& penalties, double patience, double beside, double width_power);
  // The rate at which the job loses soon: slopes, and jumps in reach (`patience`).
  double rate(const Penalties& penalties, std::size_t j, double patience) const;
  // The mean penalty if the end is uncertain by spread_.
  double uncertain(const Penalties& penalties, std::size_t j, double end) const;
  // The cost of the order in tried_; given up above `most`.
  double cost(const Penalties& penalties, double most);
  // Keeps the order in tried_ if it is the best; consider_keys() makes it from key_.
  void consider(const Penalties& penalties, const char* name);
  void consider_keys(const Penalties& penalties, const char* name);
  // Tries orders by work over the rate of loss; by work times width over it.
  void consider_costs(const Penalties& penalties, double patience);
  void consider_area(const Penalties& penalties);

  const Problem* problem_ = nullptr;
  // [s] time of all work, and of the median job, on all slots
  double all_ = 0.0, median_ = 0.0, spread_ = 0.0;
  double doubt_ = 0.0;
  double width_power_ = 0.0;    // largest power for gangs
  double behind_ = 0.0;         // what jobs that come pay each second for a unit of work left
  double least_ = 0.0;          // cost of the best order
  const char* best_ = nullptr;  // name of the best order
  // By job: seconds alone at its maximum; key; earliest completion; workspace of study() and of the
  // penalties paid by then.
  std::vector<double> alone_, key_, earliest_, middle_, paid_;
  std::vector<Index> tried_, chosen_;
  PriorityOrders orders_;
  MalleablePacking packing_;
  KeySort sorter_;
};

}  // namespace malleable
