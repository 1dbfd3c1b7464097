// The slots of a decision over flows as they are handed out, job by job.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/policy/epoch/flow_study.hpp"

namespace malleable {

class FlowShares {
 public:
  std::vector<double> share;  // by row of the job
  double free = 0.0;

  void begin(const FlowScene& at);
  void hand(std::size_t row, double most);
  // A slot for every ready job whose work has run out, as far as there are any. Tells whether there
  // is such a job.
  bool hold(const FlowScene& at, const FlowStudy& study);
  // Hands free slots down the order of flows: each job up to its maximum, or to `limit` (by row) if
  // given.
  void fill(const FlowScene& at, const FlowStudy& study, std::span<const std::size_t> ordered,
            std::span<const std::int64_t> limit);
  // And then to those who may have no work.
  void serve_spent(const FlowScene& at, const FlowStudy& study,
                   std::span<const std::size_t> ordered);
  // What joined phases got, by the work that each has left, within their maxima.
  void split_phases(const FlowScene& at, const FlowStudy& study);
};

}  // namespace malleable
