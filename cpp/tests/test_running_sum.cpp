// Sums of many numbers, in an order that never changes.
#include "instances.hpp"
#include "malleable/kernel/running_sum.hpp"

namespace malleable::check {
namespace test_running_sum {

TEST(whole_numbers_add_up_exactly) {
  for (std::size_t n = 0; n < 40; ++n) {
    Doubles terms(n);
    double expected = 0.0;
    for (std::size_t k = 0; k < n; ++k) expected += terms[k] = static_cast<double>(k * k + 1);
    CHECK_EQUAL(sum_of(terms), expected);
  }
}

TEST(as_good_as_adding_in_higher_precision) {
  trials(1, 200, [](Random& random) {
    Doubles terms(static_cast<std::size_t>(integer(random, 1, 5000)));
    long double expected = 0.0L, size = 0.0L;
    for (double& term : terms) {
      term = real(random, -1.0, 1.0) * std::pow(10.0, real(random, -6.0, 6.0));
      expected += term;
      size += std::fabs(term);
    }
    CHECK_NEAR(sum_of(terms), static_cast<double>(expected), 1e-13 * static_cast<double>(size));
    CHECK_EQUAL(sum_of(terms), sum_of(terms));
  });
}

TEST(infinities_stay) { CHECK_EQUAL(sum_of(Doubles{1.0, kInfinity, -3.0}), kInfinity); }

}  // namespace test_running_sum
}  // namespace malleable::check
