// When will each job end, and between what 80 of 100 times?
//
// What is left is known but for the seconds of tasks. Logarithms of a phase's seconds are normal,
// with a mean and a standard deviation that its own tasks show: those that ended by their seconds,
// those that run by being as old as they are. Before they show anything the mean is as the prior
// says; the standard deviation is believed as other phases and its own tasks make it likely, half
// each. Both are drawn, then every task's seconds (those that run take longer than they are old),
// and all tasks are run: in each free slot the next task by order, or of the job that has fewest
// for its share. Now and then the waiting tasks of a phase take other times than those before them.
// A slot gets an eighth of a job's share at once where many tasks wait, less and less towards the
// end, and more of jobs whose turn comes late.
//
// O(phases x grid) for what is believed. A draw takes O(log jobs) for each of at most
// min(tasks, 8 slots log(tasks)) steps of a job. Sources: self-scheduling by shrinking pieces
// (Polychronopoulos and Kuck 1987), the
// censored likelihood of a log-normal (Cohen, Technometrics 1959, for the normal), list scheduling
// (Graham 1966), exponential rejection for normal tails (Robert 1995).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/kernel/task_estimates.hpp"
#include "malleable/model/cluster.hpp"

namespace malleable {

// Of a phase: what its tasks have shown, and what is left of it.
struct LeftPhase {
  LogMean prior;  // of logarithms of seconds of a task that runs alone
  // Tasks that ended and were told, the mean of their logarithms, the sum of squares around it.
  struct Ended {
    double count = 0.0, log = 0.0, square = 0.0;
  };
  Ended all = {}, late = {};     // late: since times changed last, if they may have,
  double changed = 0.0;          // and how likely it is that they have
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
  double jump = 0.1;    // how likely it is that waiting tasks of a phase take other times
  double now = 0.0;
  int draws = 64;
  std::uint64_t seed = 0;
};

struct ExpectedEnd {
  double at, early, late;  // median, 10 % and 90 %; infinite if no slot is there for it
};

std::vector<ExpectedEnd> expected_ends(std::span<const LeftJob> jobs, const EndsRequest& request);

}  // namespace malleable
