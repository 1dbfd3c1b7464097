// The deadline test in whole slot-periods (one slot for one period).
#include "malleable/kernel/periodic_demand.hpp"
#include "oracles.hpp"
#include "periodic_loops.hpp"

namespace malleable::check {
namespace test_periodic_demand {

// must(k) summed up period by period, as the definition has it.
bool may_meet_slowly(const Problem& problem, double period, const Doubles& due) {
  double last = 1.0;
  for (const double d : due) {
    if (d < kInfinity) last = std::max(last, d / period + 2.0);
  }
  for (std::size_t j = 0; j < due.size(); ++j) {
    if (due[j] < kInfinity && problem.work[j] > problem.high[j] * due[j] * (1.0 + 1e-9)) {
      return false;
    }
  }
  for (int k = 0; k < last; ++k) {
    double total = 0.0;
    for (std::size_t j = 0; j < due.size(); ++j) {
      if (problem.work[j] == 0.0 || due[j] == kInfinity) continue;
      const double high = problem.high[j], units = problem.work[j] / period;
      const double whole = std::floor(due[j] / period + 1e-9);
      const double part = std::max(0.0, due[j] / period - whole);
      if (k < whole) {
        total += std::max(0.0, std::ceil(units - high * part - 1e-9) - high * (whole - 1.0 - k));
      } else if (std::ceil(units - 1e-9) > high * whole && part > 1e-9) {
        total += high * whole + std::ceil((units - high * whole) / part - 1e-9);
      } else {
        total += std::ceil(units - 1e-9);
      }
    }
    if (total > problem.slots * (k + 1.0)) return false;
  }
  return true;
}

Table random_jobs(Random& random, std::size_t jobs, std::int64_t slots) {
  Table table;
  for (std::size_t j = 0; j < jobs; ++j) {
    table.add(chance(random, 0.1) ? 0.0 : real(random, 0.1, 20.0), 0, integer(random, 1, slots + 2),
              static_cast<double>(integer(random, 1, 9)), real(random, 0.2, 12.0));
  }
  return table;
}

TEST(events_say_what_periods_say) {
  int met = 0, missed = 0;
  trials(1, 2000, [&](Random& random) {
    const std::int64_t slots = integer(random, 1, 8);
    const Table table = random_jobs(random, static_cast<std::size_t>(integer(random, 1, 6)), slots);
    const Problem problem = table.problem(slots);
    const double period = chance(random, 0.3) ? 1.0 : std::exp(real(random, -2.0, 2.0));
    Doubles due = table.deadline;
    const double longer = real(random, 0.5, 6.0);
    for (double& d : due) {
      d = chance(random, 0.1) ? kInfinity : d * longer;
      if (chance(random, 0.2)) d = period * std::ceil(d / period);
    }
    const bool slowly = may_meet_slowly(problem, period, due);
    (slowly ? met : missed) += 1;
    CHECK(PeriodicDemandTest().may_meet(problem, period, due) == slowly);
  });
  CHECK(10 * met > met + missed);  // sanitizers run fewer trials
  CHECK(10 * missed > met + missed);
}

TEST(what_a_loop_did_may_be_met) {
  trials(2, 1500, [](Random& random) {
    const std::int64_t slots = integer(random, 1, 8);
    const Table table = random_jobs(random, static_cast<std::size_t>(integer(random, 1, 7)), slots);
    const Problem problem = table.problem(slots);
    const double period = std::exp(real(random, -3.0, 3.0));
    Doubles due = run_loop(problem, period, at_random(problem, random));
    for (double& d : due) d *= 1.0 + 1e-9;
    CHECK(PeriodicDemandTest().may_meet(problem, period, due));
  });
}

}  // namespace test_periodic_demand
}  // namespace malleable::check
