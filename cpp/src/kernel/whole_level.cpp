#include "malleable/kernel/whole_level.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {

namespace {

struct LevelSum {
  double slots = 0.0;  // slots at a level
  double more = 0.0;   // slots that one level more would take
};

MALLEABLE_VECTOR_CLONES
LevelSum at(const double* low, const double* room, std::size_t n, double level) {
  double slots = 0.0, more = 0.0;
#pragma omp simd reduction(+ : slots, more)
  for (std::size_t row = 0; row < n; ++row) {
    const double m = low[row], most = m + room[row];
    const double own = level < m ? m : level;
    slots += own < most ? own : most;
    more += ((level >= m) & (level < most)) ? 1.0 : 0.0;
  }
  return {slots, more};
}

}  // namespace

// The largest whole level at which max(low, min(level, low + room)) sum to at most the slots, and
// the slots left over; the search begins at `from`.
WholeLevel whole_level(std::span<const double> low, std::span<const double> room, double slots,
                       double from) {
  const std::size_t n = low.size();
  const auto sum_at = [&](double level) { return at(low.data(), room.data(), n, level); };
  if (sum_at(-1.0).slots > slots) return {};
  if (sum_at(kInfinity).slots <= slots) return {kInfinity, 0.0, true};
  // sum(below) <= slots < sum(above); the level is below some maximum, because not all jobs are at
  // theirs.
  double below = 0.0, above = slots + 1.0;
  double level = std::isfinite(from) ? std::min(from, slots) : 0.0;
  for (bool halve = false;; halve = !halve) {
    const LevelSum sum = sum_at(level);
    const double error = slots - sum.slots;
    if (error >= 0.0 && error < sum.more) return {level, error, true};
    (error >= 0.0 ? below : above) = level;
    double guess = sum.more > 0.0 ? level + std::floor(error / sum.more) : below;
    if (halve || !(guess > below && guess < above)) guess = std::floor((below + above) / 2.0);
    if (!(guess > below)) {  // above is the next level, and nothing is left over
      return {below, slots - sum_at(below).slots, true};
    }
    level = guess;
  }
}

}  // namespace malleable
