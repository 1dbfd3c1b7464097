// Decisions that tell jobs, when they come, at which time they will end, and that keep to it
// (policy/promised_ends).
#pragma once

#include <vector>

#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/promised_ends.hpp"

namespace malleable {

class Promised {
 public:
  // Throws for options with which no ends are promised.
  static void check(const EpochOptions& options);

  void decide(Scene& at, InstanceRule& by);
  void finish(std::span<const std::int64_t> ids) { ends_.finish(ids); }
  // [s] By row, absolute; infinite where none was promised. O(J).
  std::vector<double> ends(const JobTable& jobs) const;

  void state(State& s) { s(ends_); }

 private:
  PromisedEnds ends_;
  std::vector<double> value_;
};

}  // namespace malleable
