// Maxima of penalties that are all lines. A level is a value of the maximum; it sets each job a
// deadline. Slots go by the latest start (from which a job needs its maximum all the time) for the
// deadlines of the least level that can be reached.
//
// Such slots begin an optimal schedule. Let t be the first time before which the work that the
// deadlines force (kernel/demand_bound.hpp) fills all slots. To stay at the level, jobs that are
// past their latest start at t must share now what minima leave. Together they can use it all, and
// their latest starts come before those of all others. A job whose latest start is now must get its
// maximum, and comes first.
//
// Each row keeps its line, and the level is found from the last one (kernel/linear_level.hpp).
// Three or four passes, O(J) for J jobs. The order of the jobs that get no slots is computed only
// on request (epoch/instance_rule).
#pragma once

#include <vector>

#include "malleable/kernel/linear_level.hpp"
#include "malleable/policy/epoch/key_rule.hpp"

namespace malleable {

// With fewer jobs the whole order is made at once.
inline constexpr std::size_t kManyLevels = 20'000;

class LevelRule final : public KeyRule {
 public:
  static constexpr const char* kName = "level";
  // Whether all penalties are lines.
  static bool of_lines(const JobTable& jobs);

  const char* name() const override { return kName; }
  void grow(std::size_t rows) override;
  void close(const RowsGone& gone) override;
  void changed(const Scene& at, std::size_t row) override;
  bool applies(const Scene& at) const override;
  bool decide(Scene& at) override;
  bool orders() const override { return false; }
  void state(State& s) override;

 private:
  std::vector<double> slope_, zero_;  // slope of the line, and the time at which it is 0
  LinearLevel line_level_;
  double level_ = -kInfinity;  // last time
};

}  // namespace malleable
