// How unlike should slots by size be while p is not sure, where s tasks of a job do s^p?
//
// The k smallest of n jobs together get 1 - (1 - k / n)^(1 / (1 - x)) of the slots
// (kernel/power_shares): share_exponent x = 0 are equal shares, x = 1 is the order of sizes. If
// jobs are all there and p is known, x = p is best (Berg, Vesilo, Harchol-Balter 2020). Where work
// keeps coming, unequal shares of tasks that slow each other down cost slots that it needs: 1 - x =
// (1 - p) (1 + 2.25 r) is best, nearly, and 0.7 at most, r being the load that keeps coming. A
// share_exponent that is not the best one costs about the square of the logarithm of (1 - x) over
// its best; more if x is too large, less if it is too small, and both so more where work keeps
// coming. The share_exponent that is chosen costs least on average over what is believed of p, of a
// grid of 14. The best one for the mean of p would cost up to 6 % of the mean response on a real
// trace.
//
// O(grid of p) logarithms and O(grid of p x grid of x) products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "malleable/model/speedup_curve.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// The share_exponent of least expected cost; 1: in order.
double share_exponent(const SpeedupCurve& chances, double load);

// The load that keeps coming: slot-seconds that the last jobs need over what all slots could do
// since they began to come. What jobs need is what was believed of them when they came, times what
// those that ended took over what was believed of those: tasks that slow each other down take
// longer.
//
// Jobs that come at once, or so shortly one after the other that little could be done meanwhile of
// what is there, are no stream. So the last jobs are 64, or more if the slots need long for what is
// there: the load is looked at over some times as long. Without this a queue that grows would seem
// to be a batch, and shares that are too unlike would make it grow further.
//
// O(1) a job, O(log jobs that are kept) to ask.
class ComingLoad {
 public:
  void came(double now, double work);
  void left(double work, double took);
  double load(double now, double slots) const;

  void state(State& s) { s(jobs_, count_, present_, came_, there_, believed_, took_); }

 private:
  static constexpr std::size_t kJobs = 1024;
  struct Job {
    double time = 0.0, before = 0.0;  // `before`: work of all that came earlier
    void state(State& s) { s(time, before); }
  };
  // The first of the jobs from `first` on whose time is more than that.
  std::uint64_t later(std::uint64_t first, double time) const;

  std::array<Job, kJobs> jobs_{};
  std::uint64_t count_ = 0, present_ = 0;
  double came_ = 0.0, there_ = 0.0;  // work of all that came, and of those that are there
  // Of those that left, the last ones most: what was believed when they came, what they took.
  double believed_ = 0.0, took_ = 0.0;
};

}  // namespace malleable
