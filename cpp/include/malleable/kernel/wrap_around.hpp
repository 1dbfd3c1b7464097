// Stage 3 of FlowFlex (Nagarajan et al. 2013, section 4.3): a schedule of pseudo-jobs (parts of a
// flow's schedule on unlimited slots in which the same jobs run, flow_chains.hpp) becomes one of
// the jobs themselves.
//
// While a pseudo-job holds h of the r slots that are its maximum, its jobs share that rectangle
// (slots x time) in proportion to their maxima. They are laid into it row by row (McNaughton's
// wrap-around rule). If the maxima of the jobs before job i add up to D, job i begins after h D / r
// rows: whole rows by integer division, the rest as a place within the row. So at every moment a
// job holds floor or ceil of h d / r slots, never more than its maximum d, and all together hold
// exactly h. Pieces that continue with the same slots are joined. Linear in the jobs of each piece.
//
// McNaughton 1959; Drozdowski and Kubiak 1999.
#pragma once

#include <vector>

#include "malleable/kernel/deadline_greedy.hpp"
#include "malleable/model/plan.hpp"

namespace malleable {

class WrapAround {
 public:
  // Appends the jobs' pieces (absolute times) to `out`, in order of time for each job.
  void run(const FlowProblem& problem, const FlowChains& chains, const ChainPieces& pieces,
           Pieces& out);

 private:
  void add_piece(Index job, double from, double to, double slots, Pieces& out);

  // Jobs of a flow by the pseudo-job with which they begin; jobs that the present one has.
  std::vector<Index> entering_, running_;
  std::vector<std::size_t> last_;  // job -> its latest piece + 1
};

}  // namespace malleable
