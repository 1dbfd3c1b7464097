// The fluid schedule of a batch in the tandem queue (map station, then shuffle station; a job's map
// phase releases shuffle work as it runs), whose stations each serve by a fixed order of their own.
//
// The map station serves its order one by one; the shuffle station gives the first job in its order
// that has data the capacity that it can use, and the rest to the next. All jobs are there at 0;
// sizes are seconds at full speed. O(n log n) with n jobs, and no allocation once warm.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

class OrderedBatch {
 public:
  // `place[j]`: where job j stands in the order of the shuffle station. Fills `completion` if it is
  // not empty; returns the sum of completions.
  double run(std::span<const double> map, std::span<const double> shuffle,
             std::span<const Index> map_order, std::span<const Index> place,
             std::span<double> completion);

 private:
  // Released work of a job waits to be shuffled.
  void wait(Index job, double amount) {
    buffer_[job] = amount;
    waiting_.push_back({place_[job], job});
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  }
  void end(Index job) {
    total_ += now_;
    if (!completion_.empty()) completion_[job] = now_;
  }
  void end_first();  // the first waiting job in order has shuffled everything
  // Runs a job's map phase; returns the work that it has released and not shuffled.
  double map_one(Index job, double map, std::span<const double> shuffle);

  std::span<const Index> place_;  // by job: place in the order of shuffles
  std::span<double> completion_;
  double now_ = 0.0, total_ = 0.0;                // total_: sum of completions
  std::vector<std::pair<Index, Index>> waiting_;  // (place, job): a heap, the first in order on top
  std::vector<double> buffer_;                    // by job: mapped work that is not shuffled yet
};

}  // namespace malleable
