// List schedules: free slots go to ready jobs by rank.
#include <numeric>

#include "flow_instances.hpp"
#include "malleable/kernel/ready_list.hpp"

namespace malleable::check {
namespace test_ready_list {

// From event to event, all jobs looked at every time.
std::vector<double> slowly(const FlowTable& table, const FlowProblem& problem,
                           const std::vector<Index>& rank) {
  const std::size_t n = problem.jobs();
  std::vector<double> left = problem.work, end(n, -1.0);
  std::vector<Index> by_rank(n);
  for (std::size_t i = 0; i < n; ++i) by_rank[rank[i]] = static_cast<Index>(i);
  double time = 0.0;
  for (;;) {
    for (bool any = true; any;) {  // jobs without work end as soon as they are ready
      any = false;
      for (const Index i : problem.topological) {
        if (end[i] >= 0.0 || left[i] > 0.0 || problem.release[problem.flow[i]] > time) continue;
        bool ready = true;
        for (auto e = table.parent_offset[i]; e < table.parent_offset[i + 1]; ++e) {
          ready &= end[static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)])] >= 0.0;
        }
        if (ready) {
          end[i] = time;
          any = true;
        }
      }
    }
    double slots = problem.slots, next = kInfinity;
    std::vector<double> rate(n, 0.0);
    for (const Index i : by_rank) {
      if (end[i] >= 0.0) continue;
      const double release = problem.release[problem.flow[i]];
      if (release > time) {
        next = std::min(next, release);
        continue;
      }
      bool ready = left[i] > 0.0;
      for (auto e = table.parent_offset[i]; e < table.parent_offset[i + 1]; ++e) {
        ready &= end[static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)])] >= 0.0;
      }
      if (!ready) continue;
      rate[i] = std::min(slots, problem.high[i]);
      slots -= rate[i];
      if (rate[i] > 0.0) next = std::min(next, time + left[i] / rate[i]);
    }
    if (next == kInfinity) return end;
    for (std::size_t i = 0; i < n; ++i) {
      if (rate[i] == 0.0) continue;
      left[i] -= rate[i] * (next - time);
      if (left[i] <= 1e-11) {
        left[i] = 0.0;
        end[i] = next;
      }
    }
    time = next;
  }
}

TEST(list_by_rank) {
  ReadyList list;
  trials(1, 800, [&](Random& random) {
    const FlowTable table = random_flows(random, 6, 7, true);
    const FlowProblem problem = table.problem(integer(random, 1, 9));
    std::vector<Index> rank(problem.jobs());
    std::iota(rank.begin(), rank.end(), Index{0});
    for (std::size_t k = rank.size(); k > 1; --k) std::swap(rank[k - 1], rank[random() % k]);
    std::vector<double> end(problem.jobs(), -1.0), flow_end(problem.flows(), -1.0);
    Pieces pieces;
    double latest = 0.0;
    CHECK(list.run(
        problem, rank, end,
        [&](Index j, double t) {
          CHECK(t >= latest);
          latest = flow_end[j] = t;
          return true;
        },
        &pieces));
    const auto expected = slowly(table, problem, rank);
    for (std::size_t i = 0; i < end.size(); ++i) {
      CHECK_NEAR(end[i], expected[i], 1e-8 * (1.0 + expected[i]));
    }
    check_pieces(table, problem, pieces, end);
    for (std::size_t j = 0; j < flow_end.size(); ++j) {
      double last = -1.0;
      for (std::size_t i = problem.job_offset[j]; i < problem.job_offset[j + 1]; ++i) {
        last = std::max(last, end[i]);
      }
      if (problem.volume[j] > 0.0) CHECK_EQUAL(flow_end[j], last);
    }
  });
}

}  // namespace test_ready_list
}  // namespace malleable::check
