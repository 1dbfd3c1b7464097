#include "flow_instances.hpp"
#include "malleable/policy/flowflex.hpp"

namespace malleable::check {
namespace {

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
}

}  // namespace
}  // namespace malleable::check
