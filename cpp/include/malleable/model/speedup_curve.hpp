// A distribution over p, if s tasks of a phase together do s^p: a chance for each p of a grid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace malleable {

inline constexpr std::size_t kSpeedups = 16;   // values of p that are told apart
inline constexpr double kLeastSpeedup = 0.25;  // the least of them
// By p: kLeastSpeedup, then in steps of 0.05 up to 1.
using SpeedupCurve = std::array<double, kSpeedups>;

// Point g of the grid.
constexpr double speedup_at(std::size_t g) {
  return g + 1 == kSpeedups ? 1.0 : kLeastSpeedup + 0.05 * static_cast<double>(g);
}

// The prior of p. kOwn: every task has its own processor. kBeyond: more tasks run than there are
// processors.
enum class SpeedupPrior : std::uint8_t { kOwn, kUnknown, kBeyond };

}  // namespace malleable
