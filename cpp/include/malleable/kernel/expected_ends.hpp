// When will each job end, and between what 80 of 100 times?
//
// What is left is known but for the seconds of tasks. Logarithms of a phase's seconds are normal.
// Their standard deviation is drawn as other phases and its own tasks make it likely, half each,
// and their mean as is believed of it then (kernel/task_estimates); then every task's seconds
// (those that run take longer than they are old), and all tasks are run: in each free slot the next
// task by order, or of the job that has fewest for its share. Now and then the waiting tasks of a
// phase take other times than those before them. A slot gets an eighth of a job's share
// at once where many tasks wait, less and less towards the end, and more of jobs whose turn comes
// late.
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

// Standard deviations of logarithms that are believed possible.
inline constexpr std::size_t kScatters = 10;
double scatter_at(std::size_t k);

// Of a phase: what its tasks have shown, and what is left of it.
struct LeftPhase {
  // Of logarithms of seconds of a task that runs alone, by their standard deviation: what is
  // believed of their mean, and the logarithm of how likely that makes what so many tasks have
  // shown.
  std::array<LogMean, kScatters> mean{};
  std::array<double, kScatters> log{};
  double shown = 0.0;
  double age = 0.0, ages = 0.0;  // of those that run [s]: mean, standard deviation
  std::int64_t running = 0, waiting = 0;
};

struct LeftJob {
  LeftPhase phases[2];
  std::int64_t most = kMostSlots;  // slots at once
  std::array<double, 2> key{};     // of the order: the least first, then by the second one
  double share = 0.0;              // logarithm of its share, where slots are shared
  double speedup = 1.0;            // p: s tasks of a phase do s^p
  std::vector<Index> parents;      // of those that are left, which have to end before
};

struct EndsRequest {
  std::int64_t slots[2] = {0, 0};  // generic: all are the first ones
  bool generic = false;
  bool shared = false;  // slots go to jobs that have fewest for their share, not by order
  double jump = 0.25;   // how likely it is that waiting tasks of a phase take other times
  double now = 0.0;
  int draws = 64;
  std::uint64_t seed = 0;
};

struct ExpectedEnd {
  double at, early, late;  // median, 10 % and 90 %; infinite if no slot is there for it
};

std::vector<ExpectedEnd> expected_ends(std::span<const LeftJob> jobs, const EndsRequest& request);

}  // namespace malleable
