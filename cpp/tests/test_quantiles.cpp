// A few quantiles that stand for many values.
#include <algorithm>
#include <set>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/quantiles.hpp"

namespace malleable::check {
namespace test_quantiles {

TEST(few_values_all_stay) {
  std::vector<double> values{3.0, 1.0, 2.0, 3.0, 1.0};
  keep_quantiles(values, 3);
  CHECK(values == (std::vector<double>{1.0, 2.0, 3.0}));
  values.clear();
  keep_quantiles(values, 4);
  CHECK(values.empty());
}

TEST(of_a_hundred_every_fourth_stays) {
  std::vector<double> values;
  for (int k = 100; k >= 1; --k) values.push_back(k);
  keep_quantiles(values, 25);
  CHECK_EQUAL(values.size(), std::size_t{25});
  for (std::size_t k = 0; k < values.size(); ++k) {
    CHECK_EQUAL(values[k], 4.0 * static_cast<double>(k + 1));
  }
}

// Between two that stay, and before the first one, nearly as many are left out.
TEST(gaps_are_alike) {
  trials(1, 300, [](Random& random) {
    std::vector<double> values(static_cast<std::size_t>(integer(random, 1, 80)));
    for (double& value : values) value = static_cast<double>(integer(random, -30, 30));
    const std::set<double> all(values.begin(), values.end());
    const auto most = static_cast<std::size_t>(integer(random, 1, 20));
    keep_quantiles(values, most);
    CHECK_EQUAL(values.size(), std::min(most, all.size()));
    CHECK_EQUAL(values.back(), *all.rbegin());
    auto from = all.begin();
    for (const double value : values) {
      const auto at = all.find(value);
      CHECK(at != all.end());
      const auto step = static_cast<std::size_t>(std::distance(from, at)) + 1;
      CHECK(step >= all.size() / values.size());
      CHECK(step <= (all.size() + values.size() - 1) / values.size());
      from = std::next(at);
    }
  });
}

}  // namespace test_quantiles
}  // namespace malleable::check
