// The tolerances of the core, each with its reason. They are relative, unless their comment says
// otherwise. A double has 16 digits: one operation loses 1e-16 of its result, a sum of n terms up
// to n times that.
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

// A value this close to its lower bound counts as optimal, because the difference could not be
// measured. It is twice the tolerance of the deadlines that the value and the bound may use. Levels
// (values that the maximum of all penalties may have) are found by deadline tests and therefore
// less exact.
inline constexpr double kOptimal = 2e-9, kOptimalLevel = 1e-8;

// Rounding of sums of a few thousand terms. Less than this share of a job's size counts as no work
// left, values that differ by less count as equal, and bounds are lowered by this share, so that
// rounding never makes a bound wrong.
inline constexpr double kRounding = 1e-12;

// Times, or levels of a maximum, each computed in a few operations: closer ones are equal.
inline constexpr double kSameTime = 1e-13;

// The last digits of a single operation: values closer than this were only computed in different
// ways.
inline constexpr double kLastDigits = 1e-15;

// Surely more than rounding, for horizons and limits that may be loose.
inline constexpr double kAmple = 1e-9;

// Work that is added up from pieces may lack this share of the whole, because pieces end at times
// that a double can represent.
inline constexpr double kUnseen = 1e-9;

// The search for a level ends with a bracket this narrow, because each further digit costs another
// test.
inline constexpr double kCloseLevel = 1e-10;

// Rounding below this share of a bound is not subtracted from it, because no digit that is shown
// changes.
inline constexpr double kMinor = 1e-11;

// Work of a schedule that a caller brings may differ by this share, because it may be less exact.
inline constexpr double kBrought = 1e-6;

// [slots, tasks, machines] Rounding of a quotient that is a count: a number this close to a whole
// number counts as that number.
inline constexpr double kCount = 1e-9;

// Used in place of 0 if a number must be above 0: smaller than any computed number.
inline constexpr double kTiny = 1e-300;

}  // namespace malleable
