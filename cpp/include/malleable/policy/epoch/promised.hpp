// Decisions that promise each job an end when it comes, and keep it: policy/promised_ends has the
// method, this wraps it for an Epoch.
#pragma once

#include <vector>

#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/promised_ends.hpp"

namespace malleable {

class Promised {
 public:
  void decide(Scene& at, InstanceRule& by);
  void finish(std::span<const std::int64_t> ids) { ends_.finish(ids); }
  // [s] Promised ends by row, absolute; infinite: none. O(J).
  std::vector<double> ends(const JobTable& jobs) const;

  void state(State& s) { s(ends_); }

 private:
  PromisedEnds ends_;
  std::vector<double> value_;  // of a second of each job
};

}  // namespace malleable
