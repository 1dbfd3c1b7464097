#include "malleable/kernel/linear_level.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr int kCellRounds = 60;  // passes over cells
constexpr int kLevelSteps = 60;  // Newton steps within a window
constexpr int kCellBits = 8;     // 2^8 cells for each doubling of time,
constexpr int kDoublings = 16;   // and so many doublings
constexpr int kShift = 52 - kCellBits;
constexpr std::size_t kCells = std::size_t{kDoublings} << kCellBits;
constexpr std::size_t kBlock = 512;
constexpr std::size_t kMostWindows = 4;
// An excess of this share of S t is too much for windows: first a step over all jobs.
constexpr double kNear = 1e-5;
// Levels are looked at in windows up to so many times what the bounds of excesses ask for.
constexpr double kWindow = 4.0;
// [of S t] What counts as rounding (kernel/forced_work).
constexpr double kAllowed = 2.0 * kRounding;

struct LineColumns {
  const double *work, *low, *room, *at, *slope;
};

LineColumns line_columns(const LinearLevel::Jobs& jobs, std::size_t first = 0) {
  return {jobs.work.data() + first, jobs.low.data() + first, jobs.room.data() + first,
          jobs.at.data() + first, jobs.slope.data() + first};
}

inline double line_due(double at, double slope, double level, double now) {
  const double latest = at + level / slope;
  return latest + tolerance(latest) - now;
}

// In eight lanes whose order never changes.
constexpr std::size_t kLanes = 8;
struct Lanes {
  double forced[kLanes], fall[kLanes], alone[kLanes], least[kLanes];
};

// What is forced before t at a level, how fast that falls with it; what a job pays that ends as
// early as it can alone, at most; and the least work and slope.
MALLEABLE_VECTOR_CLONES
void add_forced_lines(const LineColumns& jobs, std::size_t n, double now, double t, double level,
                      Lanes* sums) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums->forced[lane] = sums->fall[lane] = 0.0;
    sums->alone[lane] = -kInfinity;
    sums->least[lane] = kInfinity;
  }
  const auto add = [&](std::size_t j, std::size_t lane) {
    const double work = jobs.work[j], low = jobs.low[j], high = low + jobs.room[j];
    const double at = jobs.at[j], slope = jobs.slope[j];
    const double due = line_due(at, slope, level, now);
    const double left = due > t ? due - t : 0.0;
    const double least = low * t;
    const double head = least < work ? least : work;
    const double tail = work - high * left;
    const bool bound = tail > head;
    sums->forced[lane] += bound ? tail : head;
    sums->fall[lane] += bound && due >= t ? high / slope : 0.0;
    const double alone = slope * (now + work / high - at);
    sums->alone[lane] = alone > sums->alone[lane] ? alone : sums->alone[lane];
    const double lesser = work < slope ? work : slope;
    sums->least[lane] = lesser < sums->least[lane] ? lesser : sums->least[lane];
  };
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
#pragma omp simd
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(j + lane, lane);
  }
  for (; j < n; ++j) add(j, j % kLanes);
}

// Where what jobs force turns: up at `first` by `rise`, down at `second` by `drop`; `steep` is how
// fast it falls with the level in between.
struct Turns {
  double *first, *second, *rise, *drop, *steep;
};

MALLEABLE_VECTOR_CLONES
void list_turns(const LineColumns& jobs, std::size_t n, double now, double level,
                const Turns& turns) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const double work = jobs.work[j], low = jobs.low[j], room = jobs.room[j], high = low + room;
    const double due = line_due(jobs.at[j], jobs.slope[j], level, now);
    const bool enough = work <= low * due;  // its minimum is
    const double last = high * due - work;
    const double up = room > 0.0 ? (last > 0.0 ? last : 0.0) / room : (due > 0.0 ? due : 0.0);
    turns.first[j] = enough ? kInfinity : up;
    turns.second[j] = enough ? work / low : due;
    turns.rise[j] = room;
    turns.drop[j] = enough ? low : high;
    turns.steep[j] = enough ? 0.0 : high / jobs.slope[j];
  }
}

}  // namespace

// A lower bound of the level: where one job alone ends, and one step from `near`.
bool LinearLevel::start(const Jobs& jobs, double near, double floor) {
  const double end = sum_of(jobs.work) / slots_;
  double t = full_ - now_;
  if (!(t > 0.0 && t < end)) t = 0.5 * end;
  Lanes sums;
  const double tried = std::isfinite(near) ? near : 0.0;
  add_forced_lines(line_columns(jobs), jobs.size(), now_, t, tried, &sums);
  if (!(*std::min_element(sums.least, sums.least + kLanes) > 0.0)) return false;
  level_ = std::max(floor, *std::max_element(sums.alone, sums.alone + kLanes));
  const double fall = sum_lanes(sums.fall);
  const double excess = sum_lanes(sums.forced) - (1.0 + kAllowed) * slots_ * t;
  if (fall > 0.0) level_ = std::max(level_, tried + excess / fall);
  // Cells from 2^-16 of the end on; the first begins at 0.
  const std::uint64_t last = (std::bit_cast<std::uint64_t>(end) >> kShift) + 1;
  edge_.resize(kCells + 1);
  for (std::size_t k = 0; k <= kCells; ++k) {
    edge_[k] = std::bit_cast<double>((last - kCells + k) << kShift);
  }
  edge_[0] = 0.0;
  return true;
}

// All turns into their cells; those behind the end, when all work could be done, into one more.
void LinearLevel::spread(const Jobs& jobs, double level) {
  cells_.assign(kCells + 1, {0.0, 0.0, 0.0, 0.0});
  for (auto& column : turn_) column.resize(kBlock);
  const auto first_bits = (std::bit_cast<std::uint64_t>(edge_[1]) >> kShift) - 1;
  const auto cell_of = [&](double t) -> std::size_t {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(std::max(t, 0.0)) >> kShift;
    if (bits <= first_bits) return 0;
    return std::min<std::uint64_t>(bits - first_bits, kCells);
  };
  const Turns turns{turn_[0].data(), turn_[1].data(), turn_[2].data(), turn_[3].data(),
                    turn_[4].data()};
  for (std::size_t begin = 0; begin < jobs.size(); begin += kBlock) {
    const std::size_t n = std::min(kBlock, jobs.size() - begin);
    list_turns(line_columns(jobs, begin), n, now_, level, turns);
    for (std::size_t j = 0; j < n; ++j) {
      if (const std::size_t k = cell_of(turns.first[j]); k < kCells) {
        Cell& cell = cells_[k];
        cell.plus += turns.rise[j];
        cell.gained += turns.rise[j] * (edge_[k + 1] - turns.first[j]);
        cell.fall += turns.steep[j];
      }
      if (const std::size_t k = cell_of(turns.second[j]); k < kCells) {
        Cell& cell = cells_[k];
        cell.minus += turns.drop[j];
        cell.gained -= turns.drop[j] * (edge_[k + 1] - std::max(turns.second[j], 0.0));
        cell.fall -= turns.steep[j];
      }
    }
  }
}

// The border with the largest excess; windows_ becomes the cells that may have more than rounding.
LinearLevel::Peak LinearLevel::look(double minima) {
  windows_.clear();
  reach_ = 0.0;
  double rate = minima - slots_, excess = 0.0, fall = 0.0;
  Peak worst{0.0, 0.0, 0.0};
  for (std::size_t k = 0; k < kCells; ++k) {
    const Cell& cell = cells_[k];
    const double begin = edge_[k], end = edge_[k + 1], width = end - begin;
    const double next = excess + rate * width + cell.gained;
    const double from_left = excess + std::max(0.0, rate + cell.plus) * width;
    const double from_right = next + std::max(0.0, cell.minus - rate) * width;
    const double most = std::min(from_left, from_right);
    if (most > kAllowed * slots_ * begin) {
      const double falls = std::max(fall, fall + cell.fall);
      if (falls > 0.0) reach_ = std::max(reach_, most / falls);
      if (!windows_.empty() && windows_.back().until == begin) {
        windows_.back().until = end;
      } else {
        windows_.push_back({begin, end});
      }
    }
    excess = next;
    rate += cell.plus - cell.minus;
    fall += cell.fall;
    if (excess - kAllowed * slots_ * end > worst.excess) {
      worst = {end, excess - kAllowed * slots_ * end, fall};
    }
  }
  return worst;
}

// Between two levels, what jobs force within a window: others_ for those on one line, and the rest
// as columns of their own. False: too many of these.
bool LinearLevel::gather(const Jobs& jobs, Window window, double level, double cap) {
  for (auto* column : {&work_, &low_, &high_, &at_, &slope_}) column->clear();
  others_ = {0.0, 0.0, 0.0};
  base_ = level;
  const auto [from, until] = window;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const double work = jobs.work[j], low = jobs.low[j], high = low + jobs.room[j];
    const double at = jobs.at[j], slope = jobs.slope[j];
    const double due = line_due(at, slope, level, now_), later = line_due(at, slope, cap, now_);
    if (later < from || work <= low * from) {
      others_.work += work;  // done before the window
    } else if (work >= low * until && work - high * (due - until) <= low * until) {
      others_.rate += low;  // the minimum suffices until the end of it
    } else if (due >= until && work - high * (later - from) >= low * from) {
      others_.work += work - high * due;
      others_.rate += high;
      others_.fall += high / slope;
    } else {
      work_.push_back(work);
      low_.push_back(low);
      high_.push_back(high);
      at_.push_back(at);
      slope_.push_back(slope);
    }
  }
  return 4 * work_.size() <= jobs.size() + 4 * kBlock;
}

// Within the window, at a level.
LinearLevel::Peak LinearLevel::peak(Window window, double level) {
  const double from = window.from, until = window.until;
  double excess = others_.work - others_.fall * (level - base_) + others_.rate * from;
  double rate = others_.rate - slots_, fall = others_.fall;
  turns_.clear();
  const auto turn = [&](double time, double change, double steep) {
    if (time <= from) {
      excess += change * (from - time);
      rate += change;
      fall += steep;
    } else if (time < until) {
      turns_.push_back({time, change, steep});
    }
  };
  for (std::size_t j = 0; j < work_.size(); ++j) {
    const double work = work_[j], low = low_[j], high = high_[j];
    const double due = line_due(at_[j], slope_[j], level, now_);
    turn(0.0, low, 0.0);
    if (work <= low * due) {
      turn(work / low, -low, 0.0);
    } else {
      const double steep = high / slope_[j];
      const double up = high > low ? std::max(0.0, (high * due - work) / (high - low)) : due;
      turn(up, high - low, steep);
      turn(due, -high, -steep);
    }
  }
  std::sort(turns_.begin(), turns_.end(), [](const Turn& a, const Turn& b) {
    return a.time != b.time ? a.time < b.time : a.change > b.change;
  });
  excess -= slots_ * from;
  Peak worst{from, excess - kAllowed * slots_ * from, fall};
  double time = from;
  const auto reach = [&](double next) {
    excess += rate * (next - time);
    time = next;
    const double over = excess - kAllowed * slots_ * time;
    if (over > worst.excess) worst = {time, over, fall};
  };
  for (const Turn& next : turns_) {
    reach(next.time);
    rate += next.change;
    fall += next.fall;
  }
  reach(until);
  return worst;
}

// Raises the level until no window has an excess, or to the cap; false: too much to look at.
bool LinearLevel::settle(const Jobs& jobs, double cap) {
  const double base = level_;
  for (const Window& window : windows_) {
    if (!gather(jobs, window, base, cap)) return false;
    for (int round = 0; round < kLevelSteps && level_ < cap; ++round) {
      const Peak top = peak(window, level_);
      if (!(top.excess > 0.0 && top.fall > 0.0)) break;
      const double before = level_;
      level_ = std::min(cap, level_ + top.excess / top.fall);
      full_ = now_ + top.time;
      if (!(level_ > before)) break;  // overloaded by no more than rounding
    }
  }
  return true;
}

std::optional<double> LinearLevel::find(const Jobs& jobs, double slots, double now, double near,
                                        double floor) {
  slots_ = slots;
  now_ = now;
  if (jobs.size() == 0 || !start(jobs, near, floor)) return std::nullopt;
  const double minima = sum_of(jobs.low);
  for (int round = 0; round < kCellRounds; ++round) {
    spread(jobs, level_);
    const Peak top = look(minima);
    if (windows_.empty()) return level_;
    const double before = level_;
    if (top.excess > kNear * slots_ * top.time || windows_.size() > kMostWindows) {
      if (!(top.excess > 0.0 && top.fall > 0.0)) return std::nullopt;
      level_ += top.excess / top.fall;
      full_ = now_ + top.time;
      continue;
    }
    const double cap = level_ + kWindow * reach_ + kAmple * std::max(std::fabs(level_), 1e-9);
    if (!settle(jobs, cap)) return std::nullopt;
    if (level_ < cap) return level_;
    if (!(level_ > before)) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace malleable
