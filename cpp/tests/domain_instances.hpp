// Numbers from the whole domain and its corners (model/domain.hpp): zeros, least, largest and equal
// ones, and numbers between on a logarithmic scale.
#pragma once

#include <cmath>

#include "instances.hpp"
#include "malleable/model/domain.hpp"

namespace malleable::check {

inline double log_uniform(Random& random, double least, double most) {
  return std::clamp(std::exp(real(random, std::log(least), std::log(most))), least, most);
}

// How the numbers of one column are drawn.
struct Column {
  Range range;
  int style;
  double same, centre;
  Column(Random& random, const Range& of)
      : range(of),
        style(static_cast<int>(integer(random, 0, 5))),
        same(log_uniform(random, of.least, of.most)),
        centre(log_uniform(random, of.least * 1e3, of.most * 1e-3)) {}
  double draw(Random& random) const {
    switch (style) {
      case 0:
        return same;
      case 1:  // corners
        switch (integer(random, 0, 3)) {
          case 0:
            return range.zero ? 0.0 : range.least;
          case 1:
            return range.least;
          case 2:
            return range.most;
          default:
            return same;
        }
      case 2:  // of similar sizes
        return centre * real(random, 0.1, 10.0);
      case 3:  // hardly different ones
        return std::clamp(same * (1.0 + real(random, -1e-15, 1e-15)), range.least, range.most);
      default:
        return chance(random, 0.1) && range.zero ? 0.0
                                                 : log_uniform(random, range.least, range.most);
    }
  }
};

inline std::int64_t corner_slots(Random& random) {
  const std::int64_t some[] = {1, 2, 7, std::int64_t{1} << 31, kMostSlots};
  return chance(random, 0.2) ? integer(random, 1, 100) : some[random() % 5];
}

inline double corner_now(Random& random) {
  const double some[] = {0.0, 1.7e9, -1e12, 1e12};
  return some[random() % 4];
}

inline std::int64_t log_count(Random& random, std::int64_t most) {
  return static_cast<std::int64_t>(std::floor(log_uniform(random, 1.0, static_cast<double>(most))));
}

// Jobs that have arrived by `now`.
inline Table domain_table(Random& random, std::size_t jobs, std::int64_t slots, double now) {
  Table table;
  const Column work(random, kWorkRange), weight(random, kWeightRange), away(random, kWorkRange);
  const Column penalty(random, kWeightRange);
  const bool minima = chance(random, 0.6), overcommit = chance(random, 0.2);
  const bool maxima = chance(random, 0.8), unweighted = chance(random, 0.3);
  std::int64_t left = slots;
  const auto time = [&](double sign) {
    return std::clamp(now + sign * away.draw(random), -kLatestTime, kLatestTime);
  };
  for (std::size_t j = 0; j < jobs; ++j) {
    std::int64_t high = kAllSlots, low = 0;
    if (maxima && chance(random, 0.8)) {
      high = chance(random, 0.1) ? kMostSlots : log_count(random, slots);
    }
    if (minima && chance(random, 0.5)) {
      low = log_count(random, overcommit ? kMostSlots : std::max<std::int64_t>(1, left));
      if (low > left && !overcommit) low = 0;
      low = std::min(low, high);
      left -= low;
    }
    table.add(work.draw(random), low, high, unweighted ? 1.0 : weight.draw(random),
              chance(random, 0.1) ? kInfinity : time(chance(random, 0.2) ? -1.0 : 1.0),
              chance(random, 0.3) ? now : std::min(now, time(-1.0)));
    double at = time(chance(random, 0.5) ? -1.0 : 1.0), paid = 0.0;
    for (std::int64_t steps = integer(random, 0, 3); steps > 0 && at < kLatestTime; --steps) {
      paid = std::min(std::max(paid, penalty.draw(random)), kWeightRange.most);
      table.step(at, paid);
      at = std::min(std::nextafter(at, kInfinity) + away.draw(random), kLatestTime);
    }
  }
  return table;
}

inline std::size_t domain_count(Random& random) {
  return static_cast<std::size_t>(chance(random, 0.03)  ? integer(random, 65, 200)
                                  : chance(random, 0.1) ? integer(random, 9, 40)
                                                        : integer(random, 0, 8));
}

}  // namespace malleable::check
