// Random batches of map and shuffle jobs with sizes in quarters, so that ties and zeros are common.
#pragma once

#include <cstddef>
#include <vector>

#include "check.hpp"

namespace malleable::check {

struct Batch {
  std::vector<double> map, shuffle;
};

inline Batch batch(Random& random, std::size_t count) {
  const auto draw = [&] { return static_cast<double>(random() % 9) / 4.0; };
  Batch b;
  for (std::size_t j = 0; j < count; ++j) {
    b.map.push_back(draw());
    b.shuffle.push_back(draw());
  }
  return b;
}

}  // namespace malleable::check
