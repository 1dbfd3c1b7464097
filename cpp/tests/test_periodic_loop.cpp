// The loop that asks an epoch at each call, and the schedules that follow.
#include <stdexcept>

#include "instances.hpp"
#include "malleable/sim/periodic_loop.hpp"
#include "malleable/sim/periodic_plan.hpp"

namespace malleable::check {
namespace test_periodic_loop {

PeriodicLoop loop_of(const Table& table, std::int64_t slots, const PeriodicLoopOptions& options,
                     EpochPolicy policy = EpochPolicy::kFair) {
  EpochOptions how;
  how.policy = policy;
  PeriodicLoop loop(Epoch(slots, how), options);
  loop.feed(table.view(), {}, {});
  return loop;
}

// It comes at 1, is seen at 5, ends at 7, and its slots idle until 10.
TEST(slots_wait_for_the_next_call) {
  Table table;
  table.complete(0);
  table.add(6.0, 0, 3, 1.0, kInfinity, 1.0);
  table.original = table.work;
  PeriodicLoop loop = loop_of(table, 4, {.period = 5.0});
  CHECK(!loop.advance(5.0));
  CHECK(loop.plan().completion[0] == kInfinity);
  CHECK(loop.advance(kInfinity));
  CHECK(loop.plan().start[0] == 5.0);
  CHECK_NEAR(loop.plan().completion[0], 7.0, 1e-12);
  CHECK(loop.totals().calls == 1);
  CHECK_NEAR(loop.totals().held, 15.0, 1e-12);
  CHECK_NEAR(loop.totals().idle, 9.0, 1e-12);
}

// Asked at every event, slots that are freed go to jobs that are there.
TEST(without_a_period_it_asks_when_something_happens) {
  Table table;
  table.add(2.0, 0, 4, 1.0, kInfinity, 0.0);
  table.add(6.0, 0, 4, 1.0, kInfinity, 0.0);
  table.add(1.0, 0, 4, 1.0, kInfinity, 0.5);
  PeriodicLoop loop = loop_of(table, 2, {});
  CHECK(loop.advance(kInfinity));
  // One slot each until 0.5; then water_filling with the remainder to lower rows.
  CHECK(loop.totals().idle == 0.0);
  double work = 0.0;
  for (const double w : table.work) work += w;
  CHECK_NEAR(loop.totals().held, work, 1e-9);
}

TEST(a_job_without_work_ends_when_it_comes) {
  Table table;
  table.add(0.0, 0, 2, 1.0, kInfinity, 0.3);
  table.add(2.0, 0, 2, 1.0, kInfinity, 0.4);
  PeriodicLoop loop = loop_of(table, 2, {.period = 1.0});
  CHECK(loop.advance(kInfinity));
  CHECK(loop.plan().completion[0] == 0.3);
  CHECK_NEAR(loop.plan().completion[1], 2.0, 1e-12);
}

// Ten jobs' work comes in each period for four slots, and then nothing comes.
TEST(decisions_that_report_overload_are_counted) {
  Table table;
  for (int j = 0; j < 100; ++j) table.add(10.0, 0, 4, 1.0, kInfinity, static_cast<double>(j));
  PeriodicLoop loop = loop_of(table, 4, {.period = 1.0});
  CHECK(loop.advance(kInfinity));
  CHECK(loop.totals().overloaded > 0);
  CHECK(loop.totals().overloaded < loop.totals().calls);
}

// After an exception of a poll the loop can go on.
TEST(it_goes_on_after_an_interrupt) {
  Table table;
  for (int j = 0; j < 10; ++j) table.add(1e4, 0, 1);
  PeriodicLoop whole = loop_of(table, 3, {.period = 1.0}), cut = loop_of(table, 3, {.period = 1.0});
  bool thrown = false;
  cut.set_poll([&] {
    if (thrown) return;
    thrown = true;
    throw std::runtime_error("enough");
  });
  try {
    cut.advance(kInfinity);
  } catch (const std::runtime_error&) {
  }
  CHECK(thrown);
  CHECK(cut.advance(kInfinity));
  CHECK(whole.advance(kInfinity));
  for (std::size_t j = 0; j < 10; ++j)
    CHECK(cut.plan().completion[j] == whole.plan().completion[j]);
}

TEST(pieces_of_a_plan_are_what_was_held) {
  trials(1, 100, [](Random& random) {
    const std::int64_t slots = integer(random, 1, 8);
    Shape shape;
    shape.slots = slots;
    Table table = random_table(random, static_cast<std::size_t>(integer(random, 1, 9)), shape);
    for (double& arrival : table.arrival) arrival = std::min(arrival, 0.0);
    const Kind kind = Kind::kResponse;
    const Penalties penalties = table.penalties(kind);
    EpochOptions options;
    options.period = std::exp(real(random, -2.0, 2.0));
    const Plan plan =
        plan_periodic(Epoch(slots, options), table.view(), penalties, {&kind, 1}, /*now=*/0.0);
    CHECK(plan.lower_bound <= plan.value);
    Doubles done(table.size(), 0.0);
    for (std::size_t k = 0; k < plan.pieces.size(); ++k) {
      const auto j = static_cast<std::size_t>(plan.pieces.job[k]);
      done[j] +=
          static_cast<double>(plan.pieces.slots[k]) * (plan.pieces.end[k] - plan.pieces.start[k]);
    }
    for (std::size_t j = 0; j < table.size(); ++j) {
      CHECK_NEAR(done[j], table.work[j], 1e-9 * scale_of(table.work[j]));
    }
    CHECK(plan.order.size() == table.size());
  });
}

}  // namespace test_periodic_loop
}  // namespace malleable::check
