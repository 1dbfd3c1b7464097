// Bounds of max objectives: work that deadlines force before a time. A level is a value of the
// objective; it sets each flow a deadline, and passes if no time is overloaded. The excess at a
// time is the forced work beyond what the slots can do by then.
#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/kernel/flow_bound.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

constexpr int kNewtonOnly = 4;  // steps towards a level before longer ones are tried

}  // namespace

// The time with the largest excess.
FlowBound::Peak FlowBound::peak(std::span<const double> due) {
  sweep_.clear();
  double excess = 0.0, slope = 0.0, scale = 0.0, unsure = 0.0, last = 0.0;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] == 0.0 || due[j] == kInfinity) continue;
    scale += problem_->volume[j];
    unsure += rounding(j, due[j], 0.0);
    last = std::max(last, due[j]);
    excess += forced(j, due[j], 0.0);
    double before = 0.0;
    for (std::size_t k = tail_.offset[j]; k < tail_.offset[j + 1]; ++k) {
      const double change = before - tail_.rate[k], t = due[j] - tail_.time[k];
      before = tail_.rate[k];
      if (t <= 0.0) {
        slope += change;
      } else {
        sweep_.push_back({t, change});
      }
    }
  }
  double before = 0.0;
  for (std::size_t k = 0; k < all_.time.size(); ++k) {
    const double change = before - all_.rate[k];
    before = all_.rate[k];
    if (all_.time[k] <= 0.0) {
      slope += change;
    } else {
      sweep_.push_back({all_.time[k], change});
    }
  }
  sweep_time_.resize(sweep_.size());
  sweep_order_.resize(sweep_.size());
  for (std::size_t k = 0; k < sweep_.size(); ++k) sweep_time_[k] = sweep_[k].time;
  sorter_.sort(sweep_time_, sweep_order_);
  Peak top{0.0, excess};
  double time = 0.0;
  for (const Index k : sweep_order_) {
    const Change& change = sweep_[k];
    excess += slope * (change.time - time);
    time = change.time;
    slope += change.rate;
    if (excess > top.excess) top = {time, excess};
  }
  unsure += rounding(std::min(last, all_.time.empty() ? 0.0 : all_.time.back()));
  top.excess = top.excess > kAmple * scale + unsure ? top.excess : 0.0;
  return top;
}

// Whether no schedule can meet all these due times.
bool FlowBound::impossible(std::span<const double> due) {
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] > 0.0 && earliest_[j] > due[j]) return true;
  }
  return peak(due).excess > 0.0;
}

// The excess of the work forced before a time, at a level.
double FlowBound::total_excess(const Penalties& penalties, double level, double time) const {
  double sum = 0.0, scale = 0.0;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] == 0.0) continue;
    const double latest = penalties.latest(j, level);
    if (latest == kInfinity) continue;
    scale += problem_->volume[j];
    const double due = latest + tolerance(latest) - problem_->now;
    sum += forced(j, due, time) - rounding(j, due, time);
  }
  return sum - (all_.at(0, time) + rounding(time)) - kAmple / 2.0 * scale;
}

// The largest level found, at least `fails`, at which more is forced before a time than fits:
// within rounding of the least that passes. Regula falsi (Illinois), bisection where it is slow.
double FlowBound::root(const Penalties& penalties, double fails, double passes, double time) {
  double over = total_excess(penalties, fails, time), under = total_excess(penalties, passes, time);
  int side = 0;  // the end that moved last
  for (int step = 0; step < 200; ++step) {
    const double width = kRounding * std::max(std::fabs(passes), kTiny);
    if (passes - fails <= width) break;
    double next = fails + (passes - fails) * (over / (over - under));
    // A little to the other side of the last value, so that both ends close in.
    next += side > 0 ? -width / 4.0 : width / 4.0;
    if (step % 3 == 2 || !(next > fails && next < passes)) next = fails + (passes - fails) / 2.0;
    if (!(next > fails && next < passes)) break;
    const double excess = total_excess(penalties, next, time);
    if (excess > 0.0) {
      fails = next;
      over = excess;
      if (side < 0) under /= 2.0;
      side = -1;
    } else {
      passes = next;
      under = excess;
      if (side > 0) over /= 2.0;
      side = 1;
    }
  }
  return fails;
}

// The least level at which no more is forced before a time than fits; `to` if there is none.
double FlowBound::next_level(const Penalties& penalties, double level, double to, double time) {
  if (total_excess(penalties, to, time) > 0.0) return to;
  const double fails = root(penalties, level, to, time);
  // Above `fails` the objective can only take a value that some flow's penalty takes.
  double next = kInfinity;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    next = std::min(next, penalties.next_value(j, fails));
  }
  return std::min(next, to);
}

// Climbs to a level ahead if that is overloaded, too.
void FlowBound::try_higher_level(const Penalties& penalties, double ahead, Climb& climb) {
  deadlines(penalties, ahead, level_due_);
  const Peak found = peak(level_due_);
  if (found.excess > 0.0 && total_excess(penalties, ahead, found.time) > 0.0) {
    climb.level = ahead;
    climb.known = found;
    climb.stride *= 2.0;
  } else {
    climb.passes = ahead;
    climb.stride /= 4.0;
  }
}

// The least level from `from` on that passes, at most `to`.
double FlowBound::max_level(const Penalties& penalties, double from, double to) {
  Climb climb{std::max(from, alone(penalties, Aggregate::kMax)), to};
  if (!(climb.level < to)) return std::min(climb.level, to);
  level_due_.resize(problem_->flows());
  for (int round = 0; round < 100 && climb.level < to; ++round) {
    if (round >= kNewtonOnly && is_late()) break;
    deadlines(penalties, climb.level, level_due_);
    if (climb.known.excess == 0.0) climb.known = peak(level_due_);
    const Peak top = std::exchange(climb.known, {0.0, 0.0});
    if (top.excess == 0.0 || total_excess(penalties, climb.level, top.time) <= 0.0) break;
    const double level = climb.level, next = next_level(penalties, level, to, top.time);
    if (!(next > level)) break;
    climb.level = next;
    // The overloaded time moves with the level, so that steps may be short: stride ahead.
    const double ahead = climb.ahead(next - level);
    if (!(next < climb.passes)) climb.passes = to;
    if (climb.passes - next <= kCloseLevel * std::fabs(climb.passes)) break;
    if (round < kNewtonOnly || !(ahead > next && ahead < climb.passes)) continue;
    try_higher_level(penalties, ahead, climb);
  }
  return std::min(climb.level, to);
}

}  // namespace malleable
