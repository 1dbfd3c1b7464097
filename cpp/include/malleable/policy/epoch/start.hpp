// Jobs with a start condition (MinMode::kStart): they wait without slots until they get their
// minimum, and never have less after that. A wrapper of any rule that shares.
//
// A running job keeps its minimum; jobs above it may shrink to it. Waiting jobs start in an order
// that ages (start_line); at this decision a job gets its preferred slots, if no job's minimum
// needs them. The others share the slots by gains (start_shares), or by an inner epoch, which has
// only the running jobs and those with a guarantee. If the slots become fewer than the minima of
// the running jobs, the job that started last stops, keeps the work done, and waits again;
// guarantees get the slots that the minima of started jobs leave.
//
// The order: by the seconds that a job takes on its minimum over its weight (sums, and maxima of
// stretch), shorter for deadlines and SLA steps that come near and can still be met (apparent
// cost); by penalties (other maxima); by arrival (policies that do not follow the objective). For
// sums it ages by 1 / (1 + wait / D)^2, where D is the time on all slots of all work that was
// present when the job came. A job that has waited k D goes before all others. If most work is
// rigid, k is little above 1, because wide jobs starve otherwise; it grows with the share of the
// work that can shrink, because then slots are found anyway.
//
// O(J) beside the inner epoch; O(J log J) if many jobs start at once.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "malleable/policy/epoch/scene.hpp"
#include "malleable/policy/epoch/start_line.hpp"
#include "malleable/policy/epoch/start_shares.hpp"

namespace malleable {

class Epoch;

class Start {
 public:
  Start();
  Start(std::int64_t slots, const EpochOptions& options);
  ~Start();

  // Throws for options that do not go with start conditions.
  static void check(const EpochOptions& options);

  // A new row, the last one; a row that changed; jobs that leave, before their rows do; rows that
  // leave.
  void come(const Scene& at, std::size_t row);
  // `faster`: the row's speed-up may have changed, too.
  void change(const Scene& at, std::size_t row, bool faster);
  void leave(std::span<const Index> rows, bool ended);
  void close(const RowsGone& gone);

  void decide(Scene& at);
  // The sum of the minima of started jobs.
  double started(const Scene& at) const;
  // Ids of jobs whose minimum is more than the slots; each is returned once.
  std::vector<std::int64_t> take_oversized() { return std::exchange(oversized_, {}); }
  // Ids of running jobs, as in Epoch::order().
  std::vector<std::int64_t> order(const Scene& at);
  bool overloaded() const;
  void expect_nobody();

  void state(State& s, const Scene& at);

 private:
  static constexpr std::int64_t kNobody = -1;

  bool starts(const Scene& at, std::size_t row) const;
  double least(const Scene& at, std::size_t row) const;
  double left(const Scene& at, std::size_t row) const;
  double seconds(const Scene& at, std::size_t row) const {
    return left(at, row) * paces_[row].least;
  }
  bool runs(std::size_t row) const { return inner_id_[row] != kNobody; }
  void stop_beyond(const Scene& at);
  void add(const Scene& at, std::span<const Index> rows);
  JobsView gather(const Scene& at, std::span<const Index> rows);
  void tell_changes(const Scene& at);
  void learn_pace(const Scene& at, std::size_t row);
  void end_preferences(const Scene& at);
  void prefer(const Scene& at, std::span<const Index> started, double free);
  void look(const Scene& at);
  void meet(const Scene& at);
  void line_up(const Scene& at);
  void grow(const Scene& at, double free);
  double key(const Scene& at, std::size_t row, double wait) const;
  void scale_guarantees(const Scene& at);
  void share(Scene& at);

  std::unique_ptr<Epoch> inner_;
  // By row: the id within, or kNobody; the number of the start; D [s], negative before the first
  // decision; whether it was told that it does not fit.
  std::vector<std::int64_t> inner_id_, turn_;
  std::vector<double> ahead_;
  std::vector<std::uint8_t> told_;
  std::int64_t turns_ = 0;
  bool scaled_ = false;              // guarantees in the inner epoch are scaled down
  std::vector<std::int64_t> dirty_;  // ids that changed
  std::vector<std::int64_t> oversized_;
  // By row: seconds of a unit of work on the minimum; the first step of slots beyond it, and what
  // that step adds to the rate.
  struct Pace {
    double least, step, more;
  };
  std::vector<Pace> paces_;
  std::vector<double> preferred_;    // by row: slots beyond the minimum until time passes
  std::vector<std::int64_t> begun_;  // ids of jobs with preferred slots
  // Sums of one decision.
  double area_ = 0.0, shrinks_ = 0.0, minima_ = 0.0, guaranteed_ = 0.0, mean_ = 0.0;
  StartLine line_;
  StartShares shares_;
  std::vector<double> least_;  // by row, below 0: does not run
  TermColumns terms_;
  std::vector<double> work_;
  std::vector<std::int64_t> min_, max_, ids_;
  SpeedupColumns speedup_;
  std::vector<Kind> kinds_;
  std::vector<Index> rows_;
};

}  // namespace malleable
