// Checks a plan against everything that its instance promises: slots, limits, work, value, bound.
// Shares no code with the policies.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "instances.hpp"
#include "malleable/model/plan.hpp"

namespace malleable::check {

struct SlotChange {
  double time;
  Index job;
  double slots;
};

// Walks through the pieces in time. Slots are whole, so the limits hold exactly but where two
// instants differ by rounding only.
inline void check_limits(const Problem& problem, const Plan& plan) {
  const Pieces& pieces = plan.pieces;
  std::vector<SlotChange> changes;
  double last = problem.now;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto job = static_cast<Index>(pieces.job[k]);
    const auto slots = static_cast<double>(pieces.slots[k]);
    CHECK(pieces.slots[k] >= 1);
    CHECK(pieces.end[k] > pieces.start[k] && pieces.start[k] >= problem.now);
    changes.push_back({pieces.start[k], job, slots});
    changes.push_back({pieces.end[k], job, -slots});
    last = std::max(last, pieces.end[k]);
  }
  const double blur = 1e-12 * std::max(std::fabs(last), last - problem.now);
  std::sort(changes.begin(), changes.end(),
            [](const SlotChange& a, const SlotChange& b) { return a.time < b.time; });
  Doubles held(problem.size(), 0.0);
  double used = 0.0;
  Order touched = identity(problem.size());  // from the start on, minima are due
  for (std::size_t k = 0; k < changes.size();) {
    const double time = changes[k].time;
    for (; k < changes.size() && changes[k].time <= time; ++k) {
      held[changes[k].job] += changes[k].slots;
      used += changes[k].slots;
      touched.push_back(changes[k].job);
    }
    CHECK_AT_MOST(used, problem.slots, 0.0);
    if (k < changes.size() && changes[k].time - time <= blur) continue;
    for (const Index j : touched) {
      CHECK_AT_MOST(held[j], problem.high[j], 0.0);
      const bool unfinished = problem.work[j] > 0.0 && plan.completion[j] > time + blur;
      const bool may_wait = problem.gang && held[j] == 0.0;
      if (unfinished && !may_wait) CHECK_AT_MOST(problem.low[j], held[j], 0.0);
    }
    touched.clear();
  }
}

// Every job's pieces do its work, and its start, completion and allocation say what they show.
// `decided`: the slots of an epoch, where jobs without work keep some that the pieces do not show.
inline void check_jobs(const Problem& problem, const Plan& plan,
                       std::span<const std::int64_t> decided = {}) {
  const std::size_t n = problem.size();
  Doubles done(n, 0.0), first(n, kInfinity), end(n, -kInfinity), now(n, 0.0);
  for (std::size_t k = 0; k < plan.pieces.size(); ++k) {
    const auto j = static_cast<std::size_t>(plan.pieces.job[k]);
    const double from = plan.pieces.start[k], to = plan.pieces.end[k];
    done[j] += static_cast<double>(plan.pieces.slots[k]) * (to - from);
    first[j] = std::min(first[j], from);
    end[j] = std::max(end[j], to);
    if (from <= problem.now) now[j] += static_cast<double>(plan.pieces.slots[k]);
  }
  // A job too short for the clock leaves no piece, and what follows it seems to start now.
  bool instants_differ = true;
  for (std::size_t j = 0; j < n; ++j) {
    const double length = plan.completion[j] - problem.now;
    if (problem.work[j] > 0.0) instants_differ &= length > 1e-15 * std::fabs(problem.now);
  }
  double given = 0.0;
  for (const std::int64_t slots : plan.allocation) given += static_cast<double>(slots);
  CHECK_AT_MOST(given, problem.slots, 0.0);
  if (!decided.empty()) {
    CHECK(std::equal(decided.begin(), decided.end(), plan.allocation.begin()));
    for (std::size_t j = 0; j < n; ++j) instants_differ &= problem.work[j] > 0.0;
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) {
      CHECK_EQUAL(done[j], 0.0);
      if (decided.empty()) CHECK_EQUAL(plan.allocation[j], 0);
      CHECK_EQUAL(plan.completion[j], problem.idle_end[j]);
      CHECK_EQUAL(plan.start[j], problem.idle_end[j]);
    } else if (problem.gang && problem.low[j] > problem.slots) {
      CHECK_EQUAL(done[j], 0.0);
      CHECK_EQUAL(plan.completion[j], kInfinity);
      CHECK_EQUAL(plan.start[j], kInfinity);
    } else {
      // The packings take instants within 1e-13 of their time for one: every slot may lose that.
      const double blur =
          2e-13 * std::max(scale_of(plan.completion[j]), plan.completion[j] - problem.now);
      CHECK_NEAR(done[j], problem.work[j], 1e-9 * problem.work[j] + blur * problem.high[j]);
      CHECK(plan.completion[j] >= plan.start[j] && plan.start[j] >= problem.now);
      if (done[j] > 0.0) {
        // What is left of a job may be too short for the clock when its last slots come; of a short
        // job the clock does not even show whether work is left.
        const double tick = problem.high[j] * 2.3e-16 * std::fabs(end[j]);
        const double left = problem.work[j] - done[j];
        const bool some = left > 1e-14 * problem.work[j] || tick > 1e-6 * problem.work[j];
        const bool unseen = some && end[j] < plan.completion[j] && left <= blur * problem.high[j];
        if (!unseen) CHECK_NEAR(plan.completion[j], end[j], 1e-9 * scale_of(end[j]));
        CHECK_EQUAL(plan.start[j], first[j]);
        if (instants_differ) CHECK_EQUAL(static_cast<double>(plan.allocation[j]), now[j]);
      }
    }
  }
}

// A plan of `problem` as its policy saw it (FIFO: without minima).
inline void check_plan(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       const Plan& plan, std::span<const std::int64_t> decided = {}) {
  const std::size_t n = problem.size();
  CHECK_EQUAL(plan.completion.size(), n);
  CHECK_EQUAL(plan.order.size(), n);
  CHECK(is_permutation_of_all(plan.order));
  if (n > 0) {
    CHECK_EQUAL(plan.start.size(), n);
    CHECK_EQUAL(plan.allocation.size(), n);
    check_limits(problem, plan);
    check_jobs(problem, plan, decided);
  }
  double sum = 0.0, worst = n > 0 ? -kInfinity : 0.0, magnitude = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double paid = penalties(j, plan.completion[j]);
    sum += paid;
    worst = std::max(worst, paid);
    magnitude += std::fabs(paid);
  }
  CHECK(!std::isnan(plan.value) && !std::isnan(plan.lower_bound));
  CHECK_NEAR(plan.value, aggregate == Aggregate::kSum ? sum : worst, 1e-9 * magnitude);
  CHECK_AT_MOST(plan.lower_bound, plan.value, 0.0);
  const bool strict = plan.value == kInfinity;  // a deadline that cannot be met, or is not
  CHECK(plan.status != Status::kInfeasible || problem.beyond_reach || strict);
  if (problem.beyond_reach) CHECK(plan.status == Status::kInfeasible);
  if (plan.status == Status::kMinimaScaled) CHECK(problem.minima_scaled);
  if (plan.status == Status::kOk) CHECK(!problem.minima_scaled && !problem.beyond_reach);
}

}  // namespace malleable::check
