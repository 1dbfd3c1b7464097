// Any order packed, with and without its pieces.
#include "malleable/kernel/malleable_packing.hpp"
#include "plan_check.hpp"
#include "schedule.hpp"
#include "target.hpp"

namespace malleable::fuzz {

void fuzz(Bytes bytes) {
  const MinMode mode = bytes.chance(80) ? MinMode::kGang : MinMode::kGuarantee;
  const std::int64_t slots = bytes.slots();
  const double now = bytes.chance(64) ? bytes.time() : 0.0;
  const Table table = read_table(bytes, slots, {32, 1.0, false});
  const std::size_t n = table.size();
  const Problem problem = table.problem(slots, now, mode);
  check::Order order = check::identity(n);
  for (std::size_t k = n; k > 1; --k) std::swap(order[k - 1], order[bytes.index(k)]);

  MalleablePacking packing;
  std::vector<double> completion(n, -1.0), quick(n, -1.0);
  Plan plan;
  packing.run(problem, order, completion, &plan);
  packing.run(problem, order, quick);
  CHECK(quick == completion);
  std::vector<double> early(n, 0.0);
  double before = 0.0;
  packing.run_until(problem, order, [&](Index j, double time) {
    CHECK(time >= before);
    before = early[j] = time;
    return true;
  });
  for (std::size_t j = 0; j < n; ++j) {
    const bool never = problem.gang && problem.low[j] > problem.slots;
    CHECK(!std::isnan(completion[j]) && completion[j] >= 0.0);
    if (problem.work[j] > 0.0 && !never) {
      CHECK_EQUAL(early[j], completion[j]);
      // Nobody ends before its work allows, or later than one job after the other on its fewest
      // slots.
      CHECK_AT_MOST(problem.work[j] / problem.high[j], completion[j], 1e-9 * completion[j]);
    }
    completion[j] = problem.work[j] == 0.0 ? problem.idle_end[j] : now + completion[j];
  }
  check_schedule({now, slots, table.work, table.max_slots}, plan.pieces, completion,
                 plan.allocation);
}

}  // namespace malleable::fuzz
