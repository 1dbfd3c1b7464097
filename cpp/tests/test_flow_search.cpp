// Local search over orders of flows; a recipe says how an order becomes a schedule.
#include <numeric>

#include "flow_instances.hpp"
#include "malleable/kernel/flow_bound.hpp"
#include "malleable/kernel/flow_search.hpp"

namespace malleable::check {
namespace test_flow_search {

TEST(search_finds_the_best_order_of_a_few_flows) {
  const std::function<bool()> never = [] { return false; };
  trials(1, 120, [&](Random& random) {
    const FlowTable table = random_flows(random, 5, 4);
    const FlowProblem problem = table.problem(integer(random, 1, 6));
    if (problem.flows() == 0) return;
    constexpr Kind kinds[] = {Kind::kCompletion, Kind::kTardiness, Kind::kSla};
    const Penalties penalties = table.penalties(kinds[random() % std::size(kinds)]);
    const Aggregate aggregate = chance(random, 0.5) ? Aggregate::kSum : Aggregate::kMax;
    FlowChains chains;
    chains.build(problem);
    FlowBound bound;
    bound.build(problem);
    FlowSearch search;
    search.begin(problem, chains, penalties, aggregate, bound.earliest());
    FlowRecipe recipe{
        chance(random, 0.5) ? FlowScheduler::kChains : FlowScheduler::kList, {}, {}, {}};
    recipe.order.resize(problem.flows());
    std::iota(recipe.order.begin(), recipe.order.end(), Index{0});
    FlowRecipe each = recipe;
    double best = kInfinity;
    do {
      best = std::min(best, search.score(each).value);
    } while (std::next_permutation(each.order.begin(), each.order.end()));
    std::vector<FlowRecipe> recipes{recipe};
    Score score = search.score(recipe);
    const std::uint64_t tried = search.improve(recipes, score, 4000, -kInfinity, never);
    CHECK(tried <= 4000);
    CHECK_NEAR(score.value, best, 1e-9 * (1.0 + std::fabs(best)));
    CHECK_NEAR(search.score(recipes[0]).value, score.value, 1e-9 * (1.0 + std::fabs(best)));
  });
}

TEST(a_limit_ends_a_candidate) {
  FlowTable table;
  for (int j = 0; j < 3; ++j) {
    table.add_flow(0.0, 1.0, 9.0);
    table.add_job(2.0, 1);
  }
  const FlowProblem problem = table.problem(1);
  const Penalties penalties = table.penalties(Kind::kCompletion);
  FlowChains chains;
  chains.build(problem);
  FlowSearch search;
  search.begin(problem, chains, penalties, Aggregate::kSum, std::vector<double>(3, 2.0));
  const FlowRecipe recipe{FlowScheduler::kList, {0, 1, 2}, {}, {}};
  CHECK_EQUAL(search.score(recipe).value, 12.0);
  CHECK_EQUAL(search.score(recipe, {11.0, 0.0}).value, kInfinity);
}

TEST(ranks) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(2.0, 1);
  table.add_job(6.0, 1);
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(3.0, 1);
  const FlowProblem problem = table.problem(2);
  const Penalties penalties = table.penalties(Kind::kCompletion);
  FlowChains chains;
  chains.build(problem);
  FlowSearch search;
  search.begin(problem, chains, penalties, Aggregate::kSum, std::vector<double>(2, 1.0));
  std::vector<Index> rank(3);
  search.rank_by_order(std::vector<Index>{1, 0}, rank);
  CHECK(rank == (std::vector<Index>{2, 1, 0}));  // longest path first inside a flow
  search.rank_by_due(std::vector<double>{9.0, 5.0}, rank);
  CHECK(rank == (std::vector<Index>{2, 1, 0}));  // latest starts 7, 3 and 2
}

}  // namespace test_flow_search
}  // namespace malleable::check
