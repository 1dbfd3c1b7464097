// Speed-ups s^p that an epoch corrects by the work that jobs did.
#include <cmath>
#include <utility>

#include "instances.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/epoch/learnt_powers.hpp"

namespace malleable::check {
namespace test_epoch_learnt_powers {

// Jobs of work 100 on four slots each, which state p = 0.9.
struct Loop {
  Scene at;
  LearntPowers powers;

  explicit Loop(std::size_t jobs) {
    at.slots = 64;
    for (std::size_t k = 0; k < jobs; ++k) add();
    decide(0.0);
  }
  void add() {
    const SpeedupColumns speedup = [] {
      SpeedupColumns made;
      made.add(0.9, {});
      return made;
    }();
    Table table;
    table.add(100.0, 0, 4);
    JobsView jobs = table.view();
    jobs.speedup = speedup.view();
    at.jobs.append(jobs, {}, Kind::kResponse, 0.0);
    powers.come(at.jobs, 1);
    at.grants.grow(at.jobs.rows());
  }
  void decide(double now, std::int64_t slots = 4) {
    decide_each(now, [&](std::size_t) { return slots; });
  }
  template <typename Slots>
  void decide_each(double now, const Slots& slots) {
    powers.observe(at, now, [&](std::size_t row, double p) { at.jobs.set_power(row, p); });
    at.now = now;
    at.grants.begin();
    at.grants.give_all(slots);
    at.grants.end([&](Index row, std::int64_t before) { powers.moved(at, row, before); });
    powers.decided(at);
  }
  void work(std::size_t row, double left) {
    JobTable::Changes changes;
    changes.work = {&left, 1};
    const double before = at.jobs.work[row];
    at.jobs.change(row, changes, 0);
    powers.worked(at.jobs, row, before);
  }
  double p(std::size_t row) const { return at.jobs.exponent[row]; }
};

TEST(two_rates_that_agree_count) {
  Loop loop(2);
  loop.at.period = 10.0;
  loop.work(0, 80.0);  // 20 in 10 s on 4 slots: p = 0.5
  loop.decide(10.0);
  CHECK_EQUAL(loop.p(0), 0.9);
  loop.work(0, 60.0);
  loop.decide(20.0);
  CHECK_NEAR(loop.p(0), 0.9 - 0.4 * 20.0 / 25.0, 1e-12);
  CHECK_EQUAL(loop.p(1), 0.9);
}

TEST(work_that_falls_as_stated_changes_no_bit) {
  Loop loop(5);
  double left = 100.0;
  for (int step = 1; step < 9; ++step) {
    left -= 3.0 * std::pow(4.0, 0.9);
    for (std::size_t r = 0; r < 5; ++r) loop.work(r, left);
    loop.decide(3.0 * step);
    for (std::size_t r = 0; r < 5; ++r) CHECK_EQUAL(loop.p(r), 0.9);
  }
}

TEST(what_cannot_be_told_is_ignored) {
  Loop loop(1);
  loop.work(0, 60.0);  // a correction that could be a rate, and then what was stated
  loop.decide(10.0);
  loop.work(0, 60.0 - std::pow(4.0, 0.9));
  loop.decide(11.0);
  CHECK_EQUAL(loop.p(0), 0.9);
  for (const double left : {58.0, 57.5, 20.0, 90.0, 89.9, 89.8}) {  // too slow, too fast, more
    loop.work(0, left);
    loop.decide(loop.at.now + 1.0);
    CHECK_EQUAL(loop.p(0), 0.9);
  }
  loop.decide(loop.at.now + 1.0, 8);  // other slots before the work is told
  for (const double left : {86.0, 84.0}) {
    loop.decide(loop.at.now + 1.0, 4);
    loop.work(0, left);
    loop.decide(loop.at.now + 1.0, 8);
    CHECK_EQUAL(loop.p(0), 0.9);
  }
}

TEST(jobs_that_come_follow_those_seen) {
  Loop loop(6);
  for (int step = 1; step < 4; ++step) {
    for (std::size_t r = 0; r < 5; ++r) loop.work(r, 100.0 - 20.0 * step);
    loop.decide(10.0 * step);
  }
  CHECK_AT_MOST(loop.p(5), 0.7, 0.0);  // not seen
  loop.add();
  CHECK_NEAR(loop.p(6), loop.p(5), 1e-12);
  loop.powers.told(5);
  State out;
  out(loop.powers);
  LearntPowers copy;
  const std::string bytes = out.take();
  State in(bytes);
  in(copy);
  State again;
  again(copy);
  CHECK(again.take() == bytes);
}

// Work left that is a guess gives rates that no job can have: what was learnt is dropped.
TEST(guesses_are_not_learnt_from) {
  Loop loop(4);
  for (int step = 1; step < 4; ++step) {
    for (std::size_t r = 0; r < 4; ++r) loop.work(r, 100.0 - 15.0 * step);
    loop.decide(10.0 * step);
  }
  CHECK_AT_MOST(loop.p(0), 0.7, 0.0);
  for (int step = 1; step < 4; ++step) {
    for (std::size_t r = 0; r < 4; ++r) loop.work(r, 55.0 + step);
    loop.decide(30.0 + step);
  }
  for (std::size_t r = 0; r < 4; ++r) CHECK_EQUAL(loop.p(r), 0.9);
}

// Job r has 2^(r % 6 + 1) slots. All estimates may be twice the work, and then so are all rates.
TEST(guesses_follow_jobs_that_ended) {
  for (const double times : {1.0, 2.0}) {
    Loop loop(24);
    const auto wide = [](std::size_t row) { return std::int64_t{2} << (row % 6); };
    loop.decide_each(1.0, wide);
    for (std::size_t r = 0; r < 24; ++r) {
      const double did = times * 6.0 * std::sqrt(static_cast<double>(wide(r)));
      loop.work(r, 100.0 - did);
    }
    loop.decide_each(7.0, wide);
    for (std::size_t r = 0; r < 24; ++r) loop.powers.finish(loop.at.jobs, r);
    loop.decide_each(8.0, wide);
    CHECK_EQUAL(loop.p(0), 0.9);
    for (std::size_t r = 0; r < 24; ++r) loop.work(r, 101.0);
    loop.decide_each(9.0, wide);
    loop.add();
    CHECK_AT_MOST(loop.p(24), 0.8, 0.0);
    CHECK_AT_MOST(0.45, loop.p(24), 0.0);
  }
}

}  // namespace test_epoch_learnt_powers
}  // namespace malleable::check
