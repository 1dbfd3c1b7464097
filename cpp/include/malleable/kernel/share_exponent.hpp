// How unequal should slots by size be if s tasks of a job do s^p and p is not sure?
//
// The k smallest of n jobs together get 1 - (1 - k / n)^(1 / (1 - x)) of the slots
// (kernel/power_shares): share exponent x = 0 means equal shares, x = 1 the order of sizes. If jobs
// are all there and p is known, x = p is best (Berg, Vesilo, Harchol-Balter 2020). If work keeps
// coming at load r, unequal shares of tasks that slow each other down cost slots that the new work
// needs: 1 - x = (1 - p) (1 + 2.25 r), at most 0.7, is nearly best. Another x costs about the
// square of the logarithm of (1 - x) over its best value; more if x is too large than if it is too
// small, and more the more work keeps coming. The exponent with the least expected cost under the
// posterior of p is chosen from a grid of 14. The best exponent for the mean of p would cost up to
// 6 % of the mean response on a real trace.
//
// O(grid of p) logarithms and O(grid of p x grid of x) products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "malleable/model/speedup_curve.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// The share exponent of least expected cost; 1: serve in order.
double share_exponent(const SpeedupCurve& chances, double load);

// The load that keeps coming: the slot-seconds that the last jobs need, over the slot-seconds of
// all slots since the first of them came. The need of jobs is the estimate when they came, times
// the ratio of real to estimated need of the jobs that ended, because tasks that slow each other
// down take longer.
//
// Jobs that come at once, or so close together that little of the present work could be done
// meanwhile, are no stream. So the last jobs are the last 64, or more if the slots need long for
// the present work: the load is measured over a few times as long. Otherwise a growing queue would
// look like a batch, and shares that are too unequal would make it grow further.
//
// O(1) a job, O(log jobs that are kept) to ask.
class ComingLoad {
 public:
  // A job comes with this estimated work; a job leaves whose estimate was `work` and that took
  // `took` slot-seconds.
  void came(double now, double work);
  void left(double work, double took);
  double load(double now, double slots) const;

  void state(State& s) { s(jobs_, count_, present_, came_, there_, believed_, took_); }

 private:
  static constexpr std::size_t kJobs = 1024;  // the last jobs, which are remembered
  struct Job {
    double time = 0.0, before = 0.0;  // `before`: work of all that came earlier
    void state(State& s) { s(time, before); }
  };
  // The first of the jobs from `first` on whose time is more than that.
  std::uint64_t later(std::uint64_t first, double time) const;

  std::array<Job, kJobs> jobs_{};
  std::uint64_t count_ = 0, present_ = 0;  // jobs that have come, and that are here
  double came_ = 0.0, there_ = 0.0;        // work of all jobs that came, and of the present jobs
  // Fading sums over jobs that left: their estimates when they came, and their real slot-seconds.
  double believed_ = 0.0, took_ = 0.0;
};

}  // namespace malleable
