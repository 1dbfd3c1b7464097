#include <algorithm>
#include <cmath>
#include <vector>

#include "malleable/kernel/bundle_ascent.hpp"
#include "oracles.hpp"

namespace malleable::check {
namespace test_bundle_ascent {

// The least of some planes over x >= 0; the first ones fall everywhere, so there is a maximum.
struct Planes {
  std::vector<Doubles> slope;
  Doubles height;

  double at(std::span<const double> x, Doubles& gradient) const {
    double least = kInfinity;
    for (std::size_t i = 0; i < slope.size(); ++i) {
      double value = height[i];
      for (std::size_t k = 0; k < x.size(); ++k) value += slope[i][k] * x[k];
      if (!(value < least)) continue;
      least = value;
      gradient = slope[i];
    }
    return least;
  }
};

Planes random_planes(Random& random, std::size_t coordinates) {
  Planes made;
  for (int i = 0; i < 12; ++i) {
    Doubles& slope = made.slope.emplace_back();
    for (std::size_t k = 0; k < coordinates; ++k) {
      slope.push_back(i == 0 ? real(random, -2.0, -1.0) : real(random, -1.0, 1.0));
    }
    made.height.push_back(i == 0 ? 10.0 : real(random, 0.0, 5.0));
  }
  return made;
}

double climb(const Planes& planes, std::size_t coordinates, std::size_t evaluations, double goal) {
  BundleAscent bundle;
  Doubles x(coordinates, 0.0), gradient;
  const double first = planes.at(x, gradient);
  bundle.begin(x, first, gradient, goal);
  double before = bundle.value();
  for (std::size_t k = 1; k < evaluations && bundle.next(x); ++k) {
    CHECK(*std::min_element(x.begin(), x.end()) >= 0.0);
    const double value = planes.at(x, gradient);
    bundle.tell(x, value, gradient);
    CHECK(bundle.value() >= before);  // the best point is kept
    before = bundle.value();
  }
  Doubles unused;
  CHECK_NEAR(planes.at(bundle.best(), unused), bundle.value(), 1e-9 * (1.0 + std::fabs(before)));
  return before;
}

// By looking everywhere on ever finer grids.
TEST(two_coordinates_by_looking_everywhere) {
  trials(1, 200, [&](Random& random) {
    const Planes planes = random_planes(random, 2);
    Doubles centre{5.0, 5.0}, unused;
    double best = -kInfinity;
    for (double reach = 5.0; reach > 1e-5; reach *= 0.5) {
      Doubles next = centre;
      for (int i = -20; i <= 20; ++i) {
        for (int k = -20; k <= 20; ++k) {
          const Doubles x{std::max(0.0, centre[0] + reach * i / 20),
                          std::max(0.0, centre[1] + reach * k / 20)};
          const double value = planes.at(x, unused);
          if (value > best) {
            best = value;
            next = x;
          }
        }
      }
      centre = next;
    }
    const double found = climb(planes, 2, 200, 10.0);
    CHECK_AT_MOST(best - found, 1e-3 * (1.0 + std::fabs(best)), 0.0);
  });
}

// A sum of tents over many coordinates of which two matter: few evaluations find them.
TEST(few_of_many_coordinates) {
  constexpr std::size_t kMany = 500;
  BundleAscent bundle;
  Doubles x(kMany, 0.0), gradient(kMany);
  const auto look = [&](std::span<const double> at) {
    double value = 0.0;
    for (std::size_t k = 0; k < kMany; ++k) {
      const double slope = k == 100 ? 2.0 : k == 400 ? 1.0 : -0.5;
      const double top = k == 100 ? 3.0 : k == 400 ? 7.0 : 0.0;
      gradient[k] = at[k] < top ? slope : -0.5;
      value += std::min(slope * at[k], slope * top - 0.5 * (at[k] - top));
    }
    return value;
  };
  bundle.begin(x, look(x), gradient, 20.0);
  std::size_t evaluations = 1;
  for (; evaluations < 60 && bundle.next(x); ++evaluations) {
    const double value = look(x);
    bundle.tell(x, value, gradient);
  }
  CHECK_NEAR(bundle.value(), 13.0, 1e-4);
  CHECK_NEAR(bundle.best()[100], 3.0, 1e-3);
  CHECK_NEAR(bundle.best()[400], 7.0, 1e-3);
}

TEST(a_start_at_the_top_stays) {
  BundleAscent bundle;
  Doubles x(3, 0.0);
  const Doubles falls(3, -1.0);
  bundle.begin(x, 4.0, falls, 10.0);
  CHECK(!bundle.next(x));
  CHECK(bundle.value() == 4.0);
}

}  // namespace test_bundle_ascent
}  // namespace malleable::check
