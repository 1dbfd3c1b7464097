#include "malleable/kernel/live_waterline.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {

std::size_t LiveWaterline::add(Index item, double low, double high) {
  item_.push_back(item);
  low_.push_back(low);
  room_.push_back(high - low);
  given_.push_back(0.0);
  ++live_;
  return item_.size() - 1;
}

void LiveWaterline::erase(std::size_t row) {
  item_[row] = kNone;
  low_[row] = room_[row] = given_[row] = 0.0;
  --live_;
}

void LiveWaterline::close_gaps() {
  std::size_t kept = 0;
  for (std::size_t row = 0; row < item_.size(); ++row) {
    if (item_[row] == kNone) continue;
    item_[kept] = item_[row];
    low_[kept] = low_[row];
    room_[kept] = room_[row];
    given_[kept++] = given_[row];
  }
  item_.resize(kept);
  for (auto* column : {&low_, &room_, &given_}) column->resize(kept);
}

namespace {

struct LevelSum {
  double slots = 0.0;  // at a level
  double more = 0.0;   // that one level more would take
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

WholeLevel whole_level(std::span<const double> low, std::span<const double> room, double slots,
                       double from) {
  const std::size_t n = low.size();
  const auto sum_at = [&](double level) { return at(low.data(), room.data(), n, level); };
  if (sum_at(-1.0).slots > slots) return {};
  if (sum_at(kInfinity).slots <= slots) return {kInfinity, 0.0, true};
  // sum(below) <= slots < sum(above); the level is below a maximum, as not everybody is at one.
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

bool LiveWaterline::find_level(double slots) {
  const WholeLevel found = whole_level(low_, room_, slots, level_);
  if (!found.fits) return false;
  level_ = found.level;
  left_ = found.left;
  return true;
}

}  // namespace malleable
