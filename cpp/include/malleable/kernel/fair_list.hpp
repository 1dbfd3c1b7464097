// FAIR over flows (FlowFlex, section 5.1): at every moment integer water-filling over the jobs that
// are ready, min(level, maximum) slots each, what is left over one each by index.
//
// From one event to the next few shares change, so the water_filling is kept rather than drawn
// anew: counts and sums of the ready jobs by maximum (Fenwick trees) give the level, the jobs that
// have one slot more than the level are those up to a boundary, which moves by as many jobs as gain
// or lose a slot. Only when the level itself changes are all ready jobs looked at, and then at most
// as many as there are slots hold any. O((jobs + pieces) log jobs).
#pragma once

#include <span>
#include <vector>

#include "malleable/kernel/ready_jobs.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

class FairList {
 public:
  // The whole schedule: completions of jobs and of flows that have work count from now, pieces are
  // absolute. Allocates nothing once warm.
  void run(const FlowProblem& problem, std::span<double> end, std::span<double> flow_end,
           Pieces& pieces);

 private:
  __extension__ using Wide = __int128;
  struct End {
    double time;
    Index job, version;
  };
  // Job indices as a tree of bits.
  struct IndexSet {
    std::vector<std::vector<std::uint64_t>> levels;
    void reset(std::size_t n);
    void insert(Index i);
    void erase(Index i);
    bool contains(Index i) const { return (levels[0][i / 64] >> (i % 64) & 1) != 0; }
    Index after(Index i) const;   // the least one that is at least i; kNone if there is none
    Index before(Index i) const;  // the largest one below i; kNone if there is none
  };
  struct Level {
    double slots;  // every ready job's, as far as its maximum allows
    Index extra;   // jobs that get one more
    bool operator==(const Level&) const = default;
  };

  void count(Index job, int sign);
  Level level() const;
  double share(Index job) const;
  void set_rate(Index job, double slots);
  void enter(Index job);
  void leave(Index job);
  void share_out();

  const FlowProblem* problem_ = nullptr;
  Pieces* pieces_ = nullptr;
  ReadyJobs jobs_;
  IndexSet ready_;
  std::vector<double> maxima_;  // all that there are, rising
  std::vector<Index> class_of_;
  std::vector<Index> counts_;  // Fenwick trees over maxima_
  std::vector<Wide> sums_;
  Index all_ = 0;
  Wide wanted_ = 0;
  Level level_{0.0, 0};
  Index boundary_ = 0, inside_ = 0;  // jobs below it with a maximum above the level; how many
  std::vector<double> left_, since_, slots_;
  std::vector<Index> version_, gone_;
  std::vector<End> ends_;  // a heap; entries of older versions are void
  double time_ = 0.0;
};

}  // namespace malleable
