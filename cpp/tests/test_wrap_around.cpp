// Stage 3 of FlowFlex: slots of pseudo-jobs become slots of their jobs.
#include <numeric>

#include "flow_instances.hpp"
#include "malleable/kernel/wrap_around.hpp"

namespace malleable::check {
namespace test_wrap_around {

TEST(half_of_three_jobs_slots) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  for (int i = 0; i < 3; ++i) table.add_job(2.0, 1);
  const FlowProblem problem = table.problem(2);
  FlowChains chains;
  chains.build(problem);
  ChainPieces pieces;
  DeadlineGreedy().run(
      problem, chains, std::vector<Index>{0}, [](Index, double) { return true; }, &pieces);
  std::vector<double> completion(3, 0.0);
  Pieces out;
  WrapAround().run(problem, chains, pieces, out);
  // Three jobs of 2 s on two slots: 3 s, each in one row or wrapped around.
  for (std::size_t k = 0; k < out.size(); ++k) {
    double& end = completion[static_cast<std::size_t>(out.job[k])];
    end = std::max(end, out.end[k]);
  }
  CHECK(*std::max_element(completion.begin(), completion.end()) == 3.0);
  check_pieces(table, problem, out, completion);
  CHECK_EQUAL(out.size(), std::size_t{4});  // only the second job is cut
}

TEST(jobs_keep_all_limits_without_tolerance) {
  trials(1, 800, [](Random& random) {
    const FlowTable table = random_flows(random, 6, 8, true);
    const FlowProblem problem = table.problem(integer(random, 1, 9), real(random, 0.0, 3.0));
    FlowChains chains;
    chains.build(problem);
    std::vector<Index> order(problem.flows());
    std::iota(order.begin(), order.end(), Index{0});
    std::vector<double> end(problem.flows(), 0.0);
    ChainPieces pieces;
    DeadlineGreedy().run(
        problem, chains, order,
        [&](Index j, double t) {
          end[j] = t;
          return true;
        },
        &pieces);
    Pieces out;
    WrapAround().run(problem, chains, pieces, out);
    std::vector<double> absolute(problem.jobs(), problem.now), last(problem.flows(), 0.0);
    for (std::size_t k = 0; k < out.size(); ++k) {
      auto& until = absolute[static_cast<std::size_t>(out.job[k])];
      until = std::max(until, out.end[k]);
    }
    for (std::size_t i = 0; i < absolute.size(); ++i) {
      last[problem.flow[i]] = std::max(last[problem.flow[i]], absolute[i] - problem.now);
    }
    check_pieces(table, problem, out, absolute);
    for (std::size_t j = 0; j < end.size(); ++j) {
      if (problem.volume[j] > 0.0) CHECK_NEAR(last[j], end[j], 1e-9 * (1.0 + end[j]));
    }
  });
}

}  // namespace test_wrap_around
}  // namespace malleable::check
