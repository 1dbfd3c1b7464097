// Changes of slots that cost time are made where they gain more.
#include <vector>

#include "check.hpp"
#include "instances.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/epoch/costly_moves.hpp"
#include "malleable/sim/periodic_loop.hpp"

namespace malleable::check {
namespace test_epoch_costly_moves {

Table two(double first, double second, double restart) {
  Table jobs;
  jobs.add(first, 0, 4);
  jobs.add(second, 0, 4);
  jobs.restart.any = {restart, restart};
  return jobs;
}
const std::vector<std::int64_t> kFirst{0}, kSecond{1};

// The slots of a long job that runs, once a short one has come.
std::int64_t kept(double restart) {
  const Jobs jobs = two(400.0, 300.0, restart).jobs();
  Epoch epoch(4, {});
  epoch.add(jobs.take(kFirst));
  epoch.decide(0.0);
  epoch.add(jobs.take(kSecond));
  epoch.decide(1.0);
  CHECK_EQUAL(epoch.slots_of(0) + epoch.slots_of(1), std::int64_t{4});
  return epoch.slots_of(0);
}

TEST(a_move_that_costs_more_than_it_gains_is_not_made) {
  CHECK_EQUAL(kept(0.0), std::int64_t{0});
  CHECK_EQUAL(kept(0.5), std::int64_t{0});
  CHECK_EQUAL(kept(60.0), std::int64_t{4});
}

TEST(a_job_keeps_what_it_may_keep_only) {
  Epoch epoch(4, {});
  epoch.add(two(400.0, 300.0, 1e6).jobs().take(kFirst));
  epoch.decide(0.0);
  CHECK_EQUAL(epoch.slots_of(0), std::int64_t{4});
  const std::vector<std::int64_t> id{0}, most{2};
  Epoch::Changes less;
  less.max_slots = most;
  epoch.update(id, less);
  epoch.decide(1.0);
  CHECK_EQUAL(epoch.slots_of(0), std::int64_t{2});
  epoch.decide(2.0, 1);
  CHECK_EQUAL(epoch.slots_of(0), std::int64_t{1});
}

// Random tables by all policies: limits hold, and all jobs end.
TEST(loops_with_costs_end) {
  for (int round = 0; round < 60; ++round) {
    Random random(static_cast<std::uint64_t>(round) + 50);
    Table table = random_table(random, 12, {.slots = 6});
    RestartColumns costs;
    for (std::size_t j = 0; j < table.work.size(); ++j) {
      costs.grow.push_back(real(random, 0.0, 5.0));
      costs.shrink.push_back(chance(random, 0.5) ? 0.0 : real(random, 0.0, 5.0));
      costs.slot.push_back(real(random, 0.0, 1.0));
    }
    EpochOptions options;
    options.policy = chance(random, 0.5) ? EpochPolicy::kFlex : EpochPolicy::kFair;
    options.min_mode = chance(random, 0.3) ? MinMode::kGang : MinMode::kGuarantee;
    std::fill(table.arrival.begin(), table.arrival.end(), 0.0);
    JobsView jobs = table.view();
    jobs.restart = costs.view();
    const double period = chance(random, 0.5) ? 0.0 : real(random, 0.5, 4.0);
    PeriodicLoop loop(Epoch(6, options), {.period = period, .pieces = true});
    loop.feed(jobs, {}, {});
    CHECK(loop.advance(kInfinity));
    const Pieces& p = loop.plan().pieces;
    std::vector<double> done(jobs.size(), 0.0);
    for (std::size_t k = 0; k < p.size(); ++k) {
      const auto j = static_cast<std::size_t>(p.job[k]);
      CHECK_AT_MOST(p.slots[k], std::min<std::int64_t>(6, table.max_slots[j]), 0);
      done[j] += static_cast<double>(p.slots[k]) * std::max(0.0, p.end[k] - p.works[k]);
    }
    for (std::size_t j = 0; j < done.size(); ++j) {
      if (loop.plan().completion[j] < kInfinity) {
        CHECK_NEAR(done[j], table.work[j], 1e-6 * std::max(1.0, table.work[j]));
      }
    }
  }
}

TEST(what_costs_do_not_go_with) {
  const Jobs jobs = two(4.0, 3.0, 1.0).jobs();
  EpochOptions telling;
  telling.predictable = 0.05;
  Epoch promised(4, telling);
  CHECK_THROWS(promised.add(jobs), "restart: goes without predictable");
}

}  // namespace test_epoch_costly_moves
}  // namespace malleable::check
