#include "malleable/kernel/demand_bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "malleable/kernel/running_sum.hpp"
#include "malleable/kernel/vector_clones.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

namespace {

// Terms: S slots; job j has the work W_j and from m_j to M_j slots (`low`, `high`). A level is a
// value of the objective; it sets each job a deadline. The excess at t is the work forced before t
// beyond S t; the peak is where it is largest, the window the span of times that may be overloaded.
// Deadlines may be stretched (times `stretch`) within their tolerance. Sums of forced work are off
// by a few roundings of S t. A level passes if the excess is between 0 and 2 kRounding S t:
// rounding then cannot lift a bound at any scale of t. A gang runs on at least its minimum, or not
// at all.
constexpr int kRounds = 60;          // of the search for a level, from below
constexpr int kOwnRounds = 12;       // the same for custom penalties, known only by their values
constexpr int kLevelHalvings = 200;  // halvings of a bracket of levels

// A deadline from problem.now, stretched within its tolerance.
double due_at(const Problem& problem, double latest, double stretch) {
  return std::isfinite(latest) ? latest + stretch * tolerance(latest) - problem.now : latest;
}

// First t with free(t) + min(W_j, m_j t) >= W_j: job j may use its own minimum as well. free(t),
// what the others' minima leave, is linear between the ends of jobs on their minima.
double time_with_room(const Problem& problem, std::size_t j,
                      std::span<const std::pair<double, double>> ends,
                      std::span<const double> free) {
  const double work = problem.work[j], low = problem.low[j];
  std::size_t from = 0, to = ends.size();
  while (from < to) {
    const std::size_t middle = (from + to) / 2;
    if (free[middle] + std::min(work, low * ends[middle].first) < work) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  const double t0 = from > 0 ? ends[from - 1].first : 0.0;
  const double f0 = from > 0 ? free[from - 1] : 0.0;
  double slope = problem.slots;
  if (from < ends.size()) {
    slope = ends[from].first > t0 ? (free[from] - f0) / (ends[from].first - t0) : kInfinity;
  }
  const double have = f0 + std::min(work, low * t0);
  if (have >= work) return t0;
  // Until its own minimum is used up the job gains `low` besides.
  return t0 + (work - have) / (slope + (low * t0 < work ? low : 0.0));
}

}  // namespace

// Lower bounds of the time at which each job can end, if all others keep their minima.
void earliest_completions(const Problem& problem, std::span<double> earliest) {
  const std::size_t n = problem.size();
  double minima = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    earliest[j] = problem.work[j] > 0.0 ? problem.work[j] / problem.high[j] : 0.0;
    minima += problem.gang ? 0.0 : problem.low[j];
  }
  // A job whose maximum fits beside the others' minima can run at it from the start.
  const double slack = problem.slots - minima;
  const auto fits = [&](std::size_t j) { return problem.high[j] - problem.low[j] <= slack; };
  bool all_fit = true;
  for (std::size_t j = 0; j < n; ++j) all_fit &= fits(j);
  if (minima == 0.0 || all_fit) return;
  // free(t) = S t - sum_i min(W_i, m_i t) is increasing and convex between the ends W_i / m_i.
  std::vector<std::pair<double, double>> ends;
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.low[j] > 0.0) ends.emplace_back(problem.work[j] / problem.low[j], problem.low[j]);
  }
  std::sort(ends.begin(), ends.end());
  std::vector<double> free(ends.size());  // at ends[k].first
  double rate = slack, at = 0.0, sum = 0.0;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    sum += rate * (ends[k].first - at);
    at = ends[k].first;
    free[k] = sum;
    rate += ends[k].second;
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0 || fits(j)) continue;
    const double t = time_with_room(problem, j, ends, free);
    // Rounding must not make it too late.
    earliest[j] = std::max(earliest[j], t * (1.0 - kRounding));
  }
}

DemandBound::Peak DemandBound::peak(const Problem& problem, std::span<const double> due) {
  Window all;
  return peak(problem, due, all);
}

// Lists the times at which the rate of forced work changes; `rate`: the rate of the excess at 0.
DemandBound::Peak DemandBound::list_rate_changes(const Problem& problem,
                                                 std::span<const double> due, double& rate) {
  times_.clear();
  rates_.clear();
  owners_.clear();
  rate = -problem.slots;
  Peak worst;
  for (std::size_t j = 0; j < problem.size(); ++j) {
    const double work = problem.work[j], high = problem.high[j], end = due[j];
    if (work == 0.0) continue;
    const double low = problem.gang ? 0.0 : problem.low[j];
    // Missed in any schedule (beyond rounding): this is the worst time.
    if (work - high * std::max(end, 0.0) > worst.excess + kRounding * work) {
      worst = {0.0, work - high * std::max(end, 0.0), kNone};
    }
    if (work <= low * end) {
      rate += low;
      add_rate_change(work / low, -low, kNone);
    } else if (end < kInfinity) {
      rate += low;
      if (high > low) {
        add_rate_change(std::max(0.0, (high * end - work) / (high - low)), high - low, kNone);
      }
      add_rate_change(end, -high, static_cast<Index>(j));
    }
  }
  return worst;
}

// The same within a window, which shrinks to the overloaded times.
DemandBound::Peak DemandBound::peak(const Problem& problem, std::span<const double> due,
                                    Window& window) {
  double rate = 0.0;
  Peak worst = list_rate_changes(problem, due, rate);
  if (worst.excess > 0.0) return worst;
  order_.resize(times_.size());
  sorter_.sort(times_, order_);
  double time = 0.0, sum = 0.0;
  Window over{kInfinity, kInfinity};
  bool above = false;
  for (const Index k : order_) {
    const double before = std::exchange(time, times_[k]);
    if (time > window.until) break;
    sum += rate * (time - before);
    const double excess = sum - 2.0 * kRounding * problem.slots * time;
    rate += rates_[k];
    if (time < window.from) continue;
    if (excess > worst.excess) worst = {time, excess, owners_[k]};
    if (excess > 0.0) {
      over.from = std::min(over.from, before);
    } else if (above) {
      over.until = time;
    }
    above = excess > 0.0;
  }
  if (above) over.until = kInfinity;
  window = {std::max(window.from, over.from), std::min(window.until, over.until)};
  return worst;
}

void DemandBound::deadlines(const Problem& problem, const Penalties& penalties, double level,
                            double stretch, std::span<double> due) {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    due[j] = due_at(problem, penalties.latest(j, level), stretch);
  }
}

// Deadlines of the level that was found are in due_, except for jobs that were settled.
void DemandBound::deadlines_found(const Problem& problem, const Penalties& penalties, double level,
                                  double stretch, std::span<double> due) const {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    due[j] = of_level_[j] == level && stretch == stretch_
                 ? due_[j]
                 : due_at(problem, penalties.latest(j, level), stretch);
  }
}

// The inverse of a custom penalty is computed only if it matters. due_ has the deadline of a lower
// level, which is too early. It suffices if even that is too late to force more than the minimum
// does within the window, or if the deadline still lies before the window.
bool DemandBound::settled(const Problem& problem, const Penalties& penalties, std::size_t j,
                          double level, const Window& window) {
  if (!penalties.is_custom(j)) return false;
  const double work = problem.work[j], low = problem.gang ? 0.0 : problem.low[j];
  const double least = low * window.until;
  const bool enough = least >= work;  // the minimum alone, by then
  if (enough ? low * due_[j] >= work : work - problem.high[j] * (due_[j] - window.until) <= least) {
    return true;
  }
  if (!(window.from > 0.0 && due_[j] < window.from)) return false;
  // The penalty at an earlier time is often enough.
  if (asked_[j] <= window.from && paid_[j] > level) return true;
  const double from = problem.now + window.from;
  asked_[j] = window.from;
  paid_[j] = penalties(j, from - 2.0 * tolerance(from));
  return paid_[j] > level;
}

// due_ for a higher level than the one it had.
void DemandBound::raise(const Problem& problem, const Penalties& penalties, double level,
                        double stretch, const Window& window) {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (settled(problem, penalties, j, level, window)) continue;
    due_[j] = due_at(problem, penalties.latest(j, level, problem.now + due_[j]), stretch);
    of_level_[j] = level;
  }
}

namespace {

struct LinearColumns {
  const double *work, *low, *high, *at, *value, *slope;
};

// Sums over jobs with linear penalties of the work forced before t at a level (first) and of how
// fast it falls (second), in eight lanes whose order of addition never changes.
MALLEABLE_VECTOR_CLONES
void linear_excess(const LinearColumns& jobs, std::size_t n, double now, double t, double level,
                   double stretch, double* forced, double* fall) {
  constexpr std::size_t kLanes = 8;  // sums side by side, for vector registers
  for (std::size_t lane = 0; lane < kLanes; ++lane) forced[lane] = fall[lane] = 0.0;
  const auto add = [&](std::size_t j, std::size_t lane) {
    const double work = jobs.work[j], high = jobs.high[j], slope = jobs.slope[j];
    const double rise = level - jobs.value[j];
    const double flat = rise >= 0.0 ? kInfinity : -kInfinity;
    const double latest = slope > 0.0 ? jobs.at[j] + rise / slope : flat;
    const double due = latest + stretch * tolerance(latest) - now;
    const double left = due > t ? due - t : 0.0;
    const double least = jobs.low[j] * t;
    const double head = least < work ? least : work;
    const double tail = work - high * left;
    const bool bound = tail > head;
    forced[lane] += bound ? tail : head;
    fall[lane] += bound && due >= t ? high / slope : 0.0;
  };
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
#pragma omp simd
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(j + lane, lane);
  }
  for (; j < n; ++j) add(j, j % kLanes);
}

}  // namespace

// Work forced before t beyond S t and its rounding, at a level; how fast that falls with the level,
// up to the next level at which a penalty jumps or a deadline reaches t.
DemandBound::Excess DemandBound::excess(const Problem& problem, const Penalties& penalties,
                                        double t, double level, double stretch) {
  Excess result;
  const std::size_t n = problem.size();
  if (penalties.linear()) {
    zeros_.resize(n, 0.0);
    const LinearColumns jobs{
        problem.work.data(),      problem.gang ? zeros_.data() : problem.low.data(),
        problem.high.data(),      penalties.at().data(),
        penalties.value().data(), penalties.slope().data()};
    double forced[8], fall[8];
    linear_excess(jobs, n, problem.now, t, level, stretch, forced, fall);
    result.work = sum_lanes(forced) - (1.0 + kRounding) * problem.slots * t;
    result.fall = sum_lanes(fall);
    return result;
  }
  result.work = -(1.0 + kRounding) * problem.slots * t;
  const double step = std::max(std::fabs(level), kTiny) * 1e-7;
  for (std::size_t j = 0; j < n; ++j) {
    const double work = problem.work[j], high = problem.high[j];
    if (work == 0.0) continue;
    const double head = std::min(work, (problem.gang ? 0.0 : problem.low[j]) * t);
    if (settled(problem, penalties, j, level, {t, t})) {
      result.work += std::max(head, demand_bound(work, 0.0, high, due_[j], t));
      continue;
    }
    if (penalties.is_custom(j) &&  // too late to force more than the head
        penalties(j, problem.now + t + (work - head) / high) <= level) {
      result.work += head;
      continue;
    }
    const double latest = penalties.latest(j, level, problem.now + due_[j]);
    const double due = due_at(problem, latest, stretch);
    const double tail = demand_bound(work, 0.0, high, due, t);
    result.work += std::max(head, tail);
    if (tail <= head) continue;
    const double above = smooth_ ? level : penalties.next_value(j, level);
    if (above > level) result.next = std::min(result.next, above);
    if (due < t) {
      result.kink = std::min(result.kink, penalties(j, problem.now + t));
    } else if (above <= level) {
      result.fall += high * (penalties.latest(j, level + step, latest) - latest) / step;
    }
  }
  return result;
}

namespace {

// The bracket of a search for a crossing: levels over and under it, and by how much; 0: unknown.
struct Bracket {
  double low, high, over_low, over_high;

  double middle() const { return low + (high - low) / 2.0; }
  double secant() const { return low + (high - low) * over_low / (over_low - over_high); }
  bool holds(double x) const { return x > low && x < high; }
  // `further` if that is inside; else by the secant or, in every third step, by halves.
  double next(double further, int step) const {
    if (holds(further)) return further;
    const double tried = secant(), x = over_high < 0.0 && step % 3 != 2 ? tried : middle();
    return holds(x) ? x : middle();
  }
};

}  // namespace

// A level, at least `low`, at which the work forced before the deadline of top.job still exceeds
// what fits, but hardly.
double DemandBound::follow(const Problem& problem, const Penalties& penalties, const Peak& top,
                           double low, double to, double stretch) {
  const auto time_at = [&](double x) {
    const double latest = penalties.latest(top.job, x);
    return latest + stretch * tolerance(latest) - problem.now;
  };
  Bracket at{low, to, top.excess, 0.0};
  double a = low, over_a = at.over_low;
  // First from the worst time, as if it did not move.
  const Excess now = excess(problem, penalties, top.time, low, stretch);
  double x = now.fall > 0.0 ? low + now.work / now.fall : low + (to - low) / 2.0;
  for (int step = 0; step < 60; ++step) {
    if (!at.holds(x)) x = at.middle();
    if (!at.holds(x)) break;
    const double t = time_at(x), slack = kRounding * problem.slots * t;
    if (!(t < kInfinity)) {
      at.high = x;
      x = at.low;
      continue;
    }
    const Excess at_x = excess(problem, penalties, t, x, stretch);
    const double over = at_x.work;
    const double before = a, over_before = over_a;
    a = x;
    over_a = over;
    if (over > 0.0) {
      at.low = x;
      at.over_low = over;
      if (over <= std::max(slack, 0.02 * top.excess)) break;
      if (over_before > 0.0) at.over_high /= 2.0;  // Illinois: a side that stays put loses weight
    } else {
      if (over >= -slack && at_x.fall > 0.0) return x;
      at.high = x;
      at.over_high = over;
      if (over_before <= 0.0) at.over_low /= 2.0;
    }
    if (at.high - at.low <= kSameTime * std::fabs(at.high)) break;
    if (at.over_high < 0.0) {
      x = at.secant();
    } else {  // both on the overloaded side: go on along the line through them
      x = over_before > over ? x + 1.001 * over * (x - before) / (over_before - over) : at.middle();
    }
  }
  return at.low;
}

// Raises the level from `low` until `top.time` is hardly overloaded. Newton steps while they stay
// on the overloaded side, the secant once both sides are known, bisection if neither helps. A step
// to the next jump misses nothing if nothing else changes before it.
double DemandBound::relieve(const Problem& problem, const Penalties& penalties, const Peak& top,
                            double low, double to, double stretch, double finest) {
  const double slack = kRounding * problem.slots * top.time;
  const double enough = std::max(slack, 0.02 * top.excess);
  Bracket at{low, to, 0.0, 0.0};
  double x = low;
  bool sure = false, was_over = true;
  for (int step = 0; step < 200; ++step) {
    const Excess at_x = excess(problem, penalties, top.time, x, stretch);
    const double over = at_x.work;
    // A tiny excess counts as the crossing only if the excess still falls: if minima use every
    // slot, it stays near 0 for all higher levels.
    if (over <= slack && (sure || (over >= -slack && at_x.fall > 0.0))) return x;
    if (over > slack) {
      at.low = x;
      if (over <= enough) return x;
      at.over_low = over;
      if (was_over) at.over_high /= 2.0;  // Illinois: a side that stays put loses weight
    } else {
      at.high = x;
      at.over_high = over;
      if (!was_over) at.over_low /= 2.0;
    }
    was_over = over > slack;
    if (at.high - at.low <= finest * std::max(std::fabs(at.low), std::fabs(at.high))) {
      return at.high;
    }
    const auto [further, known] =
        over > slack && step < 60 ? at_x.further(x) : Excess::Next{kInfinity, false};
    sure = known && at.holds(further);
    x = at.next(further, step);
  }
  return at.low;
}

// From an overloaded level: the level at which its excess would end along its slope, but no further
// than the next jump, or the next event if it does not fall; and whether no crossing can lie
// between.
DemandBound::Excess::Next DemandBound::Excess::further(double level) const {
  if (fall > 0.0) {
    const double newton = level + work / fall;
    return {next > level ? std::min(newton, next) : newton, false};
  }
  const double event = std::min(next, kink);
  if (event > level && event < kInfinity) return {event, next <= kink};
  return {kInfinity, false};
}

// The least level above `low` that passes, by halving alone.
double DemandBound::bisect(const Problem& problem, const Penalties& penalties, double low,
                           double to, double stretch, Window window) {
  double high = to;
  for (int step = 0; step < kLevelHalvings; ++step) {
    if (high - low <= kSameTime * std::max(std::fabs(low), std::fabs(high)))
      return std::min(high, to);
    const double middle = low + (high - low) / 2.0;
    if (!(middle > low && middle < high)) break;
    kept_.assign(due_.begin(), due_.end());
    raise(problem, penalties, middle, stretch, window);
    Window narrower = window;
    if (peak(problem, due_, narrower).excess <= 0.0) {
      high = middle;
      due_.swap(kept_);
      std::fill(of_level_.begin(), of_level_.end(), -kInfinity);
    } else {
      low = middle;
      window = narrower;
    }
  }
  return std::min(low, to);  // the largest level known to fail
}

// The largest penalty of a job that ends as early as it can alone.
double DemandBound::least_alone(const Problem& problem, const Penalties& penalties, double low) {
  for (std::size_t j = 0; j < problem.size(); ++j) {
    if (problem.work[j] == 0.0) continue;
    low = std::max(low, penalties(j, problem.now + problem.work[j] / problem.high[j]));
  }
  return low;
}

// The least level from `from` on that passes, at most `to`.
double DemandBound::level(const Problem& problem, const Penalties& penalties, double from,
                          double to, double stretch) {
  const std::size_t n = problem.size();
  stretch_ = stretch;
  due_.assign(n, -kInfinity);
  of_level_.assign(n, -kInfinity);
  asked_.assign(n, kInfinity);
  paid_.resize(n);
  Window window;  // no time that a lower level does not overload is overloaded by a higher one
  double low = from;
  bool own = false, followed = false;
  smooth_ = true;
  for (std::size_t j = 0; j < n; ++j) {
    own |= penalties.is_custom(j);
    for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
      smooth_ &= penalties.value()[r] <= penalties.line(r - 1, penalties.at()[r]);
    }
  }
  // custom penalties do not show their jumps, so search to the last digit
  const double finest = own ? 0x1p-52 : kSameTime;
  // Raise the level until the worst time is hardly overloaded any more, then look for the worst
  // time again.
  for (int round = 0; round < (own ? kOwnRounds : kRounds); ++round) {
    if (!(low < to)) return std::min(low, to);
    raise(problem, penalties, low, stretch, window);
    const Peak top = peak(problem, due_, window);
    if (top.excess <= 0.0) return low;
    const double before = low;
    if (top.time == 0.0) {  // some job cannot meet its deadline even alone
      low = least_alone(problem, penalties, low);
    } else if (top.job != kNone && (smooth_ || !followed)) {
      // If the worst time is a job's deadline, it moves with the level: follow it by secants. These
      // do not see jumps, behind which other jobs may become late.
      low = std::max(low, follow(problem, penalties, top, low, to, stretch));
      followed = low > before;
      if (!followed) low = relieve(problem, penalties, top, low, to, stretch, finest);
    } else {
      followed = false;
      low = relieve(problem, penalties, top, low, to, stretch, finest);
    }
    if (!(low > before)) return low;  // overloaded by no more than rounding
  }
  return bisect(problem, penalties, low, to, stretch, window);
}

}  // namespace malleable
