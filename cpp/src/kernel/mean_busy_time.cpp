#include "malleable/kernel/mean_busy_time.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "malleable/model/tolerance.hpp"

namespace malleable {
// Terms: the relaxation serves jobs in order of work / price; the frontier is the first one that is
// not done: jobs before it have done the most that they can by now, jobs behind it the least. A
// gang runs on at least its minimum, or not at all.
namespace {

// int_0^t max(0, 1 - rate x / work) dx: the integral of the share of a job that is left. The share
// left, and not the share done, because beside long jobs the difference from the horizon would be
// all rounding.
double left_until(double work, double rate, double t) {
  if (rate <= 0.0) return t;
  const double full = work / rate;
  return t <= full ? t * (1.0 - t / full / 2.0) : full / 2.0;
}

// The same integral from t to infinity.
double left_after(double work, double rate, double t) {
  const double full = work / rate, open = std::max(0.0, full - t);
  return open * (open / full) / 2.0;
}

// The line C >= c + q (B - g(c)), with slope q, for a job that runs between m and M slots from the
// start: C is its completion, B its mean busy time (the mean of the times at which its units of
// work are done), and g(c) the largest B of a job that ends at c.
struct Tangent {
  double completion, busy, slope;
};

Tangent tangent(double work, double low, double high, double c) {
  const double alone = work / high;
  // Steeper lines, closer to work / low, would improve few bounds and spoil more.
  const double steep = 0.8 * work / low;  // infinite for low = 0
  const double most = steep > alone ? steep : alone;
  c = c > alone ? c : alone;
  c = c < most ? c : most;
  c = low > 0.0 ? c : alone;
  const double room = high - low;
  const double extra = work - low * c;  // runs at the end, at full rate, when B is largest
  const double busy = (low * c * c / 2.0 + extra * (c - extra / (2.0 * room))) / work;
  const double slope = work * room / (high * extra);
  const bool choice = room > 0.5;  // otherwise it runs at `high` and ends when it ends
  return {c, choice ? busy : alone / 2.0, choice ? slope : 0.0};
}

// The time at which a job meets min(work, high t), if `done` is done at `time` and `speed` holds
// from then on.
double crossing(double work, double high, double time, double done, double speed) {
  if (done >= std::min(work, high * time) * (1.0 - kLastDigits) && speed >= 0.0 &&
      (time * high >= work || speed >= high)) {
    return time;
  }
  if (!(speed > 0.0)) return kInfinity;
  const double to_work = time + (work - done) / speed;
  // It cannot reach high t; rounding must not make it end before that.
  if (!(speed > high)) return std::max(to_work, work / high);
  const double to_high = time + std::max(0.0, high * time - done) / (speed - high);
  return to_work * high >= work ? std::min(to_work, to_high) : to_high;
}

}  // namespace

void MeanBusyTime::sort_by_price(const Problem& problem) {
  const std::size_t n = problem.size();
  key_.resize(n);
  order_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    key_[j] = price_[j] > 0.0 ? problem.work[j] / price_[j] : kInfinity;
  }
  sorter_.sort(key_, order_);
}

namespace {

// The longest time of a job with work alone at its maximum; and the sum of all work.
struct Lengths {
  double longest = 0.0, total = 0.0;

  explicit Lengths(const Problem& problem) {
    for (std::size_t j = 0; j < problem.size(); ++j) {
      if (problem.work[j] == 0.0) continue;
      longest = std::max(longest, problem.work[j] / problem.high[j]);
      total += problem.work[j];
    }
  }
};

// Lists the ends of jobs on their minima, if these come before the frontier reaches them.
void list_lower_ends(const Problem& problem, std::span<const Index> order,
                     std::span<const double> low, double minima, JobEvents& events) {
  double before = 0.0, behind = minima;
  for (std::size_t p = 0; p < order.size(); ++p) {
    const Index j = order[p];
    before += problem.work[j];
    if (!(low[j] > 0.0)) continue;
    behind -= low[j];
    // The frontier has passed by the time in which all work up to here can be done.
    const double passed = before / (problem.slots - behind) * (1.0 + kAmple);
    const double end = problem.work[j] / low[j];
    if (!(end > passed)) events.push({end, low[j], static_cast<Index>(p), j});
  }
}

}  // namespace

// The least sum of prices times mean busy times.
double MeanBusyTime::relax(const Problem& problem) {
  const std::size_t n = problem.size();
  sort_by_price(problem);
  JobEvents &upper_events = upper_events_, &lower_events = lower_events_;
  start_empty(upper_events);
  start_empty(lower_events);
  busy_.assign(n, 0.0);

  // Work done by the jobs before (upper limits) and behind (lower limits) the frontier grows at
  // `rate`; `done` is its value at `time`.
  double time = 0.0, done = 0.0, rate = 0.0;
  for (const double low : low_) rate += low;
  list_lower_ends(problem, order_, low_, rate, lower_events);
  ended_.assign(n, 0);
  Index frontier = 0;
  double entered = 0.0;   // when the frontier came to its job
  double integral = 0.0;  // integral of that job's work left since then
  bool opened = false;
  const auto open = [&] {  // the frontier's job leaves the jobs behind
    const Index j = order_[frontier];
    if (low_[j] > 0.0) {
      done -= std::min(problem.work[j], low_[j] * time);
      if (!ended_[frontier]) rate -= low_[j];
    }
    entered = time;
    integral = 0.0;
    opened = true;
  };
  while (frontier < n) {
    const Index j = order_[frontier];
    const double work = problem.work[j], high = problem.high[j];
    if (work == 0.0) {
      ++frontier;
      continue;
    }
    if (!opened) open();
    // The next change of rate among the other jobs.
    while (lower_events.front().position <= frontier) lower_events.pop();
    const bool upper = upper_events.front().time <= lower_events.front().time;
    const double next = upper ? upper_events.front().time : lower_events.front().time;
    // The frontier job's work now, S t - done, against its upper limit min(work, high t).
    const double now_done = std::clamp(problem.slots * time - done, 0.0, work);
    const double speed = problem.slots - rate;
    const double cross = crossing(work, high, time, now_done, speed);
    const double until = std::min(cross, next);
    assert(until < kInfinity);
    if (until == kInfinity) break;
    const double span = std::max(0.0, until - time);
    integral += span * std::max(0.0, work - now_done - speed * span / 2.0);
    done += rate * span;
    time += span;
    if (cross <= next) {
      // The job had its lower limit before this time and its upper limit after it, so its whole
      // history is known.
      busy_[j] =
          left_until(work, low_[j], entered) + integral / work + left_after(work, high, time);
      done += std::min(work, high * time);
      if (work > high * time) {
        rate += high;
        upper_events.push({work / high, high, frontier, j});
      }
      ++frontier;
      opened = false;
    } else if (upper) {
      rate -= upper_events.front().slots;
      upper_events.pop();
    } else {
      rate -= lower_events.front().slots;
      ended_[lower_events.front().position] = 1;
      lower_events.pop();
    }
  }
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) sum += price_[j] * busy_[j];
  return sum;
}

// A line below the penalty of job j between two times, which touches its convex hull at t.
MeanBusyTime::Support MeanBusyTime::support(const Problem& problem, const Penalties& penalties,
                                            std::size_t j, double from, double to, double t) {
  const double now = problem.now;
  const std::size_t first = penalties.offset()[j], end = penalties.offset()[j + 1];
  if (end == first + 1) {
    return {penalties.line(first, now + t), penalties.slope()[first]};
  }
  // Lower convex hull of the points where the function may bend. A custom penalty is known only at
  // the samples and does not fall: each sample holds until the next one.
  hull_t_.clear();
  hull_v_.clear();
  const auto point = [&](double x, double v) {
    while (!hull_t_.empty() && hull_t_.back() == x) {
      if (hull_v_.back() <= v) return;
      hull_t_.pop_back();
      hull_v_.pop_back();
    }
    while (hull_t_.size() > 1) {
      const std::size_t k = hull_t_.size() - 1;
      if ((hull_v_[k] - hull_v_[k - 1]) * (x - hull_t_[k]) <
          (v - hull_v_[k]) * (hull_t_[k] - hull_t_[k - 1])) {
        break;
      }
      hull_t_.pop_back();
      hull_v_.pop_back();
    }
    hull_t_.push_back(x);
    hull_v_.push_back(v);
  };
  point(from, penalties(j, now + from));
  if (first == end) {
    constexpr int kSamples = 32;  // of a penalty without pieces
    for (int k = 1; k <= kSamples; ++k) {
      const double x = from + (to - from) * k / kSamples;
      const double before = from + (to - from) * (k - 1) / kSamples;
      point(x, penalties(j, now + before));
    }
  } else {
    for (std::size_t r = first + 1; r < end; ++r) {
      // A completion within the tolerance still meets the break point: it pays the row before.
      const double x = penalties.at()[r] + tolerance(penalties.at()[r]) - now;
      if (x > from && x < to) point(x, penalties.line(r - 1, penalties.at()[r]));
    }
    point(to, penalties(j, now + to));
  }
  const std::size_t k = static_cast<std::size_t>(
      std::upper_bound(hull_t_.begin(), hull_t_.end(), t) - hull_t_.begin());
  const std::size_t right =
      std::clamp<std::size_t>(k, 1, std::max<std::size_t>(hull_t_.size(), 2) - 1);
  if (hull_t_.size() < 2) return {hull_v_[0], 0.0};
  const double slope =
      std::max(0.0, (hull_v_[right] - hull_v_[right - 1]) / (hull_t_[right] - hull_t_[right - 1]));
  return {hull_v_[right] + slope * (t - hull_t_[right]), slope};
}

// The best bound of so many rounds, which move the points where lines touch penalties.
double MeanBusyTime::bound(const Problem& problem, const Penalties& penalties,
                           std::span<const double> start, std::span<const double> earliest,
                           int rounds) {
  const std::size_t n = problem.size();
  low_.assign(n, 0.0);
  if (!problem.gang) low_.assign(problem.low.begin(), problem.low.end());
  price_.resize(n);
  const Lengths lengths(problem);
  if (lengths.total == 0.0) return -kInfinity;
  // Some optimal schedule leaves no usable slot idle and so ends by then.
  double horizon = (lengths.total / problem.slots + lengths.longest) * (1.0 + kAmple);
  for (std::size_t j = 0; j < n; ++j) {  // the chain of a flow's jobs may be longer than that
    if (problem.work[j] > 0.0) horizon = std::max(horizon, earliest[j]);
  }
  point_.assign(start.begin(), start.end());
  double best = -kInfinity;
  // Times are known to a few roundings of the horizon, and the terms that they enter may cancel.
  constexpr double kTimes = 16.0 * std::numeric_limits<double>::epsilon();
  for (int round = 0; round < rounds; ++round) {
    double constant = 0.0, size = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double work = problem.work[j];
      if (work == 0.0) {
        price_[j] = 0.0;
        constant += penalties(j, problem.idle_end[j]);
        continue;
      }
      const double t = std::min(point_[j], horizon);
      const Tangent line = tangent(work, low_[j], problem.high[j], t);
      const Support f = support(problem, penalties, j, earliest[j], horizon, t);
      // f(C) >= f.value + f.slope (C - t) and C >= completion + slope (B - busy)
      price_[j] = f.slope * line.slope;
      constant += f.value + f.slope * (line.completion - line.slope * line.busy - t);
      size += std::fabs(f.value) + f.slope * (line.completion + line.slope * line.busy + horizon);
    }
    const double sum = constant + relax(problem), unsure = kTimes * size;
    const double value = unsure > kMinor * std::fabs(sum) ? sum - unsure : sum;
    if (!(value > best + 1e-6 * std::fabs(value)) && round > 4) {
      best = std::max(best, value);
      if (round > 12) break;
    }
    best = std::max(best, value);
    if (round + 1 == rounds) break;
    // A step towards the completions of the relaxation.
    const double step = 2.0 / (round + 3.0);
    for (std::size_t j = 0; j < n; ++j) {
      const double work = problem.work[j];
      if (work == 0.0) continue;
      const Tangent line = tangent(work, low_[j], problem.high[j], std::min(point_[j], horizon));
      const double there = line.completion + line.slope * (busy_[j] - line.busy);
      const double towards = std::clamp(there, earliest[j], horizon);
      point_[j] += step * (towards - point_[j]);
    }
  }
  return best;
}

}  // namespace malleable
