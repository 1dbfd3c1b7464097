// Slots held for a period, by the price of a slot-period (one slot for one period).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "instances.hpp"
#include "malleable/kernel/period_prices.hpp"

namespace malleable::check {
namespace test_period_prices {

struct Shared {
  double slots = 10.0, period = 1.0;
  Doubles work, low, high, value;
  PeriodicJobs jobs() const { return {slots, period, work, low, high, value}; }
  Doubles run(double coming) const {
    PeriodPrices prices;
    Doubles slots_now(work.size(), -1.0);
    prices.run(jobs(), coming, 0.0, {}, slots_now);
    return slots_now;
  }
};

// One job waits, so that a slot-period is worth (1 + 3/4 coming) / 10: of one
// job a third slot saves 1/3 of a second, a fourth 1/6; of the other job a fourth 1/4, a fifth
// 3/20.
TEST(by_hand) {
  const Shared held{10.0, 1.0, {2.0, 3.0, 20.0}, {0.0, 0.0, 0.0}, {10.0, 10.0, 10.0}, {}};
  CHECK(held.run(4.0 / 3.0) == (Doubles{3.0, 4.0, 3.0}));
  CHECK(held.run(0.8) == (Doubles{4.0, 4.0, 2.0}));
  CHECK(held.run(32.0 / 3.0) == (Doubles{2.0, 3.0, 5.0}));
  const Shared cheap{10.0,           1.0, {2.0, 3.0, 20.0}, {0.0, 0.0, 0.0}, {10.0, 10.0, 10.0},
                     {1.0, 1.0, 0.6}};
  CHECK(cheap.run(16.0 / 15.0) == (Doubles{4.0, 5.0, 1.0}));
}

// Among jobs of the same size the job that can use fewer slots would end later, and is first.
TEST(narrow_jobs_first) {
  const Shared held{4.0, 1.0, {8.0, 8.0}, {0.0, 0.0}, {4.0, 2.0}, {}};
  CHECK(held.run(0.0) == (Doubles{2.0, 2.0}));
  PeriodPrices prices;
  Doubles slots(2);
  prices.run(held.jobs(), 0.0, 0.0, {}, slots);
  // T = 16 / 8 + 2 s: 8 / (1 + 1/4) and 8 / (1 + 3/4).
  CHECK_NEAR(prices.key()[0], 8.0 / 1.25, 1e-9);
  CHECK_NEAR(prices.key()[1], 8.0 / 1.75, 1e-9);
}

TEST(nobody_waits) {
  const Shared held{10.0, 1.0, {2.0, 3.0}, {0.0, 0.0}, {10.0, 4.0}, {}};
  CHECK(held.run(4.0) == (Doubles{6.0, 4.0}));
}

TEST(minima_and_urgency) {
  const Shared held{6.0, 1.0, {9.0, 1.0, 4.0}, {2.0, 0.0, 0.0}, {6.0, 6.0, 6.0}, {1.0, 1.0, 8.0}};
  CHECK(held.run(100.0) == (Doubles{2.0, 0.0, 4.0}));
  PeriodPrices prices;
  Doubles slots(2);
  const Shared alike{2.0, 1.0, {2.0, 2.0}, {0.0, 0.0}, {2.0, 2.0}, {1.0, 1.0}};
  const std::vector<std::int64_t> given{0, 1};
  prices.run(alike.jobs(), 2.0, 0.0, {}, slots);
  CHECK(slots == (Doubles{2.0, 0.0}));
  prices.run(alike.jobs(), 2.0, 0.5, given, slots);
  CHECK(slots == (Doubles{0.0, 2.0}));
}

Shared random_shared(Random& random) {
  Shared held;
  held.period = real(random, 0.1, 10.0);
  held.slots = static_cast<double>(integer(random, 1, 60));
  const int jobs = integer(random, 1, 14);
  double minima = 0.0;
  for (int j = 0; j < jobs; ++j) {
    held.work.push_back(held.period * real(random, 0.01, 12.0));
    const double high = std::min(held.slots, static_cast<double>(integer(random, 1, 30)));
    const double low = chance(random, 0.7) ? 0.0 : std::min(high, real(random, 0.0, 3.0));
    held.high.push_back(high);
    held.low.push_back(minima + std::floor(low) <= held.slots ? std::floor(low) : 0.0);
    minima += held.low.back();
    held.value.push_back(static_cast<double>(integer(random, 1, 5)));
  }
  return held;
}

// More than whole slot-periods only for jobs that save as much by it as a slot-period is worth, as
// long as another job could use the slot for the whole period; and all of that in order.
TEST(slots_go_where_they_are_worth_most) {
  trials(1, 2000, [](Random& random) {
    const Shared held = random_shared(random);
    const std::size_t n = held.work.size();
    PeriodPrices prices;
    Doubles slots(n);
    prices.run(held.jobs(), real(random, 0.5, 8.0), 0.0, {}, slots);
    double used = 0.0, slowest = -1.0;
    for (std::size_t j = 0; j < n; ++j) {
      CHECK(slots[j] >= held.low[j] && slots[j] <= held.high[j]);
      used += slots[j];
    }
    CHECK(used <= held.slots);
    bool wanted = false;
    for (std::size_t j = 0; j < n; ++j) {
      const double cap = cap_at_period(held.work[j], held.period, held.low[j], held.high[j]);
      if (slots[j] > held.low[j]) slowest = std::max(slowest, prices.key()[j]);
      wanted |= slots[j] < cap;
    }
    CHECK(!wanted || used == held.slots);
    for (std::size_t j = 0; j < n; ++j) {
      const double a = slots[j], worth = held.value[j] * held.work[j];
      const double cap = cap_at_period(held.work[j], held.period, held.low[j], held.high[j]);
      if (a < cap) CHECK(prices.key()[j] >= slowest * (1.0 - 1e-12));
      if (wanted && a > cap) CHECK(worth / (a * (a - 1.0)) >= prices.price() * (1.0 - 1e-9));
    }
  });
}

// The rule as its header has it, by sorting everybody and serving them one by one; values are
// whole, so that sums are exact.
Doubles plainly(const Shared& held, double coming) {
  const std::size_t n = held.work.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Doubles key(n), periods(n);
  double slack = held.slots, total = 0.0;
  for (const double work : held.work) total += work;
  const double horizon = 0.5 * total / held.slots + 2.0 * held.period;
  for (std::size_t j = 0; j < n; ++j) {
    periods[j] = slot_periods(held.work[j], held.period);
    const double late = std::max(0.0, periods[j] / held.high[j] - 1.0);
    const double cost = held.period * periods[j] * (1.0 - 1e-6) + 1e-6 * held.work[j];
    key[j] = cost / (held.value[j] * (1.0 + held.period / horizon * late));
    slack -= held.low[j];
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
  const auto serve = [&](double price, Doubles* slots) {
    double waiting = 0.0, left = slack;
    for (const std::size_t j : order) {
      const double low = held.low[j], high = held.high[j];
      const double cap = std::max(low, std::min(high, periods[j]));
      const bool ends = cap >= periods[j];
      const double most =
          std::floor((1.0 + std::sqrt(1.0 + 4.0 * held.value[j] * held.work[j] / price)) / 2.0);
      const double wanted = ends ? std::max(cap, std::min(high, most)) : high;
      const double more = std::min(left, wanted - low);
      left -= more;
      if (!(ends && low + more >= cap)) waiting += held.value[j];
      if (slots != nullptr) (*slots)[j] = low + (ends ? std::min(more, cap - low) : more);
    }
    return held.period / held.slots * (waiting + 0.75 * coming);
  };
  // The price lies where it is what a slot-period is worth; both fall to each other.
  double below = serve(1e300, nullptr), above = 1e300;
  if (below > 0.0) {
    for (int step = 0; step < 2000 && below < above * (1.0 - 1e-12); ++step) {
      const double price = std::sqrt(below) * std::sqrt(above);
      (serve(price, nullptr) > price ? below : above) = price;
    }
  }
  Doubles slots(n);
  serve(above, &slots);
  LeftOverSlots left_over;
  left_over.hand_out(held.jobs(), slots);
  return slots;
}

// Prices are found to one part in a hundred: jobs served change in steps, so that this hardly ever
// matters. The same jobs get slots.
TEST(many_jobs_as_the_rule_says) {
  int alike = 0, all = 0;
  trials(2, 40, [&](Random& random) {
    Shared held;
    const int jobs = integer(random, 50, 3000);
    held.period = real(random, 0.5, 5.0);
    held.slots = std::floor(jobs * real(random, 0.1, 2.5));
    const bool minima = chance(random, 0.5) && held.slots > jobs;
    for (int j = 0; j < jobs; ++j) {
      held.work.push_back(std::exp(real(random, -1.0, 5.0)));
      held.high.push_back(std::min(held.slots, static_cast<double>(integer(random, 1, 64))));
      held.low.push_back(minima ? 1.0 : 0.0);
      held.value.push_back(static_cast<double>(integer(random, 1, 5)));
    }
    const double coming = real(random, 0.0, jobs);
    const Doubles found = held.run(coming), expected = plainly(held, coming);
    double differ = 0.0;
    for (std::size_t j = 0; j < found.size(); ++j) differ += std::fabs(found[j] - expected[j]);
    CHECK(differ <= 0.02 * held.slots + 2.0);
    alike += found == expected;
    ++all;
  });
  CHECK(10 * alike >= 5 * all);
}

}  // namespace test_period_prices
}  // namespace malleable::check
