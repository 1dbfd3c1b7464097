// When will each job end, and between which times in 80 of 100 cases?
//
// Only the seconds of tasks are unknown. Their logarithms are normal within a phase. Each draw is a
// simulated run: it draws a phase's standard deviation (its *scatter*), half from other phases and
// half from its own tasks, then its mean (kernel/task_estimates), then the seconds of every task; a
// running task takes longer than its age. Then it runs all tasks: a free slot takes the next task
// by order, or a task of the job with the fewest slots for its share. Now and then the waiting
// tasks of a phase take other times than the tasks before them. To save steps, a slot takes an
// eighth of a job's share of tasks at once if many tasks wait, less towards the end, and more of
// jobs whose turn comes late.
//
// A draw takes O(log jobs) for each of at most min(tasks, 8 slots log(tasks)) steps of a job.
// Sources: self-scheduling by shrinking pieces (Polychronopoulos and Kuck 1987), list scheduling
// (Graham 1966), exponential rejection for normal tails (Robert 1995).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/task_estimates.hpp"
#include "malleable/model/cluster.hpp"

namespace malleable {

// Standard deviations of logarithms are tried on a grid of this many.
inline constexpr std::size_t kScatters = 10;
double scatter_at(std::size_t k);

// One phase: what its tasks have shown, and what is left of it.
struct LeftPhase {
  // For each standard deviation of the logarithms of the seconds of a task that runs alone: the
  // posterior of their mean, and the log-likelihood of the times seen.
  std::array<LogMean, kScatters> mean{};
  std::array<double, kScatters> log{};
  double shown = 0.0;  // ended tasks
  double drift = 0.0;  // how much longer waiting tasks will take than those seen, as a logarithm
  double age = 0.0, ages = 0.0;  // of running tasks [s]: mean, standard deviation
  std::int64_t running = 0, waiting = 0;
};

struct LeftJob {
  LeftPhase phases[2];
  std::int64_t most = kMostSlots;  // slots at once
  // place in the order: least first number first, ties by the second
  std::array<double, 2> key{};
  double share = 0.0;          // logarithm of its share, if slots are shared
  double speedup = 1.0;        // p: s tasks of a phase do s^p
  std::vector<Index> parents;  // unfinished jobs that must end before it
};

struct EndsRequest {
  std::int64_t slots[2] = {0, 0};  // generic slots: all in slots[0]
  bool generic = false;
  // a free slot goes to the job with the fewest slots for its share, not by order
  bool shared = false;
  double jump = 0.25;  // chance that waiting tasks of a phase take other times than earlier ones
  double now = 0.0;
  int draws = 64;
  std::uint64_t seed = 0;
};

struct ExpectedEnd {
  double at, early, late;  // median, 10 % and 90 %; infinite if the job can get no slot
};

std::vector<ExpectedEnd> expected_ends(std::span<const LeftJob> jobs, const EndsRequest& request);

}  // namespace malleable
