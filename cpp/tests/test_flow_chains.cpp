// Stage 1 of FlowFlex: a flow as a chain of pseudo-jobs, parts in which the same jobs run.
#include "flow_instances.hpp"
#include "malleable/kernel/flow_chains.hpp"

namespace malleable::check {
namespace test_flow_chains {

TEST(two_parallel_jobs_and_a_third) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(4.0, 2);          // 0 to 2
  table.add_job(3.0, 3);          // 0 to 1
  table.add_job(5.0, 5, {0, 1});  // 2 to 3
  FlowChains chains;
  chains.build(table.problem(6));
  CHECK(chains.length == (std::vector<double>{1.0, 1.0, 1.0}));
  CHECK(chains.height == (std::vector<double>{5.0, 2.0, 5.0}));
  CHECK(chains.first == (std::vector<std::size_t>{0, 0, 2}));
  CHECK(chains.end == (std::vector<std::size_t>{2, 1, 3}));
}

TEST(load_path_and_jobs_stay) {
  trials(1, 400, [](Random& random) {
    const FlowTable table = random_flows(random, 4, 8);
    const FlowProblem problem = table.problem(integer(random, 1, 9));
    FlowChains chains;
    chains.build(problem);
    std::vector<double> height(chains.height.size(), 0.0);
    for (std::size_t i = 0; i < problem.jobs(); ++i) {
      double work = 0.0;
      for (std::size_t k = chains.first[i]; k < chains.end[i]; ++k) {
        work += chains.length[k] * problem.high[i];
        height[k] += problem.high[i];
      }
      CHECK_NEAR(work, problem.work[i], 1e-12 * (1.0 + 20.0 * problem.work[i]));
    }
    CHECK(height == chains.height);
    for (std::size_t j = 0; j < problem.flows(); ++j) {
      double work = 0.0, path = 0.0;
      for (std::size_t k = chains.offset[j]; k < chains.offset[j + 1]; ++k) {
        work += chains.work(k);
        path += chains.length[k];
        CHECK(chains.length[k] > 0.0 && chains.height[k] > 0.0);
      }
      CHECK_NEAR(work, problem.volume[j], 1e-11 * (1.0 + problem.volume[j]));
      CHECK_NEAR(path, problem.path[j], 1e-12 * (1.0 + problem.path[j]));
    }
  });
}

}  // namespace test_flow_chains
}  // namespace malleable::check
