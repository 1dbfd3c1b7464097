// The result of a policy: a schedule in compact form, its value, and a lower bound of every
// schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// Piecewise-constant allocations: job[k] holds slots[k] slots from start[k] to end[k] (absolute).
// Pieces of one job may overlap and then add up.
struct Pieces {
  std::vector<std::int64_t> job, slots;
  std::vector<double> start, end;
  // From when on it works, after a change of its slots (model/restarts); empty: from its start on.
  std::vector<double> works;

  void add(Index j, double from, double to, double count) {
    job.push_back(j);
    start.push_back(from);
    end.push_back(to);
    slots.push_back(static_cast<std::int64_t>(count));
  }
  std::size_t size() const { return job.size(); }
  void clear() {
    job.clear();
    slots.clear();
    start.clear();
    end.clear();
    works.clear();
  }
  void state(State& s) { s(job, slots, start, end, works); }
};

// kMinimaScaled: the minima exceed the slots together, and were scaled down. kTruncated: the budget
// of time cut the search short.
// kUnmet: a strict deadline is missed, without a proof that some deadline must be. kInfeasible:
// there is such a proof, or a gang (a job that runs on at least its minimum or not at all) needs
// more slots than there are.
enum class Status : std::uint8_t { kOk, kMinimaScaled, kTruncated, kUnmet, kInfeasible };

struct Plan {
  Status status = Status::kOk;
  double value = 0.0;
  double lower_bound = -kInfinity;
  std::vector<Index> order;               // priority list behind the schedule
  std::vector<double> start, completion;  // absolute; infinite for a job that never runs
  std::vector<std::int64_t> allocation;   // slots now
  Pieces pieces;
  std::uint64_t candidates = 0;  // schedules that the search tried after the fixed orders

  void state(State& s) {
    s(status, value, lower_bound, order, start, completion, allocation, pieces, candidates);
  }
};

}  // namespace malleable
