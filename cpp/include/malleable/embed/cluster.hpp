// Converts clusters of the C interface into those of the core.
#pragma once

#include <vector>

#include "malleable/embed/call.hpp"
#include "malleable/model/cluster.hpp"

namespace malleable::embed {

// Complete columns, checked.
ClusterNodes nodes_of(const malleable_cluster& given);

// Reads a scheduler's options from text; null: the defaults.
SchedulerOptions options_of(const char* given);

// Users, with defaults for columns that were left out.
template <typename Person>
std::vector<Person> people_of(std::int64_t count, const double* minimum, const double* priority) {
  std::vector<Person> people(length("users", count), Person{0.0, 1.0});
  check_amounts("user_minimum", column(minimum, people.size()), kWeightRange);
  check_amounts("user_priority", column(priority, people.size()), kRateRange);
  for (std::size_t k = 0; k < people.size(); ++k) {
    if (minimum != nullptr) people[k].minimum = minimum[k];
    if (priority != nullptr) people[k].priority = priority[k];
  }
  return people;
}

// Free slots by node; null: none.
inline std::span<const std::int64_t> free_slots(const std::int64_t* given, std::size_t nodes,
                                                Defaults& spare) {
  return column_or(given, nodes, std::int64_t{0}, spare.none);
}

}  // namespace malleable::embed
