#include "malleable/kernel/linear_level.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: job j has the work W and from m to m + room slots; its penalty is a line in its
// completion. A level is a value of the objective; it sets each job a due time, which forces work
// before each time t. The excess is the forced work beyond S t, with S slots. Cells are spans of
// time that grow in proportion to time.
namespace {

constexpr int kRounds = 60;             // most passes over cells
constexpr double kSameLevel = 1e-9;     // a step that is no longer than this is rounding
constexpr int kCellBits = 8;            // 2^8 cells for each doubling of time,
constexpr int kDoublings = 16;          // and doublings of time
constexpr int kShift = 52 - kCellBits;  // bits of a double below those of its cell
constexpr std::size_t kCells = std::size_t{kDoublings} << kCellBits;
constexpr std::size_t kBlock = 512;  // jobs whose changes are listed before they go into cells
// [of S t] An excess up to this counts as rounding (kernel/demand_bound).
constexpr double kAllowed = 2.0 * kRounding;

struct LineColumns {
  const double *work, *low, *room, *at, *slope;
};

// The jobs' columns from `first` on.
LineColumns line_columns(const LinearLevel::Jobs& jobs, std::size_t first = 0) {
  return {jobs.work.data() + first, jobs.low.data() + first, jobs.room.data() + first,
          jobs.at.data() + first, jobs.slope.data() + first};
}

// The latest completion, from now, at which the penalty slope * (t - at) is at most the level.
inline double line_due(double at, double slope, double level, double now) {
  const double latest = at + level / slope;
  return latest + tolerance(latest) - now;
}

// Sums use eight lanes whose order never changes.
constexpr std::size_t kLanes = 8;
struct Lanes {
  double forced[kLanes], fall[kLanes], alone[kLanes], least[kLanes];
};

// Sums over jobs: the work forced before t at a level, how fast it falls with the level; the
// largest penalty of a job that ends as early as it can alone; the least work and slope.
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

// Changes of the rate of a job's forced work: up at `first` by `rise`, down at `second` by `drop`;
// `steep` is how fast it falls with the level in between.
struct RateChanges {
  double *first, *second, *rise, *drop, *steep;
};

MALLEABLE_VECTOR_CLONES
void list_rate_changes(const LineColumns& jobs, std::size_t n, double now, double level,
                       const RateChanges& changes) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    const double work = jobs.work[j], low = jobs.low[j], room = jobs.room[j], high = low + room;
    const double due = line_due(jobs.at[j], jobs.slope[j], level, now);
    const bool enough = work <= low * due;  // its minimum is enough
    const double last = high * due - work;
    const double up = room > 0.0 ? (last > 0.0 ? last : 0.0) / room : (due > 0.0 ? due : 0.0);
    changes.first[j] = enough ? kInfinity : up;
    changes.second[j] = enough ? work / low : due;
    changes.rise[j] = room;
    changes.drop[j] = enough ? low : high;
    changes.steep[j] = enough ? 0.0 : high / jobs.slope[j];
  }
}

}  // namespace

// Sets a lower bound of the level: the largest penalty of a job alone, and one step from `near`.
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

// Adds all changes to their cells; changes after the time when all work can be done go into one
// more cell.
void LinearLevel::fill_cells(const Jobs& jobs, double level) {
  cells_.assign(kCells + 1, {0.0, 0.0, 0.0, 0.0});
  for (auto& column : changes_) column.resize(kBlock);
  const auto first_bits = (std::bit_cast<std::uint64_t>(edge_[1]) >> kShift) - 1;
  const auto cell_of = [&](double t) -> std::size_t {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(std::max(t, 0.0)) >> kShift;
    if (bits <= first_bits) return 0;
    return std::min<std::uint64_t>(bits - first_bits, kCells);
  };
  const RateChanges changes{changes_[0].data(), changes_[1].data(), changes_[2].data(),
                            changes_[3].data(), changes_[4].data()};
  for (std::size_t begin = 0; begin < jobs.size(); begin += kBlock) {
    const std::size_t n = std::min(kBlock, jobs.size() - begin);
    list_rate_changes(line_columns(jobs, begin), n, now_, level, changes);
    for (std::size_t j = 0; j < n; ++j) {
      if (const std::size_t k = cell_of(changes.first[j]); k < kCells) {
        Cell& cell = cells_[k];
        cell.plus += changes.rise[j];
        cell.gained += changes.rise[j] * (edge_[k + 1] - changes.first[j]);
        cell.fall += changes.steep[j];
      }
      if (const std::size_t k = cell_of(changes.second[j]); k < kCells) {
        Cell& cell = cells_[k];
        cell.minus += changes.drop[j];
        cell.gained -= changes.drop[j] * (edge_[k + 1] - std::max(changes.second[j], 0.0));
        cell.fall -= changes.steep[j];
      }
    }
  }
}

// The border with the largest excess.
LinearLevel::Peak LinearLevel::worst_border(double minima) const {
  double rate = minima - slots_, excess = 0.0, fall = 0.0;
  Peak worst{0.0, 0.0, 0.0};
  for (std::size_t k = 0; k < kCells; ++k) {
    const Cell& cell = cells_[k];
    const double end = edge_[k + 1];
    excess += rate * (end - edge_[k]) + cell.gained;
    rate += cell.plus - cell.minus;
    fall += cell.fall;
    const double over = excess - kAllowed * slots_ * end;
    if (over > worst.excess) worst = {end, over, fall};
  }
  return worst;
}

// The least level without excess at any border of cells, at least `floor`: Newton steps from `near`
// on the border with the largest excess.
std::optional<double> LinearLevel::find(const Jobs& jobs, double slots, double now, double near,
                                        double floor) {
  slots_ = slots;
  now_ = now;
  if (jobs.size() == 0 || !start(jobs, near, floor)) return std::nullopt;
  const double minima = sum_of(jobs.low);
  for (int round = 0; round < kRounds; ++round) {
    fill_cells(jobs, level_);
    const Peak top = worst_border(minima);
    if (!(top.excess > 0.0 && top.fall > 0.0)) return level_;
    const double before = level_;
    level_ += top.excess / top.fall;
    full_ = now_ + top.time;
    if (!(level_ - before > kSameLevel * std::fabs(level_))) return level_;
  }
  return level_;
}

}  // namespace malleable
