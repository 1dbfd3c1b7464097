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
  // What the completion of a full job sets free.
  struct Freed {
    double slots;
    Index job;
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
  EventCalendar<Freed> full_;
  EventCalendar<> minimal_;
  GangPacking gang_;
  std::vector<double> since_, held_;  // per position, only while tracing
};

template <typename Done, typename Tracer>
void MalleablePacking::simulate(const Problem& problem, Done& done, Tracer trace) {
  const auto n = static_cast<Index>(rows_.size());
  Row* const rows = rows_.data();
  double time = 0.0, slack = problem.slots - minima_;
  // The scheme wastes no slot that somebody can use, so it ends by then.
  const double horizon = (total_ / problem.slots + longest_) * (1.0 + 1e-9);
  auto full = full_.start(n, shortest_, horizon);
  auto minimal = minimal_.start(n, shortest_, horizon);
  // A job is promoted at the latest when the work before it is done by what the minima behind
  // leave.
  double before = 0.0, behind = minima_;
  for (Index p = 0; minima_ > 0.0 && p < n; ++p) {
    const Row& row = rows[p];
    if (row.low > 0.0) {
      trace.rate(p, row.job, 0.0, row.low);
      // end <= promoted, without dividing
      if (row.work * (problem.slots - behind) <= before * row.low * (1.0 + 1e-9)) {
        const double end = row.work / row.low;
        if (end <= horizon) minimal.push(end, p);
      }
      behind -= row.low;
    }
    before += row.work;
  }

  Index frontier = 0;  // everybody before it is full or done
  // The job at the frontier while it is partly filled; otherwise `partial_end` is infinite.
  double rate = 0.0, left = 0.0, left_at = 0.0, partial_end = kInfinity;
  const auto fill = [&](const Row& row) {
    slack -= row.high - rate;
    trace.rate(frontier, row.job, time, row.high);
    full.push(time + left / row.high, frontier, {row.high, row.job});
    ++frontier;
  };
  for (Index unfinished = n; unfinished > 0; --unfinished) {
    while (slack > 0.0 && frontier < n) {
      const Row& row = rows[frontier];
      if (partial_end < kInfinity) {
        left = std::max(0.0, left - rate * (time - left_at));
      } else if (row.done) {
        ++frontier;
        continue;
      } else {
        left = std::max(0.0, row.work - row.low * time);
        rate = row.low;
      }
      if (row.high - rate <= slack) {
        fill(row);
        partial_end = kInfinity;
      } else {
        rate += slack;
        slack = 0.0;
        left_at = time;
        partial_end = time + left / rate;
        trace.rate(frontier, row.job, time, rate);
      }
    }
    const Index first_minimal = partial_end < kInfinity ? frontier + 1 : frontier;
    while (minimal.front().position < first_minimal) minimal.pop();  // promoted since
    // Ties go to the earlier position; a minimal job always stands behind the frontier.
    double end = full.front().time;
    Index who = full.front().position, job = full.front().payload.job;
    double freed = full.front().payload.slots;
    const bool partial = partial_end < end || (partial_end == end && frontier < who);
    if (partial) {
      end = partial_end;
      who = frontier;
    }
    if (minimal.front().time < end ||
        (minimal.front().time == end && minimal.front().position < who)) {
      who = minimal.front().position;
      end = minimal.front().time;
      minimal.pop();
      job = rows[who].job;
      freed = rows[who].low;
      rows[who].done = true;
    } else if (partial) {
      job = rows[who].job;
      freed = rate;
      rows[who].done = true;
      partial_end = kInfinity;
    } else {
      full.pop();
    }
    assert(who < n);
    time = std::max(end, time);
    slack += freed;
    trace.finish(who, job, time);
    if (!done(job, time)) return;
  }
}

}  // namespace malleable
