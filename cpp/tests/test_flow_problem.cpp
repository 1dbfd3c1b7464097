// The flows of one decision as columns: longest paths (head, tail), volume, time alone.
#include "flow_instances.hpp"
#include "malleable/model/flow_problem.hpp"

namespace malleable::check {
namespace test_flow_problem {

TEST(heads_tails_and_floors) {
  trials(1, 400, [](Random& random) {
    const FlowTable table = random_flows(random, 4, 7, true);
    const std::int64_t slots = integer(random, 1, 9);
    const double now = real(random, 0.0, 4.0);
    const FlowProblem problem = table.problem(slots, now);
    const auto volume = table.volume();
    std::vector<std::size_t> place(problem.jobs());
    for (std::size_t k = 0; k < place.size(); ++k) place[problem.topological[k]] = k;
    for (std::size_t j = 0; j < problem.flows(); ++j) {
      CHECK_NEAR(problem.volume[j], volume[j], 1e-12 * (1.0 + volume[j]));
      CHECK_NEAR(problem.release[j], std::max(0.0, table.arrival[j] - now), 1e-14);
      CHECK(now + problem.release[j] >= table.arrival[j]);
      double path = 0.0;
      for (std::size_t i = problem.job_offset[j]; i < problem.job_offset[j + 1]; ++i) {
        const double length = problem.work[i] / problem.high[i];
        path = std::max(path, problem.head[i] + length + problem.tail[i]);
        CHECK_EQUAL(problem.high[i], static_cast<double>(std::min(table.max_slots[i], slots)));
        double head = 0.0, tail = 0.0;
        for (auto e = table.parent_offset[i]; e < table.parent_offset[i + 1]; ++e) {
          const auto p = static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)]);
          head = std::max(head, problem.head[p] + problem.work[p] / problem.high[p]);
          CHECK(place[p] < place[i]);
        }
        for (std::size_t e = problem.child_offset[i]; e < problem.child_offset[i + 1]; ++e) {
          const Index c = problem.child[e];
          tail = std::max(tail, problem.tail[c] + problem.work[c] / problem.high[c]);
        }
        CHECK_EQUAL(problem.head[i], head);
        CHECK_EQUAL(problem.tail[i], tail);
      }
      CHECK_NEAR(problem.path[j], path, 1e-12 * (1.0 + path));
      CHECK_EQUAL(problem.alone[j], std::max(problem.path[j], problem.volume[j] / problem.slots));
    }
  });
}

}  // namespace test_flow_problem
}  // namespace malleable::check
