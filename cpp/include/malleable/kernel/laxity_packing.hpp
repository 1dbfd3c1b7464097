// A priority order packed so that deadlines that can be met are met: earliest deadline, zero laxity
// (EDZL) for malleable jobs.
//
// Jobs hold their minima, and the slots beyond these go down the order, each job getting all it can
// use, with one more rule: from its latest start a job gets its maximum and keeps it until it ends.
// Its latest start (when its laxity is zero) is the time from which it needs its maximum all the
// time: L = (M D - W - m t) / (M - m) for a job with the deadline D, at most M slots, and W left at
// t, that holds m slots until then. The slots are taken from the last jobs in the order that hold
// more than their minimum. If they do not suffice, the job stays at its place in the order.
//
// If deadlines are tight only for few jobs at a time, the order decides everything else: with the
// order of deadlines every table is solved of due_table(n, 1) (benchmarks/instances), whose
// deadlines are spread over about the time of all work. Give no deadline to a job that will be
// late, because it would displace others in vain. No gangs (jobs that run on at least their
// minimum, or not at all). At most one job is partly served, so slots stay whole. O(J log J) where
// few jobs are displaced, O(J) more for each displaced job at worst.
//
// Lee 1994, "On-line multiprocessor scheduling algorithms for real-time tasks" (EDZL for one
// processor a job); maxima and minima are ours.
#pragma once

#include <cassert>
#include <span>
#include <utility>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class LaxityPacking {
 public:
  // Packs the jobs of `problem` in `order` (a permutation) for the deadlines `due`, which count
  // from problem.now (infinite: none). completion[j] also counts from there; jobs without work
  // complete at 0. With `plan`, its start, allocation and pieces are filled as well.
  void run(const Problem& problem, std::span<const Index> order, std::span<const double> due,
           std::span<double> completion, Plan* plan = nullptr);

  // Calls done(job, completion) in order of time, too; stops early when that returns false.
  template <typename Done>
  void run_until(const Problem& problem, std::span<const Index> order, std::span<const double> due,
                 Done done) {
    load(problem, order, due);
    for (std::size_t left = rows_.size() - 2; left > 0; --left) {
      const Index p = next_end();
      if (!done(rows_[p].job, time_)) return;
    }
  }

 private:
  struct Row {
    double left, since, rate;  // work left at `since`, and the slots held since then
    double low, high, due;
    Index job, before, after;  // neighbours among jobs that may be displaced, by place
    Index version;             // of the rate
    bool urgent, hopeless;     // its latest start has come; there were too few slots then
  };
  struct Event {
    double time;
    bool start;  // the latest start; else the end
    Index place, version;
    bool operator<(const Event& other) const {  // heaps serve the largest
      if (time != other.time) return time > other.time;
      return start != other.start ? start : place > other.place;
    }
  };

  void load(const Problem& problem, std::span<const Index> order, std::span<const double> due);
  // Adds the job's end, and its latest start if it has one, as long as its rate stays.
  void push_events(Index p, std::vector<Event>& events) const;
  void set_rate(Index p, double rate);
  void unlink(Index p);  // no job displaces it any more
  // Gives free slots to the first jobs that can use them.
  void fill();
  void make_urgent(Index p);  // its latest start has come
  Event next_event();         // that is still valid
  Index next_end();           // advances to the next end of a job; returns its place

  std::vector<Row> rows_;  // by place in the order, from 1 on; the first and the last are sentinels
  // all jobs before it are at their maximum, all behind it at their minimum
  Index frontier_ = 1;
  double time_ = 0.0, slack_ = 0.0;  // slack: free slots
  double room_ = 0.0;  // slack, and the slots that could be taken from jobs that may be displaced
  std::vector<Event> first_, events_;  // events known at the start, sorted; later events, a heap
  std::size_t next_first_ = 0;
  std::vector<double> key_;
  std::vector<Index> sorted_;
  KeySort sorter_;
  Plan* plan_ = nullptr;
  double now_ = 0.0;
};

}  // namespace malleable
