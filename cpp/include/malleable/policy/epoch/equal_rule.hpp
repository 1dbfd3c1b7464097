// Equal shares while all jobs have work and minima fit: integer water-filling from the last level.
// O(J), without an instance (kernel whole_level).
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
