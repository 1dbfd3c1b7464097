// Malleable Packing Scheme (FLEX: Wolf and others 2010, section 3.1, figure 3): a priority order of
// J jobs becomes a schedule. `low` and `high` are the least and most slots of a job.
//
// At every completion each unfinished job holds its minimum and the slack (slots beyond all minima)
// goes down the order, filling jobs to their maximum; at most one job is partly filled. As jobs
// leave, slack only grows, so the frontier between full, partial and minimal jobs only moves
// forward and every job becomes partial and full at most once. Full jobs wait in a calendar of
// events, minimal ones in a heap. O(J log J) and at most O(J) pieces.
//
// Gangs (none or at least `low` slots) break that invariant: after each completion the jobs behind
// the finished one are served again in order, found through a tree over their minima.
#pragma once

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

#include "malleable/kernel/event_heap.hpp"
#include "malleable/kernel/gang_packing.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"

namespace malleable {

class MalleablePacking {
 public:
  // Packs the jobs of `problem` in `order` (a permutation). completion[j] counts from problem.now;
  // jobs without work complete at 0. With `plan`, its start, allocation and pieces are filled too.
  // Allocates nothing once warm, unless pieces are asked for.
  void run(const Problem& problem, std::span<const Index> order, std::span<double> completion,
           Plan* plan = nullptr);

  // Calls done(job, completion) in order of time, too; stops early when that returns false.
  template <typename Done>
  void run_until(const Problem& problem, std::span<const Index> order, Done done) {
    if (problem.gang) {
      gang_.run(problem, order, done, nullptr);
    } else {
      load(problem, order);
      simulate(done, NoTrace{});
    }
  }

 private:
  struct Row {
    double work, low, high;
    Index job;
    bool done;
  };
  struct NoTrace {
    void rate(Index, Index, double, double) const {}
    void finish(Index, Index, double) const {}
  };
  struct Trace;

  void load(const Problem& problem, std::span<const Index> order);
  template <typename Done, typename Tracer>
  void simulate(Done& done, Tracer trace);
  void simulate_into(std::span<double> completion);

  Scratch<Row> rows_;     // jobs with work in order, and one behind them that can never be filled
  double slack_ = 0.0;    // slots beyond all minima
  double horizon_ = 0.0;  // the time in which all slots do all work
  JobCalendar full_;
  JobEvents minimal_;    // jobs that may end on their minimum
  Scratch<double> end_;  // by completion: its time, and its job
  Scratch<Index> ended_;
  GangPacking gang_;
  std::vector<double> since_, held_;  // per position, only while tracing
};

template <typename Done, typename Tracer>
void MalleablePacking::simulate(Done& done, Tracer trace) {
  const auto n = static_cast<Index>(rows_.size() - 1);
  Row* const rows = rows_.data();
  JobCalendar& full = full_;
  JobEvents& minimal = minimal_;
  full.start(n, horizon_);
  double time = 0.0, slack = slack_;
  for (Index p = 0; p < n; ++p) trace.rate(p, rows[p].job, 0.0, rows[p].low);

  Index frontier = 0;                         // all jobs before it are full or done
  double left = 0.0, rate = 0.0, need = 0.0;  // of its job, perhaps partly filled
  const auto enter = [&] {
    while (rows[frontier].done) ++frontier;
    const Row& row = rows[frontier];
    left = std::max(0.0, row.work - row.low * time);
    rate = row.low;
    need = row.high - row.low;
  };
  enter();
  double next_minimal = minimal.front().time;  // event of a job that the frontier may have passed
  for (Index unfinished = n; unfinished > 0; --unfinished) {
    while (need <= slack) {
      const Row& row = rows[frontier];
      slack -= need;
      trace.rate(frontier, row.job, time, row.high);
      full.push({time + left / row.high, row.high, frontier, row.job});
      ++frontier;
      enter();
    }
    rate += slack;
    need -= slack;
    slack = 0.0;
    trace.rate(frontier, rows[frontier].job, time, rate);
    const double partial = time + left / rate;

    JobEvent event = full.front();
    if (event.time < std::min(partial, next_minimal)) {
      full.pop();
    } else {
      while (minimal.front().position <= frontier) minimal.pop();
      // Ties go to the earlier position: full jobs stand before the frontier, minimal ones behind.
      const bool at_frontier = partial < event.time;
      if (at_frontier) event = {partial, rate, frontier, rows[frontier].job};
      const JobEvent waiting = minimal.front();
      if (waiting.time < event.time) {
        event = waiting;
        event.time = std::max(event.time, time);
        minimal.pop();
      } else if (!at_frontier) {
        full.pop();
      }
      next_minimal = minimal.front().time;
      assert(event.position < n);
      rows[event.position].done = true;
    }
    left = std::max(0.0, left - rate * (event.time - time));
    time = event.time;
    slack = event.slots;
    trace.finish(event.position, event.job, time);
    if (!done(event.job, time)) return;
    if (rows[frontier].done) enter();
  }
}

}  // namespace malleable
