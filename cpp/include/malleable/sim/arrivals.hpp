// The order in which jobs come: by arrival times, unless they wait for other jobs to finish.
//
// O(n log n) once for n jobs, then O(1) a job and a wait.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "malleable/model/cluster.hpp"

namespace malleable {

class Arrivals {
 public:
  explicit Arrivals(const ClusterJobsView& jobs);

  // By job: its place in the order of arrivals.
  std::vector<Index> ranks() const;
  bool all_came() const { return next_ == order_.size(); }
  double next_time() const { return all_came() ? kInfinity : arrival_[order_[next_]]; }
  // Whether a job may come now; and the next one: first jobs whose time has come, then jobs that
  // had to wait for others; kNone: all must wait.
  bool any(double now) const { return !released_.empty() || next_time() == now; }
  Index next(double now);
  // The job has finished, which may release jobs that waited for it.
  void finished(Index job);

 private:
  std::span<const double> arrival_;
  std::vector<Index> order_;  // jobs by arrival
  std::size_t next_ = 0;      // place in order_
  // Jobs that wait for each job; the number of jobs that each still waits for; whether its arrival
  // time has passed; jobs that may come.
  std::vector<std::size_t> follower_offset_;
  std::vector<Index> follower_;
  std::deque<Index> released_;
  std::vector<std::int64_t> missing_;
  std::vector<std::uint8_t> held_;  // by job: its time has come, but it waits for others
};

}  // namespace malleable
