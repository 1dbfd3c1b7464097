// Packing of gangs: in priority order a job gets up to its maximum, but nothing unless its minimum
// fits. The schedule of J jobs from now on.
//
// A completion changes nothing for the jobs before the finished one, so only those behind it are
// served again; a tree over the minima of unfinished jobs finds the next that fits.
// O(J log J) plus O(log J) for every time that some job's slots change.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class GangPacking {
 public:
  // done(job, completion) is called in order of time and stops the run by returning false. Jobs
  // that can never run complete at infinity. With `plan`, its start, allocation and pieces are
  // filled.
  void run(const Problem& problem, std::span<const Index> order,
           const std::function<bool(Index, double)>& done, Plan* plan);

 private:
  // First position >= from whose job is unfinished and needs at most `free` slots; size() if none.
  std::size_t next_fitting(std::size_t from, double free) const;
  // need: the job's minimum; infinite once it has ended.
  void set_need(std::size_t position, double need);
  // No job runs yet.
  void begin(const Problem& problem, std::span<const Index> order, Plan* plan);
  void set_rate(std::size_t position, double time, double slots);
  // Serves the positions from `redo` on again.
  void serve(std::size_t redo, double time);
  void collect_ended(double time);  // moves jobs that end by then from running_ to ended_

  const Problem* problem_ = nullptr;
  std::span<const Index> order_;
  Plan* plan_ = nullptr;
  std::size_t unfinished_ = 0;  // jobs

  std::vector<double> tree_;  // minima of needs over a complete binary tree
  std::size_t leaves_ = 0;    // of tree_
  // By position: work left at `since_`, slots since then; its end on these slots, and the time from
  // which no more than rounding is left.
  std::vector<double> left_, since_, rate_, end_, gone_;
  std::vector<std::size_t> running_, next_running_, ended_;  // positions, rising
};

}  // namespace malleable
