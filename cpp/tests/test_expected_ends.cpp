// Expected ends of jobs, from draws of random futures.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/expected_ends.hpp"

namespace malleable::check {
namespace test_expected_ends {

// Tasks whose seconds are well known at any scatter, with samples that make the scatter next to
// `scatter` certain.
LeftPhase of_tasks(double seconds, double variance, double scatter) {
  LeftPhase phase;
  std::size_t best = 0;
  for (std::size_t k = 0; k < kScatters; ++k) {
    phase.mean[k] = {std::log(seconds), variance};
    phase.log[k] = -1e9;
    const auto off = [&](std::size_t of) { return std::fabs(std::log(scatter_at(of) / scatter)); };
    if (off(k) < off(best)) best = k;
  }
  phase.log[best] = 0.0;
  phase.shown = 1e6;
  return phase;
}

LeftPhase known(double seconds, std::int64_t waiting, std::int64_t running = 0, double age = 0.0) {
  LeftPhase phase = of_tasks(seconds, 1e-6, 1e-9);
  phase.age = age;
  phase.running = running;
  phase.waiting = waiting;
  return phase;
}

LeftJob job(const LeftPhase& maps, double key = 0.0, const LeftPhase& reduces = {}) {
  LeftJob one;
  one.phases[0] = maps;
  one.phases[1] = reduces;
  one.key[0] = key;
  return one;
}

EndsRequest on(std::int64_t slots) {
  EndsRequest request;
  request.slots[0] = slots;
  request.generic = true;
  request.jump = 0.0;
  request.now = 100.0;
  return request;
}

void near(const ExpectedEnd& end, double at, double part = 0.05) {
  CHECK_NEAR(end.at, at, part * (at - 100.0));
  CHECK(end.early <= end.at && end.at <= end.late);
}

TEST(known_tasks_end_as_a_list_has_them) {
  // Four slots: the first job's eight tasks of 10 s, then the other one's four of 5 s.
  const std::vector<LeftJob> jobs = {job(known(10.0, 8), 1.0), job(known(5.0, 4), 2.0)};
  auto ends = expected_ends(jobs, on(4));
  near(ends[0], 120.0);
  near(ends[1], 125.0);
  // In the other order.
  std::vector<LeftJob> other = jobs;
  other[1].key[0] = 0.0;
  ends = expected_ends(other, on(4));
  near(ends[1], 105.0);
  near(ends[0], 125.0);
  // Two slots each.
  EndsRequest equal = on(4);
  equal.shared = true;
  ends = expected_ends(jobs, equal);
  near(ends[1], 110.0, 0.1);
  near(ends[0], 130.0, 0.2);
  // At most one slot.
  std::vector<LeftJob> narrow = {job(known(10.0, 8))};
  narrow[0].most = 1;
  near(expected_ends(narrow, on(4))[0], 180.0);
}

TEST(tasks_that_run_take_what_is_left_of_them) {
  const auto ends = expected_ends(std::vector<LeftJob>{job(known(10.0, 0, 4, 4.0))}, on(4));
  CHECK_NEAR(ends[0].at, 106.0, 0.7);
  // No task waits; how old the running ones will be is unknown.
  const auto over = expected_ends(std::vector<LeftJob>{job({})}, on(4));
  CHECK(over[0].at == 100.0 && over[0].late == 100.0);
}

TEST(reduces_wait_for_maps_and_children_for_parents) {
  EndsRequest pools = on(2);
  pools.slots[1] = 1;
  pools.generic = false;
  const auto ends =
      expected_ends(std::vector<LeftJob>{job(known(10.0, 4), 0.0, known(3.0, 2))}, pools);
  near(ends[0], 126.0);
  std::vector<LeftJob> chain = {job(known(10.0, 2), 5.0), job(known(10.0, 2), 1.0)};
  chain[1].parents = {0};
  const auto after = expected_ends(chain, on(2));
  near(after[0], 110.0);
  near(after[1], 120.0);
}

// Four tasks of 10 s that began one after the other: the last one has most left.
TEST(each_task_that_runs_has_an_age) {
  std::vector<LeftJob> jobs{job(known(10.0, 0, 4, 5.0))};
  near(expected_ends(jobs, on(4))[0], 105.0, 0.1);
  jobs[0].phases[0].ages = 4.0 / std::sqrt(3.0);  // 2, 4, 6 and 8 s
  near(expected_ends(jobs, on(4))[0], 108.0, 0.1);
  jobs[0].phases[0].ages = 100.0;
  near(expected_ends(jobs, on(4))[0], 110.0, 0.1);
}

TEST(tasks_beside_each_other_slow_down) {
  std::vector<LeftJob> slow{job(known(10.0, 4))};
  slow[0].speedup = 0.5;
  near(expected_ends(slow, on(4))[0], 118.0, 0.15);
  // Running tasks, too: of 10 s alone 4 are left, beside three others.
  std::vector<LeftJob> running{job(known(10.0, 0, 4, 6.0))};
  running[0].speedup = 0.5;
  near(expected_ends(running, on(4))[0], 108.0, 0.1);
}

TEST(no_slot_no_end) {
  const auto ends = expected_ends(std::vector<LeftJob>{job(known(10.0, 4))}, on(0));
  CHECK(ends[0].early == kInfinity && ends[0].at == kInfinity && ends[0].late == kInfinity);
  CHECK(expected_ends({}, on(4)).empty());
}

TEST(the_less_is_known_the_wider) {
  double before = 0.0;
  for (const double variance : {1e-4, 0.1, 1.0, 4.0}) {
    LeftPhase phase = of_tasks(10.0, variance, 0.2);
    phase.waiting = 40;
    const auto ends = expected_ends(std::vector<LeftJob>{job(phase)}, on(4));
    const double width = ends[0].late - ends[0].early;
    CHECK(width > before);
    before = width;
  }
}

TEST(many_tasks_end_as_their_sum_does) {
  // Pieces of many tasks, and one by one at the end: a fifth of the scatter of one task's seconds
  // is left on average of so many.
  LeftPhase many = of_tasks(10.0, 1e-6, scatter_at(5));
  many.waiting = 40000;
  const auto one = expected_ends(std::vector<LeftJob>{job(many)}, on(4));
  near(one[0], 100.0 + 100000.0 * std::exp(0.5 * scatter_at(5) * scatter_at(5)), 0.01);
  CHECK(one[0].late - one[0].early < 2000.0);
  // In order, equally, and by shares of which the second job has three times as much.
  std::vector<LeftJob> jobs = {job(known(10.0, 20000), 1.0), job(known(10.0, 20000), 2.0)};
  auto ends = expected_ends(jobs, on(4));
  near(ends[0], 100.0 + 50000.0, 0.01);
  near(ends[1], 100.0 + 100000.0, 0.01);
  EndsRequest shared = on(8);
  shared.shared = true;
  jobs[1].share = std::log(3.0);
  ends = expected_ends(jobs, shared);
  near(ends[1], 100.0 + 20000.0 * 10.0 / 6.0, 0.05);
  near(ends[0], 100.0 + 50000.0, 0.05);
}

TEST(the_same_seed_draws_the_same) {
  const LeftPhase phase{.mean = {1.0, 1.0}, .waiting = 30};
  EndsRequest request = on(3);
  const std::vector<LeftJob> jobs = {job(phase), job(phase, 1.0)};
  const auto one = expected_ends(jobs, request), two = expected_ends(jobs, request);
  for (std::size_t j = 0; j < 2; ++j) CHECK(one[j].at == two[j].at && one[j].late == two[j].late);
  request.seed = 1;
  CHECK(expected_ends(jobs, request)[0].at != one[0].at);
}

}  // namespace test_expected_ends
}  // namespace malleable::check
