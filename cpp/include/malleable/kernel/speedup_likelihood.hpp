// What do the times of tasks say of p, if s tasks of a phase do s^p together?
//
// A likelihood on the grid p = .25, .30 .. 1. If p is right, a task that ran while s(t) ran would
// have taken V = integral of s(t)^(p - 1) dt alone. Logarithms y of these times, in the order in
// which the tasks started, are normal around a level, and the level need not stay the same: a user
// who lists the short tasks first would look like tasks that slow each other down. So there are
// four models of the level: it is constant; it jumps now and then; it jumps and walks; it follows a
// line. kernel/speedup_posterior weighs them. Each is averaged over standard deviations of a task
// around its level. What is known is when tasks ended: the density of that is the density of y
// times s^(p - 1) / V, s just before the end. Without this factor long tasks, which end beside few
// others, would speak for a p near 1.
//
// Everything is known of the level but what the tasks show: its prior is flat, and what a phase's
// first task took says nothing. Tasks that always ran beside as many say nothing either.
//
// A phase of n tasks costs O(n): about 4 us a task. Sources: Kalman's filter; branches that
// collapse to one normal (Harrison and Stevens 1976).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "malleable/model/speedup_curve.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// A task that ended: when it began, the logarithm of how many ran just before its end, and that of
// its time alone if p is 1, .75, .5 or .25: between these a cubic has it.
struct EndedTask {
  static constexpr std::size_t kKnown = 4;
  double began = 0.0, beside = 0.0;
  std::array<double, kKnown> alone{};

  void state(State& s) { s(began, beside, alone); }
};

inline constexpr std::size_t kLevelModels = 4;
using ModelCurves = std::array<SpeedupCurve, kLevelModels>;

// The logarithm of the likelihood of each p by each model, of at most kSpeedupTasks. Sorts the
// tasks by when they began.
inline constexpr std::size_t kSpeedupTasks = 128;
ModelCurves speedup_likelihood(std::span<EndedTask> tasks);

}  // namespace malleable
