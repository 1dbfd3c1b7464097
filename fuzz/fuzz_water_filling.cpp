// The fair scheduler's allocation with its definition, and its schedules.
#include "malleable/kernel/water_filling.hpp"
#include "plan_check.hpp"
#include "schedule.hpp"
#include "target.hpp"

namespace malleable::fuzz {

void fuzz(Bytes bytes) {
  const MinMode mode = bytes.chance(64) ? MinMode::kGang : MinMode::kGuarantee;
  const bool weighted = bytes.chance(140), schedule = bytes.chance(100);
  const std::int64_t slots = bytes.slots();
  const double now = bytes.chance(64) ? bytes.time() : 0.0;
  const Table table = read_table(bytes, slots, {24, 1.0, false});
  const Problem problem = table.problem(slots, now, mode);
  const std::size_t n = table.size();
  std::vector<double> weight;
  if (weighted) weight = table.weight;
  const auto weight_of = [&](std::size_t j) { return weighted ? weight[j] : 1.0; };

  std::vector<double> given(n, -1.0);
  WaterFilling water_filling;
  water_filling.allocate(problem, weight, given);
  double used = 0.0, wanted = 0.0;
  bool weightless = false;
  for (std::size_t j = 0; j < n; ++j) {
    CHECK(given[j] == std::floor(given[j]) && given[j] >= 0.0 && given[j] <= problem.high[j]);
    if (problem.work[j] == 0.0) CHECK_EQUAL(given[j], 0.0);
    if (problem.work[j] > 0.0) wanted += problem.high[j];
    weightless |= weight_of(j) == 0.0;
    used += given[j];
    if (!problem.gang && problem.work[j] > 0.0) CHECK(given[j] >= problem.low[j]);
    if (problem.gang && given[j] > 0.0) CHECK(given[j] >= problem.low[j]);
  }
  CHECK(used <= problem.slots);
  if (!problem.gang) {
    if (!weightless) CHECK_EQUAL(used, std::min(wanted, problem.slots));
    // One level for all: no job beyond its minimum has more, for its weight, than a job below
    // its maximum, but for the slot of the rounding.
    for (std::size_t i = 0; i < n; ++i) {
      if (problem.work[i] == 0.0 || given[i] <= problem.low[i]) continue;
      for (std::size_t j = 0; j < n; ++j) {
        if (problem.work[j] == 0.0 || given[j] >= problem.high[j] || weight_of(j) == 0.0) continue;
        CHECK_AT_MOST((given[i] - 1.0) * weight_of(j), (given[j] + 1.0) * weight_of(i),
                      1e-15 * given[i] * weight_of(j));
      }
    }
  }
  if (!schedule) return;
  std::vector<double> completion(n, -1.0);
  Plan plan;
  water_filling.plan(problem, weight, completion, plan);
  for (std::size_t j = 0; j < n; ++j) {
    completion[j] = problem.work[j] == 0.0 ? problem.idle_end[j] : now + completion[j];
  }
  check_schedule({now, slots, table.work, table.max_slots}, plan.pieces, completion,
                 plan.allocation);
}

}  // namespace malleable::fuzz
