#include <algorithm>
#include <cmath>

#include "malleable/kernel/on_time_prices.hpp"
#include "malleable/kernel/on_time_set.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_on_time_prices {

OnTimePrices prices;  // one for all: begin() must leave nothing behind
OnTimeSet set;

struct Drawn {
  Table table;
  std::vector<OnTimePrices::Job> jobs;
  Doubles due, gain;
  double total = 0.0;
};

double slots_of(std::size_t count) { return static_cast<double>(count) / 5.0; }

// Jobs whose deadlines lie within `g` times the time that all of them take.
Drawn draw(Random& random, std::size_t count, double g, double low) {
  Drawn drawn;
  for (std::size_t j = 0; j < count; ++j) {
    const double work = std::exp(real(random, 0.0, 4.0));
    drawn.table.add(work, chance(random, low) ? 1 : 0, integer(random, 1, 30));
    drawn.total += work;
    drawn.gain.push_back(real(random, 0.2, 5.0));
  }
  for (std::size_t j = 0; j < count; ++j) {
    const double work = drawn.table.work[j];
    const auto low_of = static_cast<double>(drawn.table.min_slots[j]);
    const auto high = static_cast<double>(drawn.table.max_slots[j]);
    const double span = g * drawn.total / slots_of(count);
    drawn.due.push_back(real(random, 0.05, 1.2) * span + work / high);
    drawn.jobs.push_back({work, low_of, high, 7.0 + drawn.due[j], std::log(work / drawn.gain[j])});
  }
  return drawn;
}

// About as much weight is in as by the test job by job.
TEST(sets_weigh_as_much_as_by_the_exact_test) {
  trials(1, 12, [&](Random& random) {
    for (const double g : {0.05, 0.3, 0.9}) {
      const std::size_t count = 3000;
      const Drawn drawn = draw(random, count, g, 0.1);
      const double slots = slots_of(count);
      const Problem problem = drawn.table.problem(static_cast<std::int64_t>(slots));
      prices.begin(7.0, slots, drawn.jobs, drawn.total);
      for (const auto& job : drawn.jobs) {
        if (job.low > 0.0) prices.take_minimum(job.work, job.low);
        prices.ask(job);
      }
      prices.close();
      set.begin(problem, drawn.due, 4096);
      std::vector<Index> order(count);
      for (std::size_t j = 0; j < count; ++j) order[j] = static_cast<Index>(j);
      std::sort(order.begin(), order.end(),
                [&](Index a, Index b) { return drawn.jobs[a].value < drawn.jobs[b].value; });
      double exact = 0.0, rough = 0.0, all = 0.0;
      for (const Index j : order) {
        all += drawn.gain[j];
        if (set.add(j, drawn.due[j])) exact += drawn.gain[j];
        if (prices.in(drawn.jobs[j], 0)) rough += drawn.gain[j];
        CHECK(!prices.in(drawn.jobs[j], 1));
      }
      if (g < 0.5) CHECK(rough < all);
      CHECK_AT_MOST(rough, exact, 0.03 * all);
      CHECK_AT_MOST(exact, rough, 0.05 * all);
    }
  });
}

// A second round takes what the first has left, and no more.
TEST(later_rounds_take_what_is_left) {
  // One slot for 10 s; by then two jobs of 8 do not fit. The one that costs less waits for 20 s.
  std::vector<OnTimePrices::Job> jobs = {{8.0, 0.0, 4.0, 10.0, 0.0}, {8.0, 0.0, 4.0, 10.0, 1.0}};
  std::vector<OnTimePrices::Job> sample = jobs;
  for (int k = 1; k < 36; ++k) sample.push_back({1.0, 0.0, 4.0, 1.0 * k, 0.5});
  prices.begin(0.0, 1.0, sample, 36.0);
  for (const auto& job : jobs) prices.ask(job);
  prices.close();
  CHECK(prices.in(jobs[0], 0));
  CHECK(!prices.in(jobs[1], 0));
  jobs[1].due = 20.0;
  prices.ask(jobs[1]);
  prices.close();
  CHECK(prices.in(jobs[1], 1));
  CHECK_EQUAL(prices.rounds(), std::size_t{2});
}

}  // namespace test_on_time_prices
}  // namespace malleable::check
