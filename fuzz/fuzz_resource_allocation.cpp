// Slots fixed for each job's life: linear speed-up and tables, sums and maxima, small effort.
#include "malleable/kernel/resource_allocation.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr Kind kMoldable[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                              Kind::kTardiness, Kind::kLateness,   Kind::kSla};

SpeedupTable read_speedups(Bytes& bytes, std::size_t jobs) {
  SpeedupTable table;
  table.offset.push_back(0);
  for (std::size_t j = 0; j < jobs; ++j) {
    double slots = 0.0;
    for (std::size_t rows = 1 + bytes.index(4); rows > 0; --rows) {
      slots += static_cast<double>(bytes.chance(200) ? bytes.integer(1, 8) : bytes.slots());
      table.slots.push_back(slots);
      table.duration.push_back(bytes.amount(kWork));
    }
    table.offset.push_back(table.slots.size());
  }
  table.complete();
  return table;
}

}  // namespace

void fuzz(Bytes bytes) {
  const Aggregate aggregate = bytes.chance(100) ? Aggregate::kMax : Aggregate::kSum;
  const MinMode mode = bytes.chance(64) ? MinMode::kGang : MinMode::kGuarantee;
  const Kind kind = bytes.pick(kMoldable);
  const bool tabled = bytes.chance(64);
  const std::size_t effort = bytes.chance(200) ? bytes.index(2000) : 0;
  const std::int64_t slots = bytes.slots();
  const double now = bytes.chance(100) ? bytes.time() : 0.0;
  Table table = read_table(bytes, slots, {16, kLatest, kind == Kind::kLateness});
  for (double& arrival : table.arrival) arrival = std::min(arrival, now);
  SpeedupTable speedups;
  if (tabled) speedups = read_speedups(bytes, table.size());

  const Penalties penalties = table.penalties(kind);
  const Problem problem = table.problem(slots, now, mode);
  std::vector<double> given(table.size(), -1.0);
  const AllocationResult result = ResourceAllocation().run(
      problem, penalties, aggregate, {}, effort, given, tabled ? &speedups : nullptr);
  CHECK(!std::isnan(result.value) && !std::isnan(result.lower_bound));
  CHECK(result.lower_bound <= result.value);
  if (result.exact) CHECK_EQUAL(result.lower_bound, result.value);
  double used = 0.0;
  for (std::size_t j = 0; j < given.size(); ++j) {
    CHECK(given[j] == std::floor(given[j]) && given[j] >= 0.0 && given[j] <= problem.high[j]);
    used += given[j];  // exact: far below 2^53 jobs times slots only if it fits
    CHECK(used <= problem.slots);
    if (!problem.gang && !tabled) CHECK(given[j] >= problem.low[j]);
    if (problem.gang && given[j] > 0.0 && !tabled) CHECK(given[j] >= problem.low[j]);
  }
}

}  // namespace malleable::fuzz
