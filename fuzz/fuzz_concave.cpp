// Jobs whose speed-up is not linear: plans of every policy, and an epoch beside one that is
// loaded from its bytes.
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/planner.hpp"
#include "schedule.hpp"
#include "schedule_check.hpp"
#include "sequence.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr EpochPolicy kPolicies[] = {EpochPolicy::kFlex, EpochPolicy::kFair, EpochPolicy::kFifo,
                                     EpochPolicy::kWdeq, EpochPolicy::kHeSrpt};
constexpr Kind kBuiltIn[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                             Kind::kTardiness, Kind::kSla,        Kind::kStrict};

// False where something is wrong on purpose.
bool read_speedups(Bytes& bytes, Table& table) {
  const bool wrong = table.size() > 0 && bytes.astray(24);
  for (std::size_t j = 0; j < table.size(); ++j) add_speedup(bytes, table.speedup);
  if (wrong) table.speedup.exponent[bytes.index(table.size())] = bytes.chance(128) ? -0.5 : 1.5;
  return !wrong;
}

void check_plan(const JobsView& jobs, const malleable::check::JobPromises& promises,
                const Plan& plan) {
  const Pieces& p = plan.pieces;
  malleable::check::check_schedule(jobs, promises, {p.job, p.slots, p.start, p.end},
                                   plan.completion);
  check_bound(plan.value, plan.lower_bound);
  std::int64_t used = 0;
  for (const std::int64_t slots : plan.allocation) used += slots;
  CHECK(used <= promises.slots);
}

}  // namespace

void fuzz(Bytes bytes) {
  const EpochPolicy policy = bytes.pick(kPolicies);
  const Aggregate aggregate = bytes.chance(128) ? Aggregate::kMax : Aggregate::kSum;
  const MinMode mode = bytes.chance(80) ? MinMode::kGang : MinMode::kGuarantee;
  const Kind kind = bytes.pick(kBuiltIn);
  const auto effort = static_cast<std::uint64_t>(bytes.integer(0, 30));
  const std::int64_t slots = bytes.slots();
  Table table = read_table(bytes, slots, {12, kLatest, false});
  const bool right = read_speedups(bytes, table);
  for (double& arrival : table.arrival) arrival = std::min(arrival, 0.0);
  CHECK_EQUAL(refused([&] { validate(table.view()); }), !right);
  if (!right) return;
  const Penalties penalties = table.penalties(kind);
  Plan plan;
  Planner().plan(table.view(), penalties, {policy, aggregate, mode, slots, 0.0, {effort}}, plan);
  const bool free = policy == EpochPolicy::kFifo;
  check_plan(table.view(), {slots, 0.0, mode, free}, plan);
  CHECK(plan.candidates <= effort);

  EpochOptions options;
  options.policy = policy;
  options.aggregate = aggregate;
  options.kind = kind;
  options.min_mode = mode;
  if (policy == EpochPolicy::kFlex && bytes.chance(100)) options.effort = effort;
  Epoch epoch(slots, options);
  const Jobs jobs = table.jobs();
  for (double now = 0.0; now < 4.0; now += 1.0) {
    if (now == 0.0 || bytes.chance(100)) epoch.add(jobs);
    if (bytes.chance(100) && epoch.size() > 0) {
      const std::int64_t gone = epoch.ids()[bytes.index(epoch.size())];
      epoch.remove({&gone, 1});
    }
    epoch.decide(now);
    Epoch copy(1, {});
    load_copy("epoch", epoch, copy);
    const Plan decided = epoch.plan(), same = copy.plan();
    CHECK(decided.completion == same.completion && decided.value == same.value);
    check_plan(epoch.planned_jobs(), {slots, now, mode, free}, decided);
    const Plan assessed = epoch.plan(/*detail=*/false);
    check_bound(assessed.value, assessed.lower_bound);
  }
}

}  // namespace malleable::fuzz
