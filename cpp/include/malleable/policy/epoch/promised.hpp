// Decisions that tell jobs, when they come, at which time they will end, and that keep to it
// (policy/told_ends).
#pragma once

#include <vector>

#include "malleable/policy/epoch/instance_rule.hpp"
#include "malleable/policy/told_ends.hpp"

namespace malleable {

class Promised {
 public:
  // Throws for options with which no ends are told.
  static void check(const EpochOptions& options);

  void decide(Scene& at, InstanceRule& by);
  void finish(std::span<const std::int64_t> ids) { told_.finish(ids); }
  // [s] By row, absolute; infinite where nothing was told. O(J).
  std::vector<double> told(const JobTable& jobs) const;

  void state(State& s) { s(told_); }

 private:
  ToldEnds told_;
  std::vector<double> value_;
};

}  // namespace malleable
