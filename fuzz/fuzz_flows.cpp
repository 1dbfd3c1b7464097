// Plans of flows: FlowFlex in all its forms, and the baselines.
#include "malleable/policy/flow_baseline.hpp"
#include "malleable/policy/flowflex.hpp"
#include "schedule.hpp"
#include "target.hpp"

namespace malleable::fuzz {
namespace {

constexpr Kind kFlowKinds[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                               Kind::kTardiness, Kind::kLateness,   Kind::kSla,     Kind::kStrict};
constexpr FlowMethod kMethods[] = {FlowMethod::kBest, FlowMethod::kFast, FlowMethod::kLiteral};

FlowPlan plan_with(std::size_t method, const FlowProblem& problem, const Penalties& penalties,
                   Aggregate aggregate, const FlowOptions& options, const FlowTable& table) {
  FlowPlan plan;
  if (method < 3) {
    FlowFlex().plan(problem, penalties, aggregate, options, plan);
  } else {
    plan_baseline(problem, penalties, aggregate,
                  method == 3 ? FlowBaseline::kFifo : FlowBaseline::kFair, table.arrival, plan);
  }
  return plan;
}

void check_precedence(const FlowTable& table, const FlowProblem& problem, const FlowPlan& plan) {
  const std::size_t n = table.work.size();
  std::vector<double> first(n, INFINITY), last(n, -INFINITY);
  for (std::size_t k = 0; k < plan.pieces.size(); ++k) {
    const auto i = static_cast<std::size_t>(plan.pieces.job[k]);
    first[i] = std::min(first[i], plan.pieces.start[k]);
    last[i] = std::max(last[i], plan.pieces.end[k]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double released = std::max(problem.now, table.arrival[problem.flow[i]]);
    CHECK(first[i] >= released);
    CHECK(plan.completion[i] >= released - blur(problem.now, released) || table.work[i] == 0.0);
    for (auto e = table.parent_offset[i]; e < table.parent_offset[i + 1]; ++e) {
      const auto p = static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)]);
      CHECK(first[i] >= last[p] - blur(problem.now, last[p]));
    }
  }
}

}  // namespace

void fuzz(Bytes bytes) {
  const std::size_t method = bytes.index(5);
  const Aggregate aggregate = bytes.chance(100) ? Aggregate::kMax : Aggregate::kSum;
  const Kind kind = bytes.pick(kFlowKinds);
  const auto effort = static_cast<std::uint64_t>(read_effort(bytes));
  const bool wrong = bytes.astray(32), warmed = bytes.chance(48);
  const double hysteresis = bytes.chance(48) ? bytes.unit() : 0.0;
  const std::int64_t slots = bytes.slots();
  const double now = bytes.chance(100) ? bytes.time() : 0.0;
  FlowTable table = read_flows(bytes, kind == Kind::kLateness);
  const bool bad = wrong && spoil(bytes, table);
  const bool stopped = refused([&] { validate(table.view()); });
  CHECK_EQUAL(stopped, bad);
  if (stopped || bad || !find_cycle(table.view()).empty()) return;

  const FlowProblem problem = table.problem(slots, now);
  const Penalties penalties = table.penalties(kind);
  std::vector<Index> warm;
  if (warmed) {
    warm = check::identity(table.arrival.size());
    std::reverse(warm.begin(), warm.end());
  }
  const FlowOptions options{kMethods[std::min<std::size_t>(method, 2)], effort, kInfinity, warm,
                            warmed ? hysteresis : 0.0};
  const FlowPlan plan = plan_with(method, problem, penalties, aggregate, options, table);
  if (bytes.chance(64)) {
    const FlowPlan again = plan_with(method, problem, penalties, aggregate, options, table);
    CHECK(plan.pieces.start == again.pieces.start && plan.pieces.slots == again.pieces.slots);
    CHECK(plan.value == again.value && plan.lower_bound == again.lower_bound);
  }

  check_bound(plan.value, plan.lower_bound);
  check_schedule({now, slots, table.work, table.max_slots}, plan.pieces, plan.completion,
                 plan.allocation);
  check_precedence(table, problem, plan);
  CHECK(check::is_permutation_of_all(plan.order));
  double sum = 0.0, worst = table.arrival.empty() ? 0.0 : -kInfinity, magnitude = 0.0;
  for (std::size_t f = 0; f < table.arrival.size(); ++f) {
    const double paid = penalties(f, plan.flow_completion[f]);
    sum += paid;
    worst = std::max(worst, paid);
    magnitude += std::fabs(paid);
  }
  CHECK_NEAR(plan.value, aggregate == Aggregate::kSum ? sum : worst, 1e-9 * magnitude);
}

}  // namespace malleable::fuzz
