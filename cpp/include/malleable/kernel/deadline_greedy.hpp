// Stage 2 of FlowFlex (Nagarajan, Wolf, Balmin, Hildrum 2013, section 4.2, figure 5), strict
// deadlines. Each flow is a chain of pseudo-jobs (flow_chains.hpp: parts of its schedule on
// unlimited slots in which the same jobs run). Chains are placed one after another, each pseudo-job
// as early and as wide as the free slots allow.
//
// The histogram of used slots over time is a list of intervals with their free slots. A union-find
// jumps over full intervals, so a chain meets a full interval once; in every other interval that it
// passes it runs at its own maximum. O(pseudo-jobs log pseudo-jobs) as long as few intervals are
// partly free at once; otherwise each chain also costs the intervals that it passes at full speed.
//
// If any schedule meets all deadlines, chains in the order of their deadlines end within twice
// theirs (theorem 2, all flows present at the start); speed_needed() in policy/flowflex uses this.
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/flow_chains.hpp"

namespace malleable {

// Piece k: the pseudo-job pseudo_job[k] has height[k] slots from start[k] to end[k], in order of
// time within a flow. Times count from `now`.
struct ChainPieces {
  std::vector<std::size_t> offset;  // position in the order -> its first piece
  std::vector<Index> flow;          // by position
  std::vector<std::size_t> pseudo_job;
  std::vector<double> start, end, height;
  // Pseudo-job -> its completion, also if it took no measurable time.
  std::vector<double> done;

  void clear() {
    offset.assign(1, 0);
    flow.clear();
    pseudo_job.clear();
    for (auto* column : {&start, &end, &height, &done}) column->clear();
  }
};

class DeadlineGreedy {
 public:
  // An empty histogram of this many slots.
  void reset(double slots);

  // Puts one chain into the histogram, not before `release`; returns its completion. With `pieces`,
  // which has room for the completion of every pseudo-job, its pieces are appended.
  double place(const FlowChains& chains, Index flow, double release, ChainPieces* pieces = nullptr);

  // Places all chains in `order` and calls done(flow, completion) for each, completion counted from
  // now, which may end the run by returning false.
  template <typename Done>
  void run(const FlowProblem& problem, const FlowChains& chains, std::span<const Index> order,
           Done done, ChainPieces* pieces = nullptr) {
    reset(problem.slots);
    if (pieces != nullptr) {
      pieces->clear();
      pieces->done.assign(chains.length.size(), 0.0);
    }
    for (const Index j : order) {
      if (!done(j, place(chains, j, problem.release[j], pieces))) return;
    }
  }

 private:
  struct Interval {
    double start, free;
    Index next, jump;  // what follows in time; from where to look for free slots
  };
  // The first interval from i on that has a free slot.
  Index find(Index i);
  // From where to look for slots that are free from `time` on. Cuts nothing.
  Index at(double time);

  std::vector<Interval> intervals_;
  double slots_ = 0.0;
};

}  // namespace malleable
