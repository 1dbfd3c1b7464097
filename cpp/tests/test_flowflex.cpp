// FlowFlex plans of flows (jobs that wait for each other), and their bounds.
#include <cstdlib>

#include "flow_instances.hpp"
#include "malleable/policy/flow_baseline.hpp"
#include "malleable/policy/flowflex.hpp"

namespace malleable::check {
namespace test_flowflex {

constexpr Kind kKinds[] = {Kind::kResponse, Kind::kCompletion, Kind::kStretch,
                           Kind::kTardy,    Kind::kTardiness,  Kind::kSla};
constexpr Aggregate kAggregates[] = {Aggregate::kSum, Aggregate::kMax};

void check_flow_plan(const FlowTable& table, const FlowProblem& problem, const Penalties& penalties,
                     Aggregate aggregate, const FlowPlan& plan) {
  check_pieces(table, problem, plan.pieces, plan.completion);
  for (std::size_t j = 0; j < problem.flows(); ++j) {
    double end = table.arrival[j];
    if (problem.volume[j] > 0.0) {
      end = problem.now;
      for (std::size_t i = problem.job_offset[j]; i < problem.job_offset[j + 1]; ++i) {
        end = std::max(end, plan.completion[i]);
      }
    }
    CHECK_EQUAL(plan.flow_completion[j], end);
  }
  CHECK_NEAR(plan.value, evaluate(penalties, aggregate, plan.flow_completion),
             1e-12 * (1.0 + std::fabs(plan.value)));
  CHECK(plan.lower_bound <= plan.value);
}

TEST(plans_are_schedules_and_none_is_worse_than_the_literal_one) {
  FlowFlex flowflex;
  trials(1, 300, [&](Random& random) {
    const FlowTable table = random_flows(random, 6, 6, true);
    const FlowProblem problem = table.problem(integer(random, 1, 8), real(random, 0.0, 2.0));
    const Penalties penalties = table.penalties(kKinds[random() % std::size(kKinds)]);
    const Aggregate aggregate = kAggregates[random() % 2];
    FlowPlan literal, best, fast, other;
    FlowOptions options{FlowMethod::kLiteral, 0, kInfinity, {}};
    flowflex.plan(problem, penalties, aggregate, options, literal);
    options.method = FlowMethod::kFast;
    flowflex.plan(problem, penalties, aggregate, options, fast);
    options = {FlowMethod::kBest, 40, kInfinity, {}};
    flowflex.plan(problem, penalties, aggregate, options, best);
    for (const FlowPlan* plan : {&literal, &fast, &best}) {
      check_flow_plan(table, problem, penalties, aggregate, *plan);
      CHECK_AT_MOST(best.lower_bound, plan->value, 1e-8 * (1.0 + std::fabs(plan->value)));
    }
    CHECK_AT_MOST(best.value, literal.value, 1e-9 * (1.0 + std::fabs(literal.value)));
    for (const auto which : {FlowBaseline::kFifo, FlowBaseline::kFair}) {
      plan_baseline(problem, penalties, aggregate, which, table.arrival, other);
      check_flow_plan(table, problem, penalties, aggregate, other);
      CHECK_AT_MOST(best.lower_bound, other.value, 1e-8 * (1.0 + std::fabs(other.value)));
    }
  });
}

// Capacity, maxima, work, arrivals and precedence, to the precision of the clock.
void check_wide_schedule(const FlowTable& table, const FlowProblem& problem, const FlowPlan& plan) {
  const Pieces& pieces = plan.pieces;
  const std::size_t n = problem.jobs();
  std::vector<double> done(n, 0.0), first(n, kInfinity), last(n, -kInfinity), blur(n, 0.0);
  std::map<double, double> all;
  std::vector<std::map<double, double>> own(n);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const auto i = static_cast<std::size_t>(pieces.job[k]);
    const auto slots = static_cast<double>(pieces.slots[k]);
    CHECK(slots > 0.0 && pieces.end[k] > pieces.start[k]);
    done[i] += slots * (pieces.end[k] - pieces.start[k]);
    blur[i] += slots * 1e-15 * std::fabs(pieces.end[k]);
    first[i] = std::min(first[i], pieces.start[k]);
    last[i] = std::max(last[i], pieces.end[k]);
    for (auto* change : {&all, &own[i]}) {
      (*change)[pieces.start[k]] += slots;
      (*change)[pieces.end[k]] -= slots;
    }
  }
  double used = 0.0;
  for (const auto& [time, slots] : all) CHECK((used += slots) <= problem.slots);
  for (std::size_t i = 0; i < n; ++i) {
    double held = 0.0;
    for (const auto& [time, slots] : own[i]) CHECK((held += slots) <= problem.high[i]);
    // A piece that the clock does not show is not written.
    const double unseen = 2.0 * problem.high[i] * 1e-15 * (1.0 + std::fabs(plan.completion[i]));
    CHECK_NEAR(done[i], problem.work[i], 1e-9 * problem.work[i] + 8.0 * (blur[i] + unseen));
    if (last[i] == -kInfinity) continue;
    CHECK(last[i] <= plan.completion[i]);
    CHECK(first[i] >= table.arrival[problem.flow[i]]);
    for (std::size_t e = problem.child_offset[i]; e < problem.child_offset[i + 1]; ++e) {
      CHECK(first[problem.child[e]] >= last[i]);
    }
  }
}

TEST(any_weights_works_and_kinds_end_with_a_schedule_and_a_bound) {
  constexpr Kind kAll[] = {Kind::kResponse,  Kind::kCompletion, Kind::kStretch, Kind::kTardy,
                           Kind::kTardiness, Kind::kSla,        Kind::kStrict};
  FlowFlex flowflex;
  const char* wanted = std::getenv("MALLEABLE_FUZZ");  // for a longer run: so many instances
  trials(17, wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1500, [&](Random& random) {
    const bool corners = chance(random, 0.3);
    const FlowTable table = wide_flows(random, 6, 5, corners);
    const std::int64_t slots = corners && chance(random, 0.2) ? kMostSlots : integer(random, 1, 40);
    const FlowProblem problem = table.problem(slots, chance(random, 0.2) ? 0.7 : 0.0);
    std::vector<Kind> kinds(problem.flows());
    const bool mixed = chance(random, 0.6);
    const std::size_t most = chance(random, 0.3) ? std::size(kAll) : std::size(kAll) - 1;
    for (Kind& kind : kinds) kind = kAll[random() % most];
    if (!mixed) kinds.assign(problem.flows(), kinds[0]);
    const Penalties penalties = table.penalties(kinds);
    const Aggregate aggregate = kAggregates[random() % 2];
    double bound = -kInfinity, least = kInfinity;
    for (const auto method : {FlowMethod::kBest, FlowMethod::kFast, FlowMethod::kLiteral}) {
      FlowPlan plan;
      flowflex.plan(problem, penalties, aggregate, {method, 20, kInfinity, {}}, plan);
      check_wide_schedule(table, problem, plan);
      CHECK(plan.lower_bound <= plan.value && !std::isnan(plan.lower_bound));
      bound = std::max(bound, plan.lower_bound);
      least = std::min(least, plan.value);
    }
    for (const auto which : {FlowBaseline::kFifo, FlowBaseline::kFair}) {
      FlowPlan plan;
      plan_baseline(problem, penalties, aggregate, which, table.arrival, plan);
      check_wide_schedule(table, problem, plan);
      CHECK(plan.lower_bound <= plan.value && !std::isnan(plan.lower_bound));
      bound = std::max(bound, plan.lower_bound);
      least = std::min(least, plan.value);
    }
    // Any bound holds for any schedule.
    if (least < kInfinity) CHECK_AT_MOST(bound, least, 1e-8 * (1e-30 + std::fabs(least)));
  });
}

// Due after everything: the last bit of a far time is more than the work.
TEST(far_deadlines_and_many_slots_are_no_proof) {
  FlowTable table;
  table.add_flow(0.015817, 0.0, 179.073);
  table.add_job(497.809, 5);
  table.add_flow(0.0, 1e12, 1e12);
  table.add_job(14736.9, 5);
  FlowFlex flowflex;
  FlowPlan plan;
  plan_baseline(table.problem(5), table.penalties(Kind::kStrict), Aggregate::kSum,
                FlowBaseline::kFifo, table.arrival, plan);
  CHECK(plan.status == Status::kUnmet);
  CHECK_EQUAL(plan.lower_bound, 0.0);
  flowflex.plan(table.problem(5), table.penalties(Kind::kStrict), Aggregate::kSum, {}, plan);
  CHECK_EQUAL(plan.value, 0.0);
}

TEST(a_budget_of_nothing_still_gives_a_bound) {
  FlowFlex flowflex;
  trials(23, 200, [&](Random& random) {
    const FlowTable table = random_flows(random, 6, 6, true);
    const FlowProblem problem = table.problem(integer(random, 1, 8));
    const Penalties penalties = table.penalties(kKinds[random() % std::size(kKinds)]);
    const Aggregate aggregate = kAggregates[random() % 2];
    FlowPlan none, best;
    flowflex.plan(problem, penalties, aggregate, {FlowMethod::kBest, 40, 0.0, {}}, none);
    flowflex.plan(problem, penalties, aggregate, {FlowMethod::kBest, 40, kInfinity, {}}, best);
    check_flow_plan(table, problem, penalties, aggregate, none);
    CHECK_EQUAL(none.candidates, 0u);
    CHECK(none.lower_bound > -kInfinity);
    CHECK_AT_MOST(none.lower_bound, best.value, 1e-8 * (1.0 + std::fabs(best.value)));
  });
}

TEST(speed_needed_is_the_least) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 4.0);
  table.add_job(6.0, 1);
  table.add_flow(0.0, 1.0, 6.0);
  table.add_job(6.0, 1);
  const FlowProblem problem = table.problem(2);
  const Penalties late = table.penalties(Kind::kTardiness);
  const std::vector<double> end{6.0, 6.0};
  CHECK_NEAR(speed_needed(problem, late, Aggregate::kSum, end, 0.0), 1.5, 1e-8);
  CHECK_NEAR(speed_needed(problem, late, Aggregate::kSum, end, 1.0), 1.2, 1e-8);
  CHECK_EQUAL(speed_needed(problem, late, Aggregate::kMax, end, 2.0), 1.0);
  // No speed brings a value below 0: the doubling ends.
  CHECK_EQUAL(speed_needed(problem, late, Aggregate::kMax, end, -1.0), kInfinity);
}

}  // namespace test_flowflex
}  // namespace malleable::check
