// The jobs of an Epoch as an instance (Problem) for plans and orders, and the slots that jobs
// without work keep. It is built for one decision and kept for questions about it. O(J) for J jobs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "malleable/model/plan.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class Instance {
 public:
  Problem problem;
  Penalties penalties;
  // The instance without jobs that have no work, if there are some; the slots that these keep are
  // set aside. With a period, no maximum is above the slots that the job can use fully.
  Problem with_work;
  bool built = false;               // problem and penalties belong to the last decision
  std::vector<double> share, kept;  // slots of jobs with work, and of the others

  void grow(std::size_t rows) { seen_.resize(rows); }
  void close(const RowsGone& gone) { gone(seen_); }

  // Builds the instance of jobs with work left `left`.
  void build(const Scene& at, std::span<const double> left);
  JobsView jobs(const Scene& at, std::span<const double> left) const;
  SpeedupView speedup() const { return speedup_.view(); }
  // Kinds of the penalties of jobs; one entry if all are equal.
  std::span<const Kind> kinds(const Scene& at) const;
  // Whether some penalty is infinite from some time on.
  bool has_strict(const Scene& at) const;

  // Sets the slots of jobs without work aside in `kept`, and returns the instance of all others.
  // Plans ignore jobs without work, because these count as ending now.
  const Problem& set_kept_aside(const Scene& at);

 private:
  // A job that waits to start gets no slots; a started one keeps its minimum.
  void obey_starts(const Scene& at, Problem& of) const;

  std::vector<Penalties::Seen> seen_;  // by row: memory of the penalties
  SlaColumns sla_;
  SpeedupColumns speedup_;
  RestartColumns restart_;  // what a change of slots costs
  // By row: completion if no work is left; work, with 1 in place of none.
  std::vector<double> ended_, rest_;
  std::vector<std::int64_t> most_;  // by row: the maximum; without work left, the slots kept
};

}  // namespace malleable
