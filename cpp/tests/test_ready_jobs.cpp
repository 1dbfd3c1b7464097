// Jobs of flows that may start, because all that they wait for have ended.
#include <algorithm>
#include <vector>

#include "flow_instances.hpp"
#include "malleable/kernel/ready_jobs.hpp"

namespace malleable::check {
namespace test_ready_jobs {

// Since when a job could start, by the definition; infinite while something is open.
double ready_since(const FlowTable& table, const FlowProblem& problem, std::size_t job,
                   const std::vector<double>& end) {
  double since = problem.release[problem.flow[job]];
  for (auto e = table.parent_offset[job]; e < table.parent_offset[job + 1]; ++e) {
    since =
        std::max(since, end[static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)])]);
  }
  return since;
}

// Jobs end in any order, one after the other, and flows come meanwhile.
TEST(jobs_enter_when_their_flow_came_and_their_parents_ended) {
  trials(1, 400, [](Random& random) {
    const FlowTable table = random_flows(random, 5, 8, true);
    const FlowProblem problem = table.problem(5);
    const std::size_t n = problem.jobs();
    std::vector<double> end(n, kInfinity);
    std::vector<int> entered(n, 0), ended(problem.flows(), 0);
    std::vector<Index> open;
    ReadyJobs ready;
    ready.begin(problem);
    double time = 0.0;
    const auto look = [&] {
      for (const Index job : ready.entering) {
        CHECK_EQUAL(ready_since(table, problem, job, end), time);
        CHECK(problem.work[job] > 0.0);
        CHECK_EQUAL(++entered[job], 1);
        open.push_back(job);
      }
      for (const Index flow : ready.ended_flows) {
        CHECK_EQUAL(++ended[flow], 1);
        for (std::size_t i = problem.job_offset[flow]; i < problem.job_offset[flow + 1]; ++i) {
          CHECK(end[i] <= time);
        }
      }
      ready.entering.clear();
      ready.ended_flows.clear();
    };
    while (!open.empty() || ready.next_arrival() < kInfinity) {
      const double next = ready.next_arrival();
      if (open.empty() || (next < kInfinity && chance(random, 0.5))) {
        time = std::max(time, next);
        ready.arrive(time, end);
        look();
        // A flow that came before, while others ended, would have been noticed then.
        continue;
      }
      const double later = time + real(random, 0.1, 2.0);
      if (next <= later) {
        time = next;
        ready.arrive(time, end);
        look();
        continue;
      }
      time = later;
      const std::size_t k = random() % open.size();
      const Index job = open[k];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
      ready.finish(job, time, end);
      CHECK_EQUAL(end[job], time);
      look();
    }
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(end[i] < kInfinity);
      CHECK_EQUAL(entered[i], problem.work[i] > 0.0 ? 1 : 0);
      if (problem.work[i] == 0.0) CHECK_EQUAL(end[i], ready_since(table, problem, i, end));
    }
    for (std::size_t j = 0; j < problem.flows(); ++j) {
      CHECK_EQUAL(ended[j], problem.volume[j] > 0.0 ? 1 : 0);
    }
  });
}

}  // namespace test_ready_jobs
}  // namespace malleable::check
