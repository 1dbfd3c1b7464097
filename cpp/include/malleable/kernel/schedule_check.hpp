// A schedule against what its instance promises: the definitions, and no code of any solver.
//
// Checked: whole slots, at most the capacity together and its maximum for each job at every moment;
// minima from now until a job ends (scaled where they are more than the slots), or gangs; all work
// done; for flows no job before its flow came or its parents ended; completions as the pieces say.
// Slots are counted in integers and compared without tolerance; times agree up to what rounding to
// doubles may cost. Throws std::invalid_argument that names what is violated, for which row, when.
// O(P log P) for P pieces, O(jobs + parents).
#pragma once

#include <cstdint>
#include <span>

#include "malleable/model/flows.hpp"
#include "malleable/model/jobs.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {

// job[k] holds slots[k] slots from start[k] to end[k] (absolute).
struct PiecesView {
  std::span<const std::int64_t> job, slots;
  std::span<const double> start, end;
  std::size_t size() const { return job.size(); }
};

struct JobPromises {
  std::int64_t slots = 1;
  double now = 0.0;
  MinMode min_mode = MinMode::kGuarantee;
  bool ignores_minima = false;
};

// Jobs without work end when they came, or now.
void check_schedule(const JobsView& jobs, const JobPromises& promises, const PiecesView& pieces,
                    std::span<const double> completion);
// `completion` of jobs.
void check_schedule(const FlowsView& flows, std::int64_t slots, double now,
                    const PiecesView& pieces, std::span<const double> completion);

}  // namespace malleable
