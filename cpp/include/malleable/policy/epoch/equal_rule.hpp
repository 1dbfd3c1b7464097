// Equal shares (FAIR) while all jobs have work and minima fit: the largest number of slots that all
// J jobs can have, within their minima and maxima (kernel/whole_level.hpp), sought from that of the
// last decision (the level). O(J).
#pragma once

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class EqualRule {
 public:
  bool decide(Scene& at);  // false: it cannot decide
  void state(State& s) { s(level_); }

 private:
  double level_ = -kInfinity;  // of the last decision
};

}  // namespace malleable
