// Plans of job tables: every policy, objective and meaning of minima.
#include "malleable/policy/baseline.hpp"
#include "malleable/policy/flex.hpp"
#include "plan_check.hpp"
#include "schedule.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr Kind kAllKinds[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                              Kind::kTardiness, Kind::kLateness,   Kind::kSla,     Kind::kCustom};

double rising(std::int64_t job, double completion) {
  const double late = completion - static_cast<double>(job);
  return late > 0.0 ? std::sqrt(late) : 0.0;
}

struct Policies {
  Flex flex;
  Baseline baseline;
  Plan operator()(std::size_t which, const Problem& problem, const Penalties& penalties,
                  Aggregate aggregate, const Table& table, std::uint64_t effort) {
    Plan plan;
    switch (which) {
      case 0:
        flex.plan(problem, penalties, aggregate, {effort, kInfinity}, plan);
        break;
      case 1: {
        std::vector<Index> order(problem.size());
        flex.own_order(problem, penalties, aggregate, order);
        flex.plan_order(problem, penalties, aggregate, order, true, plan);
        break;
      }
      case 2:
        baseline.fifo(problem, penalties, aggregate, table.arrival, plan);
        break;
      case 3:
        baseline.water_filling(problem, penalties, aggregate, {}, plan);
        break;
      default:
        baseline.water_filling(problem, penalties, aggregate, table.weight, plan);
    }
    return plan;
  }
};

}  // namespace

void fuzz(Bytes bytes) {
  const std::size_t policy = bytes.index(5);
  const Aggregate aggregate = bytes.chance(128) ? Aggregate::kMax : Aggregate::kSum;
  const MinMode mode = bytes.chance(80) ? MinMode::kGang : MinMode::kGuarantee;
  const auto effort = static_cast<std::uint64_t>(read_effort(bytes));
  const bool mixed = bytes.chance(40), wrong = bytes.astray(32);
  const Kind kind = bytes.pick(kAllKinds);
  std::int64_t slots = bytes.slots();
  const double now = bytes.chance(128) ? bytes.time() : 0.0;
  Table table = read_table(bytes, slots, {20, kLatest, mixed || kind == Kind::kLateness});
  bool bad = wrong && spoil(bytes, table);
  if (wrong && !bad) {
    const std::int64_t none[] = {0, -1, kSlotLimit + 1, std::numeric_limits<std::int64_t>::max()};
    slots = bytes.pick(none);
    bad = true;
  }
  const bool stopped = refused([&] {
    validate_slots(slots);
    validate(table.view());
  });
  CHECK_EQUAL(stopped, bad);
  if (stopped || bad) return;
  for (double& arrival : table.arrival) arrival = std::min(arrival, now);  // FLEX knows no releases

  std::vector<Kind> kinds = {kind};
  if (mixed) {
    kinds.clear();
    for (std::size_t j = 0; j < table.size(); ++j) kinds.push_back(bytes.pick(kAllKinds));
    if (kinds.empty()) kinds = {kind};
  }
  Penalties penalties;
  penalties.build(table.view(), kinds, rising);
  Problem problem = table.problem(slots, now, mode);
  Policies policies;
  const Plan plan = policies(policy, problem, penalties, aggregate, table, effort);
  if (bytes.chance(64)) {
    const Plan again = policies(policy, problem, penalties, aggregate, table, effort);
    CHECK(plan.completion == again.completion && plan.order == again.order);
    CHECK(plan.pieces.start == again.pieces.start && plan.pieces.slots == again.pieces.slots);
    CHECK(plan.value == again.value && plan.lower_bound == again.lower_bound);
  }

  check_bound(plan.value, plan.lower_bound);
  check_schedule({now, slots, table.work, table.max_slots}, plan.pieces, plan.completion,
                 plan.allocation);
  if (policy == 2) problem.drop_minima();
  const bool strict = std::find(kinds.begin(), kinds.end(), Kind::kStrict) != kinds.end();
  if (!strict) {
    check::check_plan(problem, penalties, aggregate, plan);
    return;
  }
  if (table.size() > 0) {
    check::check_limits(problem, plan);
    check::check_jobs(problem, plan);
  }
  // The status says if something cannot be met, and only then.
  const bool missed = evaluate(penalties, aggregate, plan.completion) == kInfinity;
  CHECK_EQUAL(missed, plan.value == kInfinity);
  if (missed) CHECK(plan.status == Status::kUnmet || plan.status == Status::kInfeasible);
  if (!missed && !problem.beyond_reach) CHECK(plan.status < Status::kUnmet);
  if (plan.lower_bound == kInfinity) CHECK(plan.status == Status::kInfeasible);
}

}  // namespace malleable::fuzz
