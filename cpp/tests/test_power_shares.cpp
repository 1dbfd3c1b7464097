// Slots by size: shares that are a power of the rank, if s slots do s^p.
#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/power_shares.hpp"

namespace test_power_shares {

using namespace malleable;

struct Row {
  double given, most, p = 0.8;
};

double part_of(double q, std::size_t k, std::size_t jobs) {
  const auto height = [&](std::size_t rank) {
    const double x = static_cast<double>(rank) / static_cast<double>(jobs);
    return q < 1.0 ? std::pow(x, 1.0 / (1.0 - q)) : x < 1.0 ? 0.0 : 1.0;
  };
  return height(jobs - k) - height(jobs - k - 1);
}

// Slot after slot to the job where it does most: its part^(1 - p) times what s^p gains there, which
// is nearly p (s + 1/2)^(p - 1).
std::vector<double> one_by_one(double p, double q, double slots, std::vector<Row> rows) {
  std::vector<double> given;
  for (const Row& row : rows) {
    given.push_back(std::min({row.given, row.most, slots}));
    slots -= given.back();
  }
  for (; slots > 0.0; slots -= 1.0) {
    double best = -1.0;
    std::size_t who = rows.size();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (given[k] >= rows[k].most) continue;
      const double gain = given[k] == 0.0 ? 1.0 : p * std::pow(given[k] + 0.5, p - 1.0);
      const double found = std::pow(part_of(q, k, rows.size()), 1.0 - p) * gain;
      if (found > best * (1.0 + 1e-9)) {
        best = found;
        who = k;
      }
    }
    if (who == rows.size()) break;
    given[who] += 1.0;
  }
  return given;
}

TEST(as_slot_after_slot) {
  std::mt19937_64 random(1);
  const auto number = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  PowerShares shares;
  for (int round = 0; round < 3000; ++round) {
    const double p = number(0.05, 0.95), q = p * number(0.0, 1.0);
    const double slots = std::floor(std::exp(number(0.0, 6.0)));
    std::vector<Row> rows(static_cast<std::size_t>(std::exp(number(0.0, 4.0))));
    for (Row& row : rows) {
      row.most = std::floor(std::exp(number(0.0, 5.0)));
      row.given = number(0.0, 1.0) < 0.2 ? std::floor(number(0.0, 4.0)) : 0.0;
      row.p = p;
    }
    const std::vector<double> expected = one_by_one(p, q, slots, rows);
    std::vector<double> lows;
    for (const Row& row : rows) lows.push_back(row.given);
    shares.give(q, slots, std::span<Row>(rows));
    double given = 0.0, usable = 0.0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CHECK(rows[k].given == expected[k]);
      given += rows[k].given;
      usable += rows[k].most;
    }
    CHECK(given == std::min(slots, usable));
  }
}

// Slot after slot to the job that is furthest below its part, the first slot at what it does.
TEST(parts_follow_each_exponent) {
  std::mt19937_64 random(2);
  const auto number = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  PowerShares shares;
  for (int round = 0; round < 2000; ++round) {
    const double q = number(0.0, 0.9), slots = std::floor(std::exp(number(0.0, 6.0)));
    std::vector<Row> rows(2 + static_cast<std::size_t>(std::exp(number(0.0, 3.5))));
    for (Row& row : rows) {
      row = {0.0, std::floor(std::exp(number(0.0, 5.0))), number(0.3, 0.99)};
    }
    std::vector<double> expected(rows.size());
    for (double left = slots; left > 0.0; left -= 1.0) {
      double least = 1e300;
      std::size_t who = rows.size();
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (expected[k] >= rows[k].most) continue;
        const double p = rows[k].p, price = std::min(0.9, p);
        const double part = part_of(q, k, rows.size()) * price / (1.0 - price);
        const double step =
            (expected[k] > 0.0 ? expected[k] + 0.5 : std::pow(p, 1.0 / (1.0 - p))) / part;
        if (step < least) {
          least = step;
          who = k;
        }
      }
      if (who == rows.size()) break;
      expected[who] += 1.0;
    }
    shares.give(q, slots, std::span<Row>(rows));
    for (std::size_t k = 0; k < rows.size(); ++k) CHECK_EQUAL(rows[k].given, expected[k]);
  }
}

TEST(equal_where_q_is_zero) {
  std::vector<Row> rows{{0, 100}, {0, 2}, {0, 100}, {0, 100}};
  PowerShares().give(0.0, 32.0, std::span<Row>(rows));
  CHECK(rows[0].given == 10 && rows[1].given == 2 && rows[2].given == 10 && rows[3].given == 10);
}

TEST(one_each_to_the_smallest_where_slots_are_few) {
  std::vector<Row> rows(100, Row{0, 50});
  for (const double q : {0.0, 0.2, 0.4}) {
    for (Row& row : rows) row.given = 0.0;
    PowerShares().give(q, 20.0, std::span<Row>(rows));
    for (std::size_t k = 0; k < rows.size(); ++k) CHECK(rows[k].given == (k < 20 ? 1.0 : 0.0));
  }
}

// If parts are 0, the first job has the rest.
TEST(nothing_is_left_over) {
  std::vector<Row> rows{{0, 3, 1.0}, {0, 4, 1.0}, {0, 5, 1.0}};
  PowerShares().give(1.0, 5.0, std::span<Row>(rows));
  CHECK(rows[0].given == 3 && rows[1].given == 2 && rows[2].given == 0);
  std::vector<Row> none;
  PowerShares().give(0.2, 5.0, std::span<Row>(none));
  std::vector<Row> some{{2, 3, 0.5}, {2, 4, 0.5}};
  PowerShares().give(0.2, 3.0, std::span<Row>(some));
  CHECK(some[0].given == 2 && some[1].given == 1);
}

}  // namespace test_power_shares
