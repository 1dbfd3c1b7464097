// Slots that need a restart: how many of them a job should have.
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "malleable/policy/restart_slots.hpp"

namespace malleable::check {
namespace test_restart_slots {

// Eight jobs of 400 tasks of 1 s on 32 slots.
struct Fixture {
  std::vector<double> restart = std::vector<double>(8, 0.0);
  ClusterState state;
  RestartSlots slots;

  Fixture() {
    state.cluster.generic = true;
    state.slots[0] = 32;
    state.phases.resize(16);
    for (Index job = 0; job < 8; ++job) {
      state.present.push_back(job);
      PhaseState& maps = state.phases[2 * job];
      maps.total = maps.waiting = 400;
      maps.estimate = 1.0;
      maps.ready = true;
    }
    state.jobs.restart = restart;
  }
  RestartSlots::Worth of(Index job, double seconds, double p = 1.0, double target = 0.0) {
    restart[job] = seconds;
    slots.note(state, state.present);
    slots.begin(state, 0);
    return slots.of(state, job, 0, p, target);
  }
};

// A slot costs 3 * 8 / 32 = 0.75.
TEST(no_other_number_of_new_slots_costs_less) {
  for (const double p : {1.0, 0.8, 0.5}) {
    for (const double seconds : {1.0, 7.0, 60.0}) {
      Fixture f;
      const auto most = static_cast<double>(f.of(0, seconds, p).most);
      const auto cost = [&](double k) {
        return (1.0 + 0.75 * k) * (seconds + 400.0 * std::pow(k, -p));
      };
      CHECK(cost(most) <= 1.01 * cost(most + 1.0));
      CHECK(most == 1.0 || cost(most) <= 1.01 * cost(most - 1.0));
    }
  }
}

TEST(without_a_restart_all_slots_are_worth_it) {
  Fixture f;
  CHECK_EQUAL(f.of(0, 0.0).most, std::int64_t{400});
  CHECK(!f.slots.any());
  f.of(1, 5.0);
  CHECK(f.slots.any());
  CHECK_EQUAL(f.slots.of(f.state, 0, 0, 1.0, 0.0).most, std::int64_t{400});
  // Others pay for the 32 slots that it takes.
  CHECK_EQUAL(f.slots.of(f.state, 0, 0, 1.0, 0.0).restarts, 32.0 * 5.0 / 8.0);
}

// sqrt(400 / (0.75 * 30)) = 4.2.
TEST(slots_that_are_held_need_no_restart) {
  Fixture f;
  CHECK_EQUAL(f.of(0, 30.0).most, std::int64_t{4});
  CHECK_EQUAL(f.of(0, 30.0).restarts, 4.0 * (30.0 + 30.0 / 8.0));
  f.state.phases[0].running = 10;
  f.state.phases[0].waiting = 390;
  CHECK_EQUAL(f.of(0, 30.0).most, std::int64_t{10});
  CHECK_EQUAL(f.of(0, 30.0).restarts, 0.0);
  // Tasks that ended just now have left their slots free.
  f.state.free[0] = 1;
  CHECK_EQUAL(f.of(0, 30.0, 1.0, 32.0).most, std::int64_t{11});
  f.state.free[0] = 22;
  CHECK_EQUAL(f.of(0, 30.0, 1.0, 32.0).most, std::int64_t{13});
  // Two slots are kept at any price.
  CHECK_EQUAL(f.of(0, 1e6, 1.0, 32.0).most, std::int64_t{2});
}

}  // namespace test_restart_slots
}  // namespace malleable::check
