// The tolerances of the core, each with its reason. They are shares of what they are compared with
// unless they say otherwise. A double has 16 digits: one operation loses 1e-16 of its result, a sum
// of n terms up to n times that.
#pragma once

#include <cmath>

namespace malleable {

// A completion meets a deadline `at` up to tolerance(at): solvers and checkers alike. Schedules are
// sums of thousands of spans, and users' times are decimal.
inline constexpr double kDeadlineShare = 1e-9;  // of the deadline, but at least of a second
inline double tolerance(double at) {
  const double size = std::fabs(at);
  return kDeadlineShare * (size > 1.0 ? size : 1.0);
}

// A value this close to its bound counts as optimal: nobody could measure the difference. It is
// twice the tolerance of the deadlines that both may use. Levels of a maximum are found by deadline
// tests and therefore less exact.
inline constexpr double kOptimal = 2e-9, kOptimalLevel = 1e-8;

// Rounding of sums of a few thousand terms. Less than this share of a job's size is no work left,
// values that differ by less are the same, and bounds give this much away, so that rounding never
// claims what is not so.
inline constexpr double kRounding = 1e-12;

// Times, or levels of a maximum, that each come out of a few operations: closer ones are the same.
inline constexpr double kSameTime = 1e-13;

// The last digits of a single operation: equal but for the way in which it was computed.
inline constexpr double kLastDigits = 1e-15;

// Surely more than rounding, where too much does no harm: horizons, limits that may be loose.
inline constexpr double kAmple = 1e-9;

// Work that is added up from pieces or amounts may lack this share of the whole: pieces end at
// times that the clock can show.
inline constexpr double kUnseen = 1e-9;

// The search for a level ends with a bracket this narrow: each further digit costs another test.
inline constexpr double kCloseLevel = 1e-10;

// Possible rounding of a bound below this share of it is not taken off: no digit that is shown
// changes.
inline constexpr double kMinor = 1e-11;

// Work of a schedule that a caller brings may differ by this share: theirs may be less exact.
inline constexpr double kBrought = 1e-6;

// [slots, tasks, machines] Rounding of a quotient that stands for a count: so little more or less
// than a whole number is that number.
inline constexpr double kCount = 1e-9;

// In place of 0 where a number must be above it: below everything that is computed here.
inline constexpr double kTiny = 1e-300;

}  // namespace malleable
