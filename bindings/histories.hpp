// What was learnt of tasks, as arrays: sums over all phases, and numbers of programs by map and by
// reduce phase, shape (programs, 3).
#pragma once

#include <utility>
#include <vector>

#include "arrays.hpp"
#include "malleable/kernel/task_estimates.hpp"

namespace malleable::bindings {

inline py::tuple history_tuple(TaskEstimates::History&& found) {
  const auto rows = [](std::vector<double>& numbers) {
    const auto count = static_cast<py::ssize_t>(numbers.size() / 3);
    return to_numpy(std::move(numbers)).reshape({count, py::ssize_t{3}});
  };
  return py::make_tuple(to_numpy(std::move(found.common)), rows(found.runs[kMap]),
                        rows(found.runs[kReduce]));
}

inline TaskEstimates::History history_of(const Array<double>& common, const Array<double>& maps,
                                         const Array<double>& reduces) {
  const auto copied = [](const Array<double>& numbers) {
    return std::vector<double>(numbers.data(), numbers.data() + numbers.size());
  };
  return {copied(common), {copied(maps), copied(reduces)}};
}

}  // namespace malleable::bindings
