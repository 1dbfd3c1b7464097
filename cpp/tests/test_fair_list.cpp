// Fair sharing of flows: all ready jobs have equal slots, up to their maxima.
#include "flow_instances.hpp"
#include "malleable/kernel/fair_list.hpp"
#include "malleable/kernel/water_filling.hpp"

namespace malleable::check {
namespace test_fair_list {

// From event to event: a water-filling again over all ready jobs at every one of them.
std::vector<double> slowly(const FlowTable& table, const FlowProblem& problem) {
  const std::size_t n = problem.jobs();
  std::vector<double> left = problem.work, end(n, -1.0);
  WaterFilling water_filling;
  double time = 0.0;
  for (;;) {
    Problem now;  // the ready jobs alone
    now.slots = problem.slots;
    std::vector<Index> jobs;
    double next = kInfinity;
    for (const Index i : problem.topological) {
      const double release = problem.release[problem.flow[i]];
      if (end[i] >= 0.0) continue;
      if (release > time) {
        next = std::min(next, release);
        continue;
      }
      bool ready = true;
      for (auto e = table.parent_offset[i]; e < table.parent_offset[i + 1]; ++e) {
        ready &= end[static_cast<std::size_t>(table.parent[static_cast<std::size_t>(e)])] >= 0.0;
      }
      if (!ready) continue;
      if (left[i] == 0.0) {
        end[i] = time;
      } else {
        jobs.push_back(i);
      }
    }
    std::sort(jobs.begin(), jobs.end());
    for (const Index i : jobs) {
      now.work.push_back(1.0);
      now.low.push_back(0.0);
      now.high.push_back(problem.high[i]);
    }
    std::vector<double> share(jobs.size());
    water_filling.allocate(now, {}, share);
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      if (share[k] > 0.0) next = std::min(next, time + left[jobs[k]] / share[k]);
    }
    if (next == kInfinity) return end;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      left[jobs[k]] -= share[k] * (next - time);
      if (left[jobs[k]] <= 1e-11) {
        left[jobs[k]] = 0.0;
        end[jobs[k]] = next;
      }
    }
    time = next;
  }
}

void compare(const FlowTable& table, std::int64_t slots) {
  const FlowProblem problem = table.problem(slots);
  std::vector<double> end(problem.jobs(), -1.0), flow_end(problem.flows(), -1.0);
  Pieces pieces;
  FairList().run(problem, end, flow_end, pieces);
  const auto expected = slowly(table, problem);
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
}

TEST(shares_what_is_ready) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(4.0, 3);
  table.add_job(2.0, 3, {0});
  table.add_flow(0.0, 1.0, 9.0);
  table.add_job(4.0, 1);
  const FlowProblem problem = table.problem(3);
  std::vector<double> end(3), flow_end(2);
  Pieces pieces;
  FairList().run(problem, end, flow_end, pieces);
  // Two slots and one; the second flow's job is at its maximum.
  CHECK(end == (std::vector<double>{2.0, 3.0, 4.0}));
  CHECK(flow_end == (std::vector<double>{3.0, 4.0}));
}

TEST(as_a_water_filling_at_every_event) {
  trials(1, 800,
         [&](Random& random) { compare(random_flows(random, 6, 7, true), integer(random, 1, 9)); });
  // Many jobs at once: levels of the water_filling go up and down.
  trials(2, 20, [&](Random& random) {
    FlowTable table = random_flows(random, 60, 8, true);
    table.add_flow(0.0, 1.0, 9.0);
    for (int k = 0; k < 200; ++k) table.add_job(real(random, 0.5, 6.0), integer(random, 1, 7));
    compare(table, integer(random, 20, 400));
  });
}

TEST(more_slots_than_doubles_count) {
  FlowTable table;
  table.add_flow(0.0, 1.0, 9.0);
  const std::int64_t slots = (std::int64_t{1} << 53) - 1;
  for (int k = 0; k < 3; ++k) table.add_job(1e17, slots);
  const FlowProblem problem = table.problem(slots);
  std::vector<double> end(3), flow_end(1);
  Pieces pieces;
  FairList().run(problem, end, flow_end, pieces);
  check_pieces(table, problem, pieces, end);
  for (const double t : end) CHECK_NEAR(t, 3e17 / static_cast<double>(slots), 1e-9);
}

}  // namespace test_fair_list
}  // namespace malleable::check
