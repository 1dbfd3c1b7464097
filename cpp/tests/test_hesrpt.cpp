// Parts of heSRPT: the optimal shares of the slots if s slots do s^p, larger for smaller jobs.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/hesrpt.hpp"

namespace malleable::check {
namespace test_hesrpt {

struct Row {
  double given = 0.0, most = 0.0;
};

std::vector<Row> shared(double p, double slots, std::vector<Row> rows) {
  HeSrptParts parts;
  parts.give(p, slots, std::span(rows), [](const Row& row) { return row.most; });
  return rows;
}

TEST(ends_of_the_exponent) {
  const std::vector<Row> rows(4, Row{0.0, 100.0});
  const std::vector<Row> first = shared(1.0, 12.0, rows), equal = shared(0.0, 12.0, rows);
  CHECK_EQUAL(first[0].given, 12.0);
  for (std::size_t k = 1; k < 4; ++k) CHECK_EQUAL(first[k].given, 0.0);
  for (const Row& row : equal) CHECK_EQUAL(row.given, 3.0);
}

// With p = 1/2 of two jobs the larger one gets (1/2)^2 of the slots.
TEST(two_jobs_of_root_speed_up) {
  const std::vector<Row> found = shared(0.5, 400.0, std::vector<Row>(2, Row{0.0, 1e9}));
  CHECK_EQUAL(found[0].given, 300.0);
  CHECK_EQUAL(found[1].given, 100.0);
}

// Without limits the first k together are within half a slot of the curve.
TEST(whole_slots_are_near_the_parts) {
  trials(1, 300, [](Random& random) {
    const auto jobs = static_cast<std::size_t>(integer(random, 1, 30));
    const double p = chance(random, 0.1) ? 1.0 : real(random, 0.0, 0.95);
    const auto slots = static_cast<double>(integer(random, 0, 500));
    const std::vector<Row> found = shared(p, slots, std::vector<Row>(jobs, Row{0.0, 1e9}));
    double sum = 0.0;
    for (std::size_t k = 0; k < jobs; ++k) {
      CHECK(found[k].given >= 0.0 && found[k].given == std::floor(found[k].given));
      sum += found[k].given;
      const double larger = static_cast<double>(jobs - k - 1) / static_cast<double>(jobs);
      const double exact = p < 1.0 ? slots * (1.0 - std::pow(larger, 1.0 / (1.0 - p))) : slots;
      CHECK_NEAR(sum, exact, 0.5 + 1e-9 * slots);
    }
    CHECK_EQUAL(sum, slots);
  });
}

TEST(nobody_has_more_than_it_can_use_and_no_slot_is_left) {
  trials(2, 300, [](Random& random) {
    std::vector<Row> rows(static_cast<std::size_t>(integer(random, 0, 12)));
    double room = 0.0;
    for (Row& row : rows) {
      row.given = static_cast<double>(integer(random, 0, 3));
      row.most = row.given + static_cast<double>(integer(random, 0, 9));
      room += row.most - row.given;
    }
    const auto slots = static_cast<double>(integer(random, 0, 60));
    const std::vector<Row> found = shared(real(random, 0.0, 1.0), slots, rows);
    double more = 0.0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CHECK(found[k].given >= rows[k].given && found[k].given <= rows[k].most);
      more += found[k].given - rows[k].given;
    }
    CHECK_EQUAL(more, std::min(slots, room));
  });
}

TEST(parts_follow_the_exponent_and_the_number_of_jobs) {
  HeSrptParts kept;
  trials(3, 100, [&](Random& random) {
    const std::vector<Row> rows(static_cast<std::size_t>(integer(random, 1, 4)), Row{0.0, 50.0});
    const double p = static_cast<double>(integer(random, 0, 4)) / 4.0;
    std::vector<Row> warm = rows;
    kept.give(p, 40.0, std::span(warm), [](const Row& row) { return row.most; });
    const std::vector<Row> fresh = shared(p, 40.0, rows);
    for (std::size_t k = 0; k < rows.size(); ++k) CHECK_EQUAL(warm[k].given, fresh[k].given);
  });
}

}  // namespace test_hesrpt
}  // namespace malleable::check
