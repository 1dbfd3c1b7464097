// Plans of flows whose jobs have speed-up curves.
#include <vector>

#include "flow_instances.hpp"
#include "malleable/policy/flow_curves.hpp"

namespace malleable::check {
namespace test_flow_curves {

FlowPlan planned(const FlowTable& table, std::optional<FlowBaseline> baseline) {
  const FlowProblem problem = table.problem(4);
  const Penalties penalties = table.penalties(Kind::kResponse);
  const FlowsView flows = table.view();
  FlowPlan plan;
  plan.order = {0, 1};
  plan_curves({flows, problem, penalties, Aggregate::kSum, baseline}, plan);
  return plan;
}

TEST(flows_end_when_their_speed_ups_say_and_one_that_comes_later_waits_for_its_arrival) {
  FlowTable table;
  table.add_flow(0.0, 1.0, kInfinity);
  table.add_job(8.0, 4);
  table.add_job(2.0, 1, {0});
  table.add_flow(20.0, 1.0, kInfinity);
  table.add_job(6.0, 9);
  table.speedup.add(0.5, {});
  table.speedup.pad(3);
  for (const auto baseline : {std::optional<FlowBaseline>(), std::optional(FlowBaseline::kFifo),
                              std::optional(FlowBaseline::kFair)}) {
    const FlowPlan plan = planned(table, baseline);
    CHECK_NEAR(plan.completion[0], 4.0, 1e-9);
    CHECK_NEAR(plan.flow_completion[0], 6.0, 1e-9);
    CHECK_NEAR(plan.flow_completion[1], 21.5, 1e-9);
    CHECK((plan.allocation == std::vector<std::int64_t>{4, 0, 0}));
    CHECK_NEAR(plan.value, 6.0 + 1.5, 1e-9);
  }
}

TEST(FIFO_gives_all_to_the_first_FAIR_the_same_to_all_gains_what_lies_between) {
  FlowTable table;
  for (int k = 0; k < 2; ++k) {
    table.add_flow(0.0, 1.0, kInfinity);
    table.add_job(8.0, 4);
    table.speedup.add(0.5, {});
  }
  CHECK((planned(table, FlowBaseline::kFifo).allocation == std::vector<std::int64_t>{4, 0}));
  CHECK((planned(table, FlowBaseline::kFair).allocation == std::vector<std::int64_t>{2, 2}));
  CHECK((planned(table, std::nullopt).allocation == std::vector<std::int64_t>{3, 1}));
}

}  // namespace test_flow_curves
}  // namespace malleable::check
