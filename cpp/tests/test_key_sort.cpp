// Sorting of indices by keys.
#include <bit>

#include "instances.hpp"
#include "malleable/kernel/key_sort.hpp"

namespace malleable::check {
namespace test_key_sort {

Order sorted_slowly(const Doubles& keys) {
  Order order = identity(keys.size());
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return keys[a] < keys[b]; });
  return order;
}

// One sorter for all, so that what an earlier input left behind would show.
KeySort sorter;

void check_sort(const Doubles& keys) {
  Order order(keys.size(), ~Index{0});
  sorter.sort(keys, order);
  CHECK(order == sorted_slowly(keys));
}

constexpr std::size_t kSizes[] = {0, 1, 2, 3, 100, 191, 192, 193, 1000, 100'000};

template <typename Key>
void check_sizes(std::uint64_t seed, Key key) {
  for (const std::size_t size : kSizes) {
    context = text(size, " keys");
    Random random(seed);
    Doubles keys(size);
    for (double& k : keys) k = key(random);
    check_sort(keys);
  }
}

TEST(spread_keys) {
  check_sizes(1, [](Random& random) { return real(random, 0.0, 1.0); });
  check_sizes(2, [](Random& random) { return real(random, -1e9, 1e9); });
}

TEST(keys_of_all_magnitudes) {
  check_sizes(3, [](Random& random) {
    for (;;) {
      const double key = std::bit_cast<double>(random());
      if (!std::isnan(key)) return key;
    }
  });
}

TEST(ties_keep_their_order) {
  check_sizes(4, [](Random&) { return 3.5; });
  check_sizes(5, [](Random& random) { return static_cast<double>(integer(random, 0, 7)); });
}

TEST(minus_zero_is_zero) {
  check_sizes(6, [](Random& random) { return chance(random, 0.5) ? 0.0 : -0.0; });
  check_sizes(7, [](Random& random) {
    const double some[] = {0.0, -0.0, 5e-324, -5e-324, 1.0};
    return some[random() % 5];
  });
}

TEST(infinite_keys) {
  check_sizes(8, [](Random&) { return kInfinity; });
  check_sizes(9, [](Random&) { return -kInfinity; });
  check_sizes(10, [](Random& random) {
    return chance(random, 0.3)   ? kInfinity
           : chance(random, 0.3) ? -kInfinity
                                 : real(random, 1.0, 1.0 + 1e-13);
  });
  check_sizes(11, [](Random& random) { return chance(random, 0.5) ? kInfinity : 1.0; });
}

// Heads that agree in their leading 32 bits: everything is decided by the settling pass.
TEST(keys_that_share_leading_bits) {
  check_sizes(12, [](Random& random) {
    const double outlier = 1e300;
    return chance(random, 1e-3) ? outlier
                                : 1.0 + static_cast<double>(integer(random, 0, 500)) * 0x1p-52;
  });
  check_sizes(13, [](Random& random) {
    return chance(random, 0.01) ? real(random, -1e30, 1e30)
                                : std::nextafter(static_cast<double>(integer(random, 1, 40)),
                                                 chance(random, 0.5) ? 0.0 : kInfinity);
  });
}

TEST(sorted_and_reversed) {
  for (const std::size_t size : kSizes) {
    Doubles keys(size);
    std::iota(keys.begin(), keys.end(), -5.0);
    check_sort(keys);
    std::reverse(keys.begin(), keys.end());
    check_sort(keys);
  }
}

TEST(largest_and_least_numbers) {
  Doubles keys(400);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const double ends[] = {1.7976931348623157e308, -1.7976931348623157e308, kInfinity, -kInfinity};
    keys[k] = ends[k * 7 % 4];
  }
  check_sort(keys);
}

TEST(random_sizes_and_mixtures) {
  trials(14, 600, [](Random& random) {
    Doubles keys(static_cast<std::size_t>(integer(random, 0, 700)));
    const double scale = std::pow(10.0, static_cast<double>(integer(random, -12, 12)));
    const double ties = real(random, 0.0, 1.0), never = chance(random, 0.3) ? 0.2 : 0.0;
    for (double& key : keys) {
      key = chance(random, never)  ? kInfinity
            : chance(random, ties) ? scale * static_cast<double>(integer(random, -3, 3))
                                   : scale * real(random, -1.0, 1.0);
    }
    check_sort(keys);
  });
}

}  // namespace test_key_sort
}  // namespace malleable::check
