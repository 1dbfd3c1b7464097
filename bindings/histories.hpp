// The history of a scheduler (what it has learnt of tasks, TaskEstimates::History) as arrays: sums
// over all phases; by phase, numbers of each program, shape (programs, 3), and of each user, shape
// (users, 3); and of each program's speed-up, shape (programs, 17).
#pragma once

#include <utility>
#include <vector>

#include "arrays.hpp"
#include "malleable/kernel/task_estimates.hpp"

namespace malleable::bindings {

inline py::tuple history_tuple(TaskEstimates::History&& found) {
  const auto rows = [](std::vector<double>& numbers, py::ssize_t each = 3) {
    const auto count = static_cast<py::ssize_t>(numbers.size()) / each;
    return to_numpy(std::move(numbers)).reshape({count, each});
  };
  return py::make_tuple(to_numpy(std::move(found.common)), rows(found.runs[kMap]),
                        rows(found.runs[kReduce]), rows(found.errors[kMap]),
                        rows(found.errors[kReduce]), rows(found.speedups, 1 + kSpeedups));
}

inline TaskEstimates::History history_of(const py::tuple& numbers) {
  const auto copied = [&](std::size_t k) {
    const auto given = numbers[k].cast<Array<double>>();
    return std::vector<double>(given.data(), given.data() + given.size());
  };
  return {copied(0), {copied(1), copied(2)}, {copied(3), copied(4)}, copied(5)};
}

}  // namespace malleable::bindings
