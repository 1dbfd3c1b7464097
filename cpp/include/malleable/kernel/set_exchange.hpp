// Exchanges between the jobs of an on-time set and those that wait outside.
//
// A set that jobs join one by one keeps the first that came, although two others may be worth more
// in their place. Here one member after another leaves, those at the border of the set first. Then
// jobs outside try for the room, and the member tries for a later step. What is not better than
// before is undone. O(members x outsiders) tests, most of which one time decides; both are limited.
// If it is late, the set stays as it is.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "malleable/kernel/on_time_set.hpp"

namespace malleable {

class SetExchange {
 public:
  struct Instance {
    std::span<const DueAsk> asks;                // what jobs ask for; a job may ask several times
    std::span<const Index> by_key;               // asks in the order in which they may join
    std::function<double(Index, double)> pays;   // of a job that ends at a target
    std::function<double(Index, double)> later;  // the next target of a job; infinite: none
    std::function<bool()> late = {};
  };

  // `target` says when each member of the set is due there, infinite for others. Both are changed.
  void improve(const Instance& instance, OnTimeSet& set, std::span<double> target);

 private:
  bool shift(Index j, double due);
  void take_back();
  bool eject(Index j);

  const Instance* instance_ = nullptr;
  OnTimeSet* set_ = nullptr;
  std::span<double> target_;
  std::vector<Index> outside_;  // asks
  struct Shift {
    Index job;
    double before;  // its target
  };
  std::vector<Shift> shifts_;  // of the exchange that is being tried
};

}  // namespace malleable
