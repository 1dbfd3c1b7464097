// What is believed of p, where s tasks of a phase do s^p together: a chance for each p of a grid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace malleable {

inline constexpr std::size_t kSpeedups = 16;
inline constexpr double kLeastSpeedup = 0.25;
// By p: kLeastSpeedup, 0.05 more, .. 1.
using SpeedupCurve = std::array<double, kSpeedups>;

constexpr double speedup_at(std::size_t g) {
  return g + 1 == kSpeedups ? 1.0 : kLeastSpeedup + 0.05 * static_cast<double>(g);
}

// How sure p is before anything has run. kOwn: every task has a processor of its own; kBeyond: more
// tasks run than there are processors.
enum class SpeedupPrior : std::uint8_t { kOwn, kUnknown, kBeyond };

}  // namespace malleable
