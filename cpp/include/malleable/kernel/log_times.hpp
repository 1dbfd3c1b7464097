// Seconds of tasks that are log-normal: their mean, and the mean time that a running task has left.
//
// The mean time left after an age a is E[T - a | T > a] = E[T] Phi(s - z) / Phi(-z) - a, where z =
// (ln a - mean) / s, s is the deviation, Phi is the standard normal distribution function, and E[T]
// = e^(mean + s^2 / 2). If z is so large that Phi(-z) rounds to 0, the formula uses 1 / (x + 1 / x)
// for Mills' ratio of x. O(1) each.
#pragma once

namespace malleable {

// Logarithms of a task's seconds: mean and standard deviation.
struct LogTimes {
  double mean, deviation;

  // The deviation, but above 0: with equal tasks a formula would divide by 0.
  double scatter() const;
  double seconds() const;
  // Mean seconds left of a task that has run for `age`.
  double left_after(double age) const;
};

// The chance that a standard normal variable is above z.
double normal_above(double z);

}  // namespace malleable
