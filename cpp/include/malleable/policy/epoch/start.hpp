// Jobs with a start condition (MinMode::kStart): they wait without slots until they get their
// minimum, and never have less after that. A wrapper of any rule that shares.
//
// A running job keeps its minimum; jobs above it may shrink to it. Waiting jobs start in an order
// that ages (start_line); at this decision a job gets its preferred slots, if no job's minimum
// needs them. An inner Epoch (policy/epoch.hpp: the object that makes a loop's decisions over a
// table of jobs) shares the slots; if the objective is a sum, by marginal gains (start_shares). It
// has only the running jobs and those whose minimum is a guarantee (MinMode::kGuarantee: slots from
// arrival on). If the slots become fewer than the minima of the running jobs, the job that started
// last stops, keeps the work done, and waits again; guarantees get the slots that the minima of
// started jobs leave.
//
// The order: by the seconds that a job takes on its minimum over its weight (sums, and maxima of
// stretch), shorter for deadlines and SLA steps that come near and can still be met (apparent
// cost); by penalties (other maxima); by arrival (policies that do not follow the objective). For
// sums it ages by 1 / (1 + wait / D)^4. For each job j, D_j is the time that all slots would need
// for the work present when it came; D is the longest D_j of the waiting jobs, and so about the
// longest wait of first come, first served. Ageing alone lets wide jobs wait too long, because
// narrow jobs fit before them. So a job may have a reservation after a wait of D; later if much of
// the work can shrink, because then slots are found anyway.
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

  // A new row, the last one; a row that changed; jobs that leave, before their rows do; rows that
  // leave.
  void come();
  void change(const Scene& at, std::size_t row);
  void leave(std::span<const Index> rows, bool ended);
  void close(const RowsGone& gone);

  void decide(Scene& at);
  // The sum of the minima of started jobs.
  double started(const Scene& at) const;
  // Ids of jobs whose minimum is more than the slots; each is returned once.
  std::vector<std::int64_t> take_oversized() { return std::exchange(oversized_, {}); }
  // As Epoch::order(): ids of the running jobs that could use more slots, in the order in which
  // they should get slots that become free.
  std::vector<std::int64_t> order(const Scene& at);
  // As in Epoch: whether more work arrives than the slots can do, and that no jobs will come.
  bool overloaded() const;

  void state(State& s);

 private:
  static constexpr std::int64_t kNobody = -1;

  bool starts(const Scene& at, std::size_t row) const;
  double least(const Scene& at, std::size_t row) const;
  double left(const Scene& at, std::size_t row) const;
  bool runs(std::size_t row) const { return inner_id_[row] != kNobody; }
  void stop_beyond(const Scene& at);
  void add(const Scene& at, std::span<const Index> rows, double free);
  JobsView gather(const Scene& at, std::span<const Index> rows);
  void tell_changes(const Scene& at);
  void count_area(const Scene& at, std::size_t row);
  void look(const Scene& at);
  void meet(const Scene& at);
  void line_up(const Scene& at);
  void line_up_growth(const Scene& at, std::size_t row);
  double key(const Scene& at, std::size_t row, double wait) const;
  void scale_guarantees(const Scene& at);

  std::unique_ptr<Epoch> inner_;
  // By row: the id in the inner epoch, which rises with the start, or kNobody; D_j [s], negative
  // before the first decision; whether it was told that it does not fit.
  std::vector<std::int64_t> inner_id_;
  std::vector<double> ahead_;
  std::vector<std::uint8_t> told_;
  bool scaled_ = false;              // guarantees in the inner epoch are scaled down
  std::vector<std::int64_t> dirty_;  // ids that changed
  std::vector<std::int64_t> oversized_;
  // Sums of one decision, on minima; for waiting jobs the mean seconds, D, the count.
  double area_ = 0.0, shrinks_ = 0.0, minima_ = 0.0, guaranteed_ = 0.0;
  double mean_ = 0.0, longest_ = 0.0;
  std::size_t waiting_ = 0;
  std::vector<double> seconds_;  // by row: its time on its minimum
  StartLine line_;
  JobColumns columns_;
  std::vector<std::int64_t> ids_;
  std::vector<Kind> kinds_;
  std::vector<Index> rows_;
};

}  // namespace malleable
