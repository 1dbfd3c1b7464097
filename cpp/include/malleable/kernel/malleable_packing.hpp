// Malleable Packing Scheme (FLEX, section 3.1, figure 3): a priority order becomes a schedule.
//
// At every completion each unfinished job holds its minimum and the slack goes down the order,
// filling jobs to their maximum; at most one job is partly filled. As jobs leave, slack only grows,
// so the frontier between full, partial and minimal jobs only moves forward and every job becomes
// partial and full at most once. Full jobs wait in an event calendar, minimal ones in a second one
// that is sorted lazily because most of them are promoted first. O(J) expected beyond reading the
// order, O(J log J) worst; at most O(J) pieces.
//
// Gangs (none or at least `low` slots) break that invariant: after each completion the jobs behind
// the finished one are served again in order, found through a tree over their minima.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/event_calendar.hpp"
#include "malleable/kernel/gang_packing.hpp"
#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

class MalleablePacking {
 public:
  // Packs the jobs of `problem` in `order` (a permutation). completion[j] counts from problem.now;
  // jobs without work complete at 0. With `plan`, its start, allocation and pieces are filled too.
  // Allocates nothing once warm, unless pieces are asked for.
  void run(const Problem& problem, std::span<const Index> order, std::span<double> completion,
           Plan* plan = nullptr);

  // The same, telling done(job, completion) in order of time; stops early when that returns false.
  template <typename Done>
  void run_until(const Problem& problem, std::span<const Index> order, Done done) {
    if (problem.gang) {
      gang_.run(problem, order, done, nullptr);
    } else {
      load(problem, order);
      simulate(problem, done, NoTrace{});
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
  void simulate(const Problem& problem, Done& done, Tracer trace);

  std::vector<Row> rows_;
  double minima_ = 0.0, total_ = 0.0;      // sums over the rows
  double shortest_ = 0.0, longest_ = 0.0;  // of the times that they take alone
  EventCalendar full_, minimal_;
  GangPacking gang_;
  std::vector<double> since_, held_;  // per position, only while tracing
};

template <typename Done, typename Tracer>
void MalleablePacking::simulate(const Problem& problem, Done& done, Tracer trace) {
  const auto n = static_cast<Index>(rows_.size());
  double time = 0.0, slack = problem.slots - minima_;
  // The scheme wastes no slot that somebody can use, so it ends by then.
  const double horizon = (total_ / problem.slots + longest_) * (1.0 + 1e-9);
  full_.reset(n, shortest_, horizon);
  minimal_.reset(n, shortest_, horizon);
  // A job is promoted at the latest when the work before it is done by what the minima behind
  // leave.
  double before = 0.0, behind = minima_;
  for (Index p = 0; minima_ > 0.0 && p < n; ++p) {
    const Row& row = rows_[p];
    if (row.low > 0.0) {
      trace.rate(p, row.job, 0.0, row.low);
      // end <= promoted, without dividing
      if (row.work * (problem.slots - behind) <= before * row.low * (1.0 + 1e-9)) {
        const double end = row.work / row.low;
        if (end <= horizon) minimal_.push(end, p);
      }
      behind -= row.low;
    }
    before += row.work;
  }

  Index frontier = 0;  // everybody before it is full or done
  double extra = 0.0;  // of the job at the frontier, beyond its minimum
  double left = 0.0, left_at = 0.0, partial_end = kInfinity;
  const auto promote = [&] {
    while (slack > 0.0 && frontier < n) {
      Row& row = rows_[frontier];
      if (row.done) {
        ++frontier;
        extra = 0.0;
        continue;
      }
      left = extra > 0.0 ? left - (row.low + extra) * (time - left_at) : row.work - row.low * time;
      left = left > 0.0 ? left : 0.0;
      left_at = time;
      const double room = row.high - row.low - extra;
      if (room <= slack) {
        slack -= room;
        trace.rate(frontier, row.job, time, row.high);
        full_.push(time + left / row.high, frontier);
        ++frontier;
        extra = 0.0;
        partial_end = kInfinity;
      } else {
        extra += slack;
        slack = 0.0;
        trace.rate(frontier, row.job, time, row.low + extra);
        partial_end = time + left / (row.low + extra);
      }
    }
  };

  for (Index unfinished = n; unfinished > 0; --unfinished) {
    promote();
    const Index first_minimal = extra > 0.0 ? frontier + 1 : frontier;
    while (minimal_.front().position < first_minimal) minimal_.pop();  // promoted since
    // Ties go to the earlier position; a minimal job always stands behind the frontier.
    const Event full = full_.front(), minimal = minimal_.front();
    double end = full.time;
    Index who = full.position;
    double freed = 0.0;
    if (partial_end < end || (partial_end == end && frontier < who)) {
      end = partial_end;
      who = frontier;
    }
    if (minimal.time < end || (minimal.time == end && minimal.position < who)) {
      who = minimal.position;
      end = minimal.time;
      minimal_.pop();
      freed = rows_[who].low;
    } else if (who == frontier) {
      freed = rows_[who].low + extra;
      extra = 0.0;
      partial_end = kInfinity;
    } else {
      freed = rows_[who].high;
      full_.pop();
      if (full_.front().position < n) __builtin_prefetch(&rows_[full_.front().position]);
    }
    assert(who < n);
    Row& row = rows_[who];
    time = end > time ? end : time;
    row.done = true;
    slack += freed;
    trace.finish(who, row.job, time);
    if (!done(row.job, time)) return;
  }
}

}  // namespace malleable
