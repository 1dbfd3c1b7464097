// Local search over jobs rather than flows: ready lists in the order of a key per job.
//
// An order of flows treats all jobs of a flow alike, and due times per flow rank its jobs by
// longest path only. Here every job has its own key, the smaller the sooner. A ready list serves
// the jobs that may start in the order of their keys (ready_list.hpp). A step moves a few jobs, or
// all jobs of a flow, by random amounts, and is kept unless it makes the score worse, so that
// plateaus are crossed. For a maximum, meet_deadlines() is best: it looks for a schedule in which
// all flows meet deadlines, and minimises the total time by which they are missed. Deterministic.
// One candidate costs one ready list (ready_list.hpp): O(jobs log jobs) and O(holders + log jobs)
// an event.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/flow_search.hpp"

namespace malleable {

class KeySearch {
 public:
  // The instance must outlive the calls below.
  void begin(const FlowProblem& problem);

  // Keys by latest starts for flows' due times (from now; infinite: after all others).
  void keys_by_due(std::span<const double> due, std::vector<double>& key) const;
  // Keys that make the same list as these ranks.
  void keys_by_rank(std::span<const Index> rank, std::vector<double>& key) const;

  // Steps from `key` until all flows end by `due`, for at most `effort` candidates (which it
  // reduces) and unless stop() says so. True if they do; `key` then says how.
  bool meet_deadlines(std::span<const double> due, std::vector<double>& key, std::uint64_t& effort,
                      const std::function<bool()>& stop);

  // Steps from a recipe by keys towards lower scores of `search`, to `goal` at best.
  void improve(FlowSearch& search, FlowRecipe& recipe, Score& score, std::uint64_t& effort,
               double goal, const std::function<bool()>& stop);

 private:
  struct Change {
    Index job;
    double before;
  };
  std::uint64_t random();
  double uniform();  // in [0, 1)
  // Changes the keys of up to three jobs, or of a flow.
  void step(std::vector<double>& key);
  void undo(std::vector<double>& key) const;
  // Sets spread_, the difference between the largest and the least key.
  void spread(std::span<const double> key);
  // The total lateness of all flows; infinite once it exceeds `limit`.
  double missed(std::span<const double> due, std::span<const double> key, double limit);

  const FlowProblem* problem_ = nullptr;
  std::vector<Index> jobs_, flows_;  // jobs and flows that have work
  std::vector<Change> changes_;
  std::vector<Index> order_, rank_;
  std::vector<double> end_;
  KeySort sorter_;
  ReadyList list_;
  double spread_ = 1.0;  // between the largest and the least key
  std::uint64_t state_ = 1;
};

}  // namespace malleable
