// Local search over keys of jobs, by which a list schedule serves them.
#include <numeric>

#include "flow_instances.hpp"
#include "malleable/kernel/flow_bound.hpp"
#include "malleable/kernel/key_search.hpp"

namespace malleable::check {
namespace test_key_search {

const std::function<bool()> kNever = [] { return false; };

TEST(deadlines_that_a_list_meets_are_met) {
  KeySearch keys;
  int met = 0;
  trials(1, 150, [&](Random& random) {
    const FlowTable table = random_flows(random, 5, 4);
    const FlowProblem problem = table.problem(integer(random, 1, 6));
    if (problem.jobs() == 0) return;
    // The deadlines that some random list just meets.
    std::vector<Index> rank(problem.jobs());
    std::iota(rank.begin(), rank.end(), Index{0});
    for (std::size_t k = rank.size(); k > 1; --k) std::swap(rank[k - 1], rank[random() % k]);
    std::vector<double> due(problem.flows(), kInfinity), end(problem.jobs());
    const auto note = [&](Index j, double t) {
      due[j] = t;
      return true;
    };
    ReadyList().run(problem, rank, end, note);
    keys.begin(problem);
    std::vector<double> key;
    keys.keys_by_due(due, key);
    std::uint64_t effort = 3000;
    const bool found = keys.meet_deadlines(due, key, effort, kNever);
    met += found ? 1 : 0;
    CHECK(effort <= 3000);
    if (!found) return;
    // Its answer is true.
    std::vector<Index> order(problem.jobs());
    KeySort().sort(key, order);
    for (std::size_t k = 0; k < order.size(); ++k) rank[order[k]] = static_cast<Index>(k);
    ReadyList().run(problem, rank, end, [&](Index j, double t) {
      CHECK(t <= due[j]);
      return true;
    });
  });
  CHECK(met > 20);
}

TEST(deadlines_that_nobody_can_meet_are_not) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(6.0, 2);
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(6.0, 2);
  const FlowProblem problem = table.problem(2);
  KeySearch keys;
  keys.begin(problem);
  std::vector<double> key;
  keys.keys_by_due(std::vector<double>{5.0, 5.0}, key);
  std::uint64_t effort = 200;
  CHECK(!keys.meet_deadlines(std::vector<double>{5.0, 5.0}, key, effort, kNever));
  CHECK_EQUAL(effort, std::uint64_t{0});
}

TEST(steps_never_make_a_recipe_worse) {
  KeySearch keys;
  trials(2, 150, [&](Random& random) {
    const FlowTable table = random_flows(random, 6, 5, true);
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
    FlowRecipe recipe{FlowScheduler::kList, {}, {}, {}};
    recipe.order.resize(problem.flows());
    std::iota(recipe.order.begin(), recipe.order.end(), Index{0});
    const Score list = search.score(recipe);
    // The same list by keys.
    keys.begin(problem);
    std::vector<Index> rank(problem.jobs());
    search.rank_by_order(recipe.order, rank);
    keys.keys_by_rank(rank, recipe.key);
    recipe.scheduler = FlowScheduler::kKeys;
    Score score = search.score(recipe);
    CHECK_EQUAL(score.value, list.value);
    std::uint64_t effort = 300;
    keys.improve(search, recipe, score, effort, -kInfinity, kNever);
    CHECK(score.value <= list.value + 1e-9 * std::fabs(list.value));
    CHECK_EQUAL(search.score(recipe).value, score.value);
  });
}

}  // namespace test_key_search
}  // namespace malleable::check
