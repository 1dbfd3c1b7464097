#include "malleable/kernel/live_waterline.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {

std::size_t LiveWaterline::add(Index item, double low, double high) {
  item_.push_back(item);
  low_.push_back(low);
  high_.push_back(high);
  given_.push_back(0.0);
  ++live_;
  return item_.size() - 1;
}

void LiveWaterline::erase(std::size_t row) {
  item_[row] = kNone;
  low_[row] = high_[row] = given_[row] = 0.0;
  --live_;
}

void LiveWaterline::close_gaps() {
  std::size_t kept = 0;
  for (std::size_t row = 0; row < item_.size(); ++row) {
    if (item_[row] == kNone) continue;
    item_[kept] = item_[row];
    low_[kept] = low_[row];
    high_[kept] = high_[row];
    given_[kept++] = given_[row];
  }
  item_.resize(kept);
  for (auto* column : {&low_, &high_, &given_}) column->resize(kept);
}

MALLEABLE_VECTOR_CLONES
LiveWaterline::Sum LiveWaterline::at(double level) const {
  const std::size_t n = item_.size();
  const double *const low = low_.data(), *const high = high_.data();
  double slots = 0.0, more = 0.0;
#pragma omp simd reduction(+ : slots, more)
  for (std::size_t row = 0; row < n; ++row) {
    const double m = low[row], most = high[row];
    const double own = level < m ? m : level;
    slots += own < most ? own : most;
    more += ((level >= m) & (level < most)) ? 1.0 : 0.0;
  }
  return {slots, more};
}

bool LiveWaterline::find_level(double slots) {
  double most = 0.0, least = 0.0;
  for (std::size_t row = 0; row < item_.size(); ++row) {
    most += high_[row];
    least += low_[row];
  }
  if (least > slots) return false;
  if (most <= slots) {
    level_ = kInfinity;
    left_ = 0.0;
    return true;
  }
  // sum(below) <= slots < sum(above); the level is below a maximum, as not everybody is at one.
  double below = 0.0, above = slots + 1.0;
  double level = std::isfinite(level_) ? std::min(level_, slots) : 0.0;
  for (bool halve = false;; halve = !halve) {
    const Sum sum = at(level);
    const double error = slots - sum.slots;
    if (error >= 0.0 && error < sum.more) {
      level_ = level;
      left_ = error;
      return true;
    }
    (error >= 0.0 ? below : above) = level;
    double guess = sum.more > 0.0 ? level + std::floor(error / sum.more) : below;
    if (halve || !(guess > below && guess < above)) guess = std::floor((below + above) / 2.0);
    if (!(guess > below)) {  // above is the next level, and nothing is left over
      level_ = below;
      left_ = slots - at(below).slots;
      return true;
    }
    level = guess;
  }
}

}  // namespace malleable
