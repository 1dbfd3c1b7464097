// Equal shares while everybody has work and minima fit: integer water-filling from the last level.
// O(J), without an instance (kernel whole_level).
#pragma once

#include "malleable/policy/epoch/scene.hpp"

namespace malleable {

class EqualRule {
 public:
  bool decide(Scene& at);  // false: not this way
  void state(State& s) { s(level_); }

 private:
  double level_ = -kInfinity;  // last time
};

}  // namespace malleable
