// Slots fixed for each job's life: sums and maxima.
#include "malleable/kernel/resource_allocation.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr Kind kMoldable[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                              Kind::kTardiness, Kind::kLateness,   Kind::kSla};

}  // namespace

void fuzz(Bytes bytes) {
  const Aggregate aggregate = bytes.chance(100) ? Aggregate::kMax : Aggregate::kSum;
  const MinMode mode = bytes.chance(64) ? MinMode::kGang : MinMode::kGuarantee;
  const Kind kind = bytes.pick(kMoldable);
  const std::int64_t slots = bytes.slots();
  const double now = bytes.chance(100) ? bytes.time() : 0.0;
  Table table = read_table(bytes, slots, {16, kLatest, kind == Kind::kLateness});
  for (double& arrival : table.arrival) arrival = std::min(arrival, now);

  const Penalties penalties = table.penalties(kind);
  const Problem problem = table.problem(slots, now, mode);
  std::vector<double> given(table.size(), -1.0);
  ResourceAllocation().run(problem, penalties, aggregate, {}, given);
  double used = 0.0;
  for (std::size_t j = 0; j < given.size(); ++j) {
    CHECK(given[j] == std::floor(given[j]) && given[j] >= 0.0 && given[j] <= problem.high[j]);
    used += given[j];  // exact: far below 2^53 jobs times slots only if it fits
    CHECK(used <= problem.slots);
    if (!problem.gang) CHECK(given[j] >= problem.low[j]);
    if (problem.gang && given[j] > 0.0) CHECK(given[j] >= problem.low[j]);
  }
}

}  // namespace malleable::fuzz
