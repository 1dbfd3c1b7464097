// Options of a cluster's policies, and the table of them: the base of a scheduler's options.
#pragma once

#include "malleable/model/domain.hpp"
#include "malleable/model/option.hpp"

namespace malleable {

struct PolicyOptions {
  double hysteresis = 0.0;
  std::optional<std::uint64_t> effort;
  bool at_least_one = false;
  std::optional<bool> by_user;
  bool gang = false;
  double pool_minimum = 0.0;
  CommonSpeedup speedup;

  template <typename Self, typename Visit>
  static void each(Self& self, Visit&& visit) {
    visit(Option{"hysteresis", 0.0, kWeightRange.most, "", "auto, flex",
                 "a job keeps its place in the order unless another one's is better by this part"},
          self.hysteresis);
    visit(Option{"effort", 0.0, 0x1p53, "", "auto, flex, flowflex, flowflex-fast",
                 "candidates that are tried behind the fixed orders; none: the policy's own order"},
          self.effort);
    visit(flag("at_least_one", "auto, flex, fair, wdeq", "minima are 1 at least"),
          self.at_least_one);
    visit(flag("by_user", "",
               "users share slots first, then the policy decides for each user's jobs; none: "
               "where the cluster names users"),
          self.by_user);
    visit(flag("gang", "", "minima are gangs: none of a phase's tasks run, or at least so many"),
          self.gang);
    visit(Option{"pool_minimum", 0.0, 1.0, "", "auto, flex, fair, wdeq",
                 "part of each kind of slots that all jobs are guaranteed in equal shares"},
          self.pool_minimum);
    visit(Option{"speedup", 0.0, 1.0, "", "asrpt, hesrpt, the simulation",
                 "p: s tasks of a phase together do s^p; or a list, what 1, 2, ... tasks do; a "
                 "job's own goes first"},
          self.speedup);
  }
  // After options were given by their names: what some of them say of others.
  void settle(bool /*slow_start_given*/) {}
};

}  // namespace malleable
