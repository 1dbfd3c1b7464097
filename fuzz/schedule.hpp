// What any schedule in pieces must keep, for jobs over the whole domain: capacity, maxima, work,
// and the slots that it gives now. It uses only the definitions.
//
// Time is counted in doubles: two instants within `blur` of each other are one. Nothing else is
// forgiven: slots are whole numbers and are compared without tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/model/plan.hpp"

namespace malleable::fuzz {

inline double blur(double now, double time) {
  return 2e-13 * std::max({std::fabs(now), std::fabs(time), time - now});
}

// Sums of `slots` over pieces stay within `capacity`: at every instant, but where two are one.
inline void check_capacity(const Pieces& pieces, std::span<const std::size_t> chosen, double now,
                           std::int64_t capacity) {
  std::vector<std::pair<double, std::int64_t>> changes;
  for (const std::size_t k : chosen) {
    changes.emplace_back(pieces.start[k], pieces.slots[k]);
    changes.emplace_back(pieces.end[k], -pieces.slots[k]);
  }
  std::sort(changes.begin(), changes.end());  // at one instant, ends come first
  std::int64_t used = 0;
  for (std::size_t k = 0; k < changes.size(); ++k) {
    used += changes[k].second;
    const double time = changes[k].first;
    if (k + 1 == changes.size() || changes[k + 1].first - time <= blur(now, changes[k + 1].first)) {
      continue;
    }
    CHECK(used <= capacity);
  }
  CHECK_EQUAL(used, 0);
}

struct Promise {
  double now = 0.0;
  std::int64_t slots = 1;
  std::span<const double> work;
  std::span<const std::int64_t> max_slots;
};

// `completion` and `allocation` may be empty.
inline void check_schedule(const Promise& given, const Pieces& pieces,
                           std::span<const double> completion,
                           std::span<const std::int64_t> allocation) {
  const std::size_t n = given.work.size();
  std::vector<std::vector<std::size_t>> own(n);
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const bool known = pieces.job[k] >= 0 && static_cast<std::size_t>(pieces.job[k]) < n;
    CHECK(known);
    if (!known) return;
    CHECK(pieces.slots[k] >= 1 && pieces.slots[k] <= given.slots);
    CHECK(pieces.start[k] >= given.now && pieces.end[k] > pieces.start[k]);
    CHECK(std::isfinite(pieces.end[k]));
    own[static_cast<std::size_t>(pieces.job[k])].push_back(k);
    all.push_back(k);
  }
  check_capacity(pieces, all, given.now, given.slots);
  for (std::size_t j = 0; j < n; ++j) {
    check_capacity(pieces, own[j], given.now, std::min(given.max_slots[j], given.slots));
    const auto most = static_cast<double>(std::min(given.max_slots[j], given.slots));
    double done = 0.0, last = given.now;
    for (const std::size_t k : own[j]) {
      done += static_cast<double>(pieces.slots[k]) * (pieces.end[k] - pieces.start[k]);
      last = std::max(last, pieces.end[k]);
    }
    const bool ends = completion.empty() || std::isfinite(completion[j]);
    if (given.work[j] == 0.0 || !ends) {
      CHECK(own[j].empty());
      continue;
    }
    // The last of a job's work may be too short to be seen, and come later than all that is.
    if (!completion.empty()) {
      CHECK_AT_MOST(last, completion[j], blur(given.now, last));
      last = std::max(last, completion[j]);
    }
    // What is too short for the clock leaves no piece, however many slots it had.
    CHECK_NEAR(done, given.work[j], 1e-9 * given.work[j] + 4.0 * most * blur(given.now, last));
  }
  std::int64_t used = 0;
  for (std::size_t j = 0; j < allocation.size(); ++j) {
    CHECK(allocation[j] >= 0 && allocation[j] <= std::min(given.max_slots[j], given.slots));
    used += allocation[j];
    CHECK(used <= given.slots);
  }
}

inline void check_bound(double value, double lower_bound) {
  CHECK(!std::isnan(value));
  CHECK(!std::isnan(lower_bound));
  CHECK(lower_bound <= value);
}

}  // namespace malleable::fuzz
