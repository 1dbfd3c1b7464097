// Work in slot-periods (one slot for one period), and slots left over within a period.
#include <queue>

#include "instances.hpp"
#include "malleable/kernel/slot_periods.hpp"

namespace malleable::check {
namespace test_slot_periods {

Problem random_problem(Random& random, double period) {
  Problem problem;
  const auto jobs = static_cast<std::size_t>(integer(random, 1, chance(random, 0.1) ? 6000 : 12));
  problem.slots = static_cast<double>(integer(random, 1, 20 * static_cast<int>(jobs)));
  for (std::size_t j = 0; j < jobs; ++j) {
    const double most = static_cast<double>(integer(random, 1, 30));
    problem.work.push_back(chance(random, 0.1) ? 0.0 : period * real(random, 0.01, 12.0));
    problem.high.push_back(std::min(most, problem.slots));
    problem.low.push_back(0.0);
  }
  return problem;
}

// One slot at a time, to the largest gain. What a slot gains falls with the slots that a job has.
double hand_out_slowly(const Problem& problem, double period, const Doubles& value,
                       const SpeedupView& speedup, Doubles& slots) {
  const auto gain = [&](std::size_t j) {
    const double a = slots[j], work = problem.work[j];
    if (a == 0.0 || a >= problem.high[j] || speedup.at(j, a) * period < work) return 0.0;
    return value[j] * work / speedup.at(j, a) - value[j] * work / speedup.at(j, a + 1.0);
  };
  double left = problem.slots;
  std::priority_queue<std::pair<double, std::size_t>> gains;
  const auto ask = [&](std::size_t j) {
    if (const double next = gain(j); next > 0.0) gains.emplace(next, j);
  };
  for (std::size_t j = 0; j < problem.size(); ++j) {
    left -= slots[j];
    ask(j);
  }
  for (; left > 0.0 && !gains.empty(); left -= 1.0) {
    const std::size_t best = gains.top().second;
    gains.pop();
    slots[best] += 1.0;
    ask(best);
  }
  return left;
}

double gained(const Problem& problem, const Doubles& value, const SpeedupView& speedup,
              const Doubles& slots) {
  double sum = 0.0;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (slots[j] > 0.0) sum += value[j] * problem.work[j] / speedup.at(j, slots[j]);
  }
  return sum;
}

TEST(whole_slot_periods) {
  CHECK_EQUAL(slot_periods(0.0, 5.0), 0.0);
  CHECK_EQUAL(slot_periods(1e-12, 5.0), 1.0);
  CHECK_EQUAL(slot_periods(5.0, 5.0), 1.0);
  CHECK_EQUAL(slot_periods(5.1, 5.0), 2.0);
  CHECK_EQUAL(slot_periods(3.0 * 0.1, 0.1), 3.0);  // 3.0000000000000004
  const Doubles works{0.0, 1e-12, 5.0, 5.1, 3.0 * 0.1, 12.0, 1e9, 0.1, 7.0};
  for (const double period : {5.0, 0.1}) {
    Doubles periods(works.size());
    slot_periods(works, period, periods);
    for (std::size_t j = 0; j < works.size(); ++j) {
      CHECK_EQUAL(periods[j], slot_periods(works[j], period));
    }
  }
  CHECK_EQUAL(cap_at_period(12.0, 5.0, 0.0, 64.0), 3.0);
  CHECK_EQUAL(cap_at_period(12.0, 5.0, 4.0, 64.0), 4.0);
  CHECK_EQUAL(cap_at_period(12.0, 5.0, 0.0, 2.0), 2.0);
}

// As many slots as end a job within the period, and no fewer.
TEST(caps_below_linear_speed_up) {
  trials(1, 200, [](Random& random) {
    const double period = real(random, 0.1, 10.0);
    Problem problem = random_problem(random, period);
    const Problem whole = problem;
    Doubles power(problem.size());
    for (double& p : power) p = chance(random, 0.3) ? 1.0 : real(random, 0.0, 1.0);
    const SpeedupView speedup{power, {}, {}};
    cap_at_period(problem, period, speedup);
    for (std::size_t j = 0; j < problem.size(); ++j) {
      const double c = problem.high[j], work = problem.work[j];
      CHECK(c <= whole.high[j]);
      if (work == 0.0) CHECK_EQUAL(c, whole.high[j]);
      if (work == 0.0) continue;
      CHECK(c == whole.high[j] || speedup.at(j, c) * period >= work * (1.0 - 1e-8));
      CHECK(c == 1.0 || speedup.at(j, c - 1.0) * period < work);
    }
  });
}

// No other number of slots saves more, less the price of slots beyond whole slot-periods.
TEST(caps_reach_jumps) {
  trials(3, 400, [](Random& random) {
    const double period = real(random, 0.1, 6.0), now = real(random, 0.0, 2.0);
    const Table table = random_table(random, 12, {.slots = 30});
    const bool jumps = chance(random, 0.8);
    const Kind kind = jumps ? (chance(random, 0.6) ? Kind::kSla : Kind::kTardy) : Kind::kTardiness;
    const Problem problem = table.problem(30, now);
    const Penalties penalties = table.penalties(kind);
    Problem capped = problem;
    cap_at_period(capped, period);
    const Doubles before = capped.high;
    const Order order = identity(problem.size());
    reach_jumps(problem, penalties, period, order, capped.high);
    const auto paid = [&](std::size_t j, double slots) {
      return penalties(j, now + problem.work[j] / slots);
    };
    double free = problem.slots, price = 0.0;
    for (const double low : problem.low) free -= low;
    for (std::size_t j = 0; j < problem.size() && free >= 0.0; ++j) {
      if (!(problem.work[j] > 0.0)) continue;
      free -= before[j] - problem.low[j];
      const double lost = penalties(j, 1e9) - paid(j, problem.high[j]);
      if (free < 0.0) price = lost / slot_periods(problem.work[j], period);
    }
    for (std::size_t j = 0; j < problem.size(); ++j) {
      const double cap = capped.high[j], whole = before[j];
      if (!jumps || !(problem.work[j] > 0.0) || whole * period < problem.work[j]) {
        CHECK_EQUAL(cap, whole);
        continue;
      }
      const auto net = [&](double s) { return paid(j, whole) - paid(j, s) - price * (s - whole); };
      double best = 0.0;
      for (double s = whole; s <= problem.high[j]; ++s) best = std::max(best, net(s));
      CHECK(cap >= whole && cap <= problem.high[j]);
      CHECK_NEAR(net(cap), best, 1e-9);
    }
  });
}

TEST(left_over_slots) {
  LeftOverSlots left_over;
  trials(2, 400, [&](Random& random) {
    const double period = real(random, 0.1, 10.0);
    const Problem problem = random_problem(random, period);
    const std::size_t n = problem.size();
    Doubles value(n), power(n, 1.0), slots(n, 0.0);
    const bool curved = n < 100 && chance(random, 0.4);
    double free = problem.slots;
    for (std::size_t j = 0; j < n; ++j) {
      value[j] = chance(random, 0.1) ? 0.0 : static_cast<double>(integer(random, 1, 5));
      if (curved) power[j] = real(random, 0.3, 1.0);
      const double cap = cap_at_period(problem.work[j], period, 0.0, problem.high[j]);
      if (problem.work[j] > 0.0 && chance(random, 0.8)) slots[j] = std::min(free, cap);
      free -= slots[j];
    }
    const SpeedupView speedup = curved ? SpeedupView{power, {}, {}} : SpeedupView{};
    Doubles slowly = slots;
    const double idle = hand_out_slowly(problem, period, value, speedup, slowly);
    CHECK_EQUAL(left_over.hand_out({problem.slots, period, problem.work, problem.low, problem.high,
                                    value, speedup},
                                   slots),
                idle);
    CHECK_NEAR(gained(problem, value, speedup, slots), gained(problem, value, speedup, slowly),
               1e-9);
    for (std::size_t j = 0; j < n; ++j) CHECK(slots[j] <= problem.high[j]);
  });
}

}  // namespace test_slot_periods
}  // namespace malleable::check
