// Jobs with a start condition (MinMode::kStart): they wait without slots until they get their
// minimum, and never have less after that. A wrapper of any rule that shares.
//
// A running job keeps its minimum; jobs above it may shrink to it. Waiting jobs start in an order
// that ages (start_line); at this decision a job gets its preferred slots, if no job's minimum
// needs them. After that the rule that shares sees what each job may have: waiting jobs nothing,
// running jobs at least their minima. If some speed-up is below linear, started jobs share by
// marginal gains (start_shares). If the slots become fewer than the minima of the running jobs, the
// job that started last stops, keeps the work done, and waits again; guarantees
// (MinMode::kGuarantee: slots from arrival on) get the slots that the minima of started jobs leave.
//
// The order: by the seconds that a job takes on its minimum over its weight (sums, and maxima of
// stretch); for deadlines and SLA steps by the later of its end and the deadline (due_key); by
// penalties (other maxima); by arrival (policies that do not follow the objective). If penalties
// rise with each second, it ages by 1 / (1 + wait / D)^4. For each job j, D_j is the time that all
// slots would need for the work present when it came; D is the longest D_j of the waiting jobs, and
// so about the longest wait of first come, first served. Ageing alone lets wide jobs wait too long,
// because narrow jobs fit before them. So such a job may have a reservation after a wait of D;
// later if much of the work can shrink, because then slots are found anyway. Jobs that have waited
// 1.4 times as long go first, the oldest before the others, with a reservation. In the other orders
// a job may have a reservation at once, unless it has nothing to gain.
//
// O(J); O(J log J) if many jobs start at once.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"
#include "malleable/policy/epoch/start_line.hpp"
#include "malleable/policy/epoch/start_shares.hpp"

namespace malleable {

class Start {
 public:
  // A new row, the last one; a row whose limits or speed-up may have changed; rows that leave.
  void come();
  void forget(std::size_t row) { speed_[row] = {}; }
  void close(const RowsGone& gone);

  // Starts and stops jobs, and sets what each job may have. Returns the rows for which this
  // changed.
  std::span<const Index> decide(Scene& at);
  // The sum of the minima of started jobs.
  double started(const Scene& at) const;
  // Ids of jobs whose minimum is more than the slots; each is returned once.
  std::vector<std::int64_t> take_oversized() { return std::exchange(oversized_, {}); }

  void state(State& s);

 private:
  // Rates of a job on its minimum and its maximum; negative: not known yet.
  struct Speed {
    double least = -1.0, most = -1.0;
  };

  // Whether the job has a start condition.
  bool starts(const Scene& at, std::size_t row) const;
  // The slots that the job has at least while it runs; the slots that it can use.
  double least(const Scene& at, std::size_t row) const;
  double most(const Scene& at, std::size_t row) const;
  // The work left; if the job has outlived its estimate, a part of the estimate.
  double left(const Scene& at, std::size_t row) const;
  bool runs(std::size_t row) const { return turn_[row] > 0; }
  // Stops the jobs that started last until the minima of the others fit.
  void stop_beyond(const Scene& at);
  // Adds the work of a job on its minimum to the sums.
  void count_area(const Scene& at, std::size_t row);
  // Sums over present jobs.
  void look(const Scene& at);
  // Sets D_j of jobs that have come since the last decision.
  void meet(const Scene& at);
  // Tells line_ which jobs wait, which run, and which running jobs could use more slots.
  void line_up(const Scene& at);
  void line_up_growth(const Scene& at, std::size_t row);
  // The place in the order of starting; the least is first.
  double key(const Scene& at, std::size_t row, double wait) const;
  // The same for penalties that rise at deadlines or SLA steps.
  double due_key(const Scene& at, std::size_t row) const;
  // What each second until its end costs, if it runs on its minimum.
  double cost_of_second(const Scene& at, std::size_t row) const;
  // Scales guarantees to the slots that the minima of started jobs leave.
  void scale_guarantees(const Scene& at);
  // Gives jobs that start now their preferred slots, while some are free.
  void prefer(const Scene& at, std::span<const Index> started, double free);
  // Writes the limits of all jobs into the table; the rows whose limits changed.
  std::span<const Index> limit(Scene& at);

  // By row: when the job started in the order of starts, or 0; D_j [s], negative before the first
  // decision; whether it was told that it does not fit.
  std::vector<std::int64_t> turn_;
  std::vector<double> ahead_;
  std::vector<std::uint8_t> told_;
  std::int64_t turns_ = 0;
  std::vector<std::int64_t> oversized_;
  std::vector<Speed> speed_;
  // Sums of one decision, on minima; the mean seconds of all jobs; D and count of waiting jobs.
  double area_ = 0.0, shrinks_ = 0.0, minima_ = 0.0, guaranteed_ = 0.0;
  double mean_ = 0.0, longest_ = 0.0;
  std::size_t waiting_ = 0;
  // By row: the time on the minimum, and the slots that the job has at least.
  std::vector<double> seconds_, low_;
  StartLine line_;
  std::vector<Index> rows_;
};

}  // namespace malleable
