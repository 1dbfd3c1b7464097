// The cheapest units (single slots for jobs) that fit.
#include "instances.hpp"
#include "malleable/kernel/unit_selection.hpp"

namespace malleable::check {
namespace test_unit_selection {

struct Columns {
  Doubles scale, low, high;
  ClosedForm cost() const { return {scale, low, high}; }
};

Columns draw(Random& random, std::size_t jobs, bool ties) {
  Columns jobs_of;
  for (std::size_t j = 0; j < jobs; ++j) {
    jobs_of.scale.push_back(ties ? static_cast<double>(integer(random, 1, 5))
                                 : std::pow(10.0, real(random, -3.0, 3.0)));
    jobs_of.low.push_back(static_cast<double>(integer(random, 0, 3)));
    jobs_of.high.push_back(std::max(jobs_of.low[j], 1.0) +
                           static_cast<double>(integer(random, 0, 12)));
  }
  return jobs_of;
}

// What everybody has without buying: slots help all of them, so that they have at least one.
Doubles fewest(const Columns& jobs) {
  Doubles slots = jobs.low;
  for (double& count : slots) count = std::max(count, 1.0);
  return slots;
}

// The same unit by unit.
std::vector<Unit> all_units(const Columns& jobs) {
  std::vector<Unit> units;
  const Doubles first = fewest(jobs);
  for (Index j = 0; j < jobs.scale.size(); ++j) {
    for (double s = first[j]; s < jobs.high[j]; ++s) {
      units.push_back({jobs.cost().price(j, s), j});
    }
  }
  return units;
}

TEST(counts_are_those_of_unit_by_unit) {
  trials(1, 300, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 40));
    const Columns columns = draw(random, jobs, chance(random, 0.5));
    const std::vector<Unit> units = all_units(columns);
    // Any price, and just below and above that of a unit.
    Doubles prices{std::pow(10.0, real(random, -4.0, 6.0)), 1e300};
    if (!units.empty()) {
      const double price = units[random() % units.size()].price;
      if (price < kInfinity) {
        prices.push_back(price * (1.0 - 1e-12));
        prices.push_back(price * (1.0 + 1e-12));
      }
    }
    for (const double price : prices) {
      Doubles expected = fewest(columns), counts(jobs);
      for (const Unit& unit : units) expected[unit.job] += unit.price <= price ? 1.0 : 0.0;
      columns.cost().counts(price, 0, counts);
      CHECK(counts == expected);
      double sum = 0.0;
      for (const double count : expected) sum += count;
      CHECK_EQUAL(columns.cost().total(price, 0, jobs), sum);
    }
  });
}

TEST(the_cheapest_units_are_selected) {
  trials(2, 200, [](Random& random) {
    const bool many = chance(random, 0.1);
    const auto jobs = static_cast<std::size_t>(many ? 9000 : integer(random, 1, 60));
    const Columns columns = draw(random, jobs, chance(random, 0.5));
    const ClosedForm cost = columns.cost();
    std::vector<Unit> units = all_units(columns);
    std::erase_if(units, [&](const Unit& unit) { return unit.price > cost.dearest(); });
    std::sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) {
      return a.price != b.price ? a.price < b.price : a.job < b.job;
    });
    double needed = 0.0;
    for (const double low : fewest(columns)) needed += low;
    const auto more = integer(random, 0, static_cast<std::int64_t>(units.size()) + 5);
    Doubles expected = fewest(columns), slots(jobs);
    for (std::size_t k = 0; k < units.size() && k < static_cast<std::size_t>(more); ++k) {
      expected[units[k].job] += 1.0;
    }
    std::vector<Unit> between;
    select_units(cost, columns.high, needed + static_cast<double>(more), needed,
                 cost.total(cost.dearest(), 0, jobs),
                 units.empty() ? kInfinity : units[0].price * (1.0 - 1e-12), slots, between);
    CHECK(slots == expected);
  });
}

}  // namespace test_unit_selection
}  // namespace malleable::check
