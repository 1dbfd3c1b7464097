// Speed-ups learnt by program, alone and in an epoch's loop.
#include <cmath>

#include "instances.hpp"
#include "malleable/model/state.hpp"
#include "malleable/policy/epoch.hpp"
#include "malleable/policy/program_rates.hpp"

namespace malleable::check {
namespace test_program_rates {

TEST(before_anything_is_seen) {
  const Doubles rates = ProgramRates().rates(3, 5);
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK_NEAR(rates[k], std::pow(static_cast<double>(k) + 1.0, 0.8), 1e-12);
  }
  CHECK_EQUAL(ProgramRates().rates(3, 1 << 20).size(), std::size_t{1024});
}

TEST(what_was_seen_and_what_lies_between) {
  ProgramRates programs;
  CHECK(programs.observe(7, 4, 30.0, 10.0));
  CHECK(!programs.observe(7, 4, 3.0, 1.0));  // the same again
  CHECK(!programs.observe(7, 1, 3.0, 1.0));  // one slot does 1
  CHECK(!programs.observe(7, 2, 0.0, 1.0));  // nothing done
  CHECK(programs.observe(7, 8, 40.0, 10.0));
  const Doubles rates = programs.rates(7, 16);
  CHECK_NEAR(rates[0], 1.0, 0.0);
  CHECK_NEAR(rates[1], std::sqrt(3.0), 1e-12);
  CHECK_NEAR(rates[3], 3.0, 1e-12);
  CHECK_NEAR(rates[7], 4.0, 1e-12);
  const double power = std::log(4.0) / std::log(8.0);
  CHECK_NEAR(rates[15], 4.0 * std::pow(2.0, power + (0.8 - power) / 3.0), 1e-12);
  CHECK_NEAR(programs.rates(8, 2)[1], std::pow(2.0, 0.8), 1e-12);  // another program
  // Counts that differ for one of them: all work over all seconds. Small steps add up.
  bool news = false;
  for (int k = 0; k < 100; ++k) news |= programs.observe(7, 4, 36.0, 10.0);
  CHECK(news);
  CHECK_NEAR(programs.rates(7, 4)[3], 3633.0 / 1011.0, 1e-12);
}

TEST(rates_never_fall) {
  for (int round = 0; round < 50; ++round) {
    Random random(static_cast<std::uint64_t>(round));
    ProgramRates programs;
    for (int k = 0; k < 8; ++k) {
      programs.observe(0, integer(random, 2, 20), real(random, 0.1, 40.0), real(random, 1.0, 3.0));
    }
    const Doubles rates = programs.rates(0, 24);
    CHECK_EQUAL(rates[0], 1.0);
    for (std::size_t k = 1; k < rates.size(); ++k) CHECK_AT_MOST(rates[k - 1], rates[k], 0.0);
  }
}

// Four slots do as much as one: after this was seen once, no job gets four again.
TEST(an_epoch_learns_from_what_is_left) {
  Epoch epoch(4, {});
  Table table;
  table.add(100.0, 0, 4);
  table.add(100.0, 0, 4);
  const std::vector<std::int64_t> both{0, 0};
  const std::int64_t first = epoch.add(table.view(), {}, both);
  double left[2] = {100.0, 100.0};
  for (int step = 0; step < 8; ++step) {
    epoch.decide(step);
    for (std::size_t k = 0; k < 2; ++k) left[k] -= epoch.given()[k] > 0 ? 1.0 : 0.0;
    const std::int64_t ids[2] = {first, first + 1};
    Epoch::Changes changes;
    changes.work = left;
    epoch.update(ids, changes);
    const auto bytes = save_state("Epoch", epoch);
    Epoch copy(1, {});
    load_state("Epoch", bytes, copy);
    CHECK(copy.rates_of(0, 4) == epoch.rates_of(0, 4));
  }
  epoch.decide(8.0);
  CHECK_AT_MOST(epoch.rates_of(0, 4)[1], 1.0, 0.0);
  CHECK_AT_MOST(1, epoch.given()[0], 0);
  CHECK_AT_MOST(1, epoch.given()[1], 0);
}

TEST(wrong_programs_change_nothing) {
  Epoch epoch(4, {});
  Table table;
  table.add(3.0);
  const std::vector<std::int64_t> wrong{-2}, many{1, 2};
  CHECK_THROWS(epoch.add(table.view(), {}, wrong), "program[0] = -2");
  CHECK_THROWS(epoch.add(table.view(), {}, many), "program has 2");
  CHECK_EQUAL(epoch.size(), std::size_t{0});
}

}  // namespace test_program_rates
}  // namespace malleable::check
