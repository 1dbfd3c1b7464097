// Loops that hold integer slots for a period each, slot by slot: obvious code for the tests.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "instances.hpp"

namespace malleable::check {

// Slots of all jobs for a period, given the work left.
using Decide = std::function<std::vector<std::int64_t>(const Doubles& left)>;

// Completions from problem.now of the loop that asks `decide` every `period` seconds.
inline Doubles run_loop(const Problem& problem, double period, const Decide& decide) {
  const std::size_t n = problem.size();
  Doubles left = problem.work, completion(n, 0.0);
  for (int k = 0; std::any_of(left.begin(), left.end(), [](double w) { return w > 0.0; }); ++k) {
    const auto given = decide(left);
    for (std::size_t j = 0; j < n; ++j) {
      const double most = static_cast<double>(given[j]) * period;
      if (left[j] <= 0.0 || given[j] == 0) continue;
      const double rest = left[j] - most;
      if (rest <= 1e-12 * problem.work[j]) {
        completion[j] = k * period + left[j] / static_cast<double>(given[j]);
        left[j] = 0.0;
      } else {
        left[j] = rest;
      }
    }
  }
  return completion;
}

// Slots one by one to jobs at random that can still take one.
inline Decide at_random(const Problem& problem, Random& random) {
  return [&problem, &random](const Doubles& left) {
    std::vector<std::int64_t> given(left.size(), 0);
    for (auto free = static_cast<std::int64_t>(problem.slots); free > 0; --free) {
      std::vector<std::size_t> takers;
      for (std::size_t j = 0; j < left.size(); ++j) {
        if (left[j] > 0.0 && static_cast<double>(given[j]) < problem.high[j]) takers.push_back(j);
      }
      if (takers.empty()) break;
      ++given[takers[random() % takers.size()]];
    }
    return given;
  };
}

}  // namespace malleable::check
