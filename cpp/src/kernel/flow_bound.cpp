#include "malleable/kernel/flow_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace malleable {
namespace {

constexpr double kOver = 1e-9;  // what rounding may force beyond what fits
constexpr std::size_t kMostTimes = 64;
constexpr int kDualSteps = 400, kQuickSteps = 40;

}  // namespace

double WorkProfiles::at(std::size_t row, double t) const {
  const auto first = time.begin() + static_cast<std::ptrdiff_t>(offset[row]);
  const auto end = time.begin() + static_cast<std::ptrdiff_t>(offset[row + 1]);
  const auto after = std::upper_bound(first, end, t);
  if (after == first) return 0.0;
  const auto k = static_cast<std::size_t>(after - time.begin()) - 1;
  return rate[k] == 0.0 ? done[k] : done[k] + rate[k] * (t - time[k]);
}

// Work that comes in at the rates of `changes_` and is done at `limit` at most.
void FlowBound::append(WorkProfiles& profiles, double limit) {
  std::sort(changes_.begin(), changes_.end(),
            [](const Change& a, const Change& b) { return a.time < b.time; });
  double time = 0.0, coming = 0.0, waiting = 0.0, done = 0.0;
  const auto point = [&](double rate) {
    const bool same_time =
        profiles.time.size() > profiles.offset.back() && profiles.time.back() == time;
    if (same_time) {
      profiles.rate.back() = rate;
      return;
    }
    if (profiles.rate.size() > profiles.offset.back() && profiles.rate.back() == rate) return;
    profiles.time.push_back(time);
    profiles.done.push_back(done);
    profiles.rate.push_back(rate);
  };
  // Whole slots add up exactly, so the rate that comes in ends at 0.
  for (std::size_t k = 0; k <= changes_.size(); ++k) {
    const double next = k < changes_.size() ? changes_[k].time : kInfinity;
    if (waiting > 0.0 && coming < limit) {
      const double empty = time + waiting / (limit - coming);
      if (empty < next) {
        done += limit * (empty - time);
        time = empty;
        waiting = 0.0;
        point(coming);
      }
    }
    if (k == changes_.size()) break;
    const double rate = waiting > 0.0 ? limit : std::min(limit, coming);
    const double span = next - time;
    done += rate * span;
    waiting = std::max(0.0, waiting + (coming - rate) * span);
    time = next;
    coming += changes_[k].rate;
    if (k + 1 < changes_.size() && changes_[k + 1].time == time) continue;
    point(waiting > 0.0 ? limit : std::min(limit, coming));
  }
  profiles.offset.push_back(profiles.time.size());
}

void FlowBound::build(const FlowProblem& problem) {
  problem_ = &problem;
  const std::size_t f = problem.flows();
  head_.clear();
  tail_.clear();
  all_.clear();
  earliest_.assign(f, 0.0);
  shift_.assign(f, 0.0);
  high_.assign(f, 1.0);
  sweep_.clear();
  for (std::size_t j = 0; j < f; ++j) {
    const auto gather = [&](const std::vector<double>& from, WorkProfiles& profiles) {
      changes_.clear();
      for (std::size_t i = problem.job_offset[j]; i < problem.job_offset[j + 1]; ++i) {
        if (problem.work[i] == 0.0) continue;
        changes_.push_back({from[i], problem.high[i]});
        changes_.push_back({from[i] + problem.work[i] / problem.high[i], -problem.high[i]});
      }
      append(profiles, problem.slots);
    };
    gather(problem.head, head_);
    for (const Change& change : changes_) {
      sweep_.push_back({problem.release[j] + change.time, change.rate});
    }
    gather(problem.tail, tail_);
    earliest_[j] = problem.release[j] + problem.alone[j];
    if (problem.volume[j] == 0.0) continue;
    const double volume = problem.volume[j];
    double high = volume / problem.alone[j], left = 0.0;
    for (const WorkProfiles* profiles : {&head_, &tail_}) {
      for (std::size_t k = profiles->offset[j]; k < profiles->offset[j + 1]; ++k) {
        if (profiles->time[k] > 0.0) high = std::max(high, profiles->done[k] / profiles->time[k]);
        if (profiles->time[k] == 0.0) high = std::max(high, profiles->rate[k]);
      }
      const double end = profiles->time[profiles->offset[j + 1] - 1];
      earliest_[j] = std::max(earliest_[j], problem.release[j] + end * (1.0 - 1e-12));
    }
    for (std::size_t k = tail_.offset[j]; k + 1 < tail_.offset[j + 1]; ++k) {
      const double span = tail_.time[k + 1] - tail_.time[k];
      left += span * (volume - (tail_.done[k] + tail_.rate[k] * span / 2.0));
    }
    if (tail_.offset[j] < tail_.offset[j + 1]) left += tail_.time[tail_.offset[j]] * volume;
    high_[j] = high;
    // Time left after a unit of work, beyond what a single job of that maximum has.
    shift_[j] = std::max(0.0, left / volume * (1.0 - 1e-12) - volume / (2.0 * high));
  }
  changes_.swap(sweep_);
  append(all_, problem.slots);
}

double FlowBound::alone(const Penalties& penalties, Aggregate aggregate) const {
  double sum = 0.0, worst = -kInfinity;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    const double end =
        problem_->volume[j] > 0.0 ? problem_->now + earliest_[j] : problem_->idle_end[j];
    const double paid = penalties(j, end);
    sum += paid;
    worst = std::max(worst, paid);
  }
  if (problem_->flows() == 0) return 0.0;
  return aggregate == Aggregate::kSum ? sum : worst;
}

void FlowBound::deadlines(const Penalties& penalties, double level, std::span<double> due) const {
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    const double latest = penalties.latest(j, level);
    due[j] = std::isfinite(latest) ? latest + tolerance(latest) - problem_->now : latest;
  }
}

double FlowBound::forced(std::size_t j, double due, double t) const {
  const double volume = problem_->volume[j];
  if (due == kInfinity) return 0.0;
  if (t >= due) return volume;
  return std::max(0.0, volume - tail_.at(j, due - t));
}

FlowBound::Peak FlowBound::peak(std::span<const double> due) {
  sweep_.clear();
  double excess = 0.0, slope = 0.0, scale = 0.0;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] == 0.0 || due[j] == kInfinity) continue;
    scale += problem_->volume[j];
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
  std::sort(sweep_.begin(), sweep_.end(),
            [](const Change& a, const Change& b) { return a.time < b.time; });
  Peak top{0.0, excess};
  double time = 0.0;
  for (const Change& change : sweep_) {
    excess += slope * (change.time - time);
    time = change.time;
    slope += change.rate;
    if (excess > top.excess) top = {time, excess};
  }
  top.excess = top.excess > kOver * scale ? top.excess : 0.0;
  return top;
}

// Work of flow j between two times that its deadline forces: not done before, not left for later.
double FlowBound::between(std::size_t j, double due, double from, double to) const {
  const double force = forced(j, due, to);
  if (from == 0.0 || force == 0.0) return force;
  return std::max(0.0, force - head_.at(j, from - problem_->release[j]));
}

// The pair of times between which most work beyond the slots is forced.
FlowBound::Pair FlowBound::worst_pair(std::span<const double> due) {
  constexpr std::size_t kFrom = 24, kTo = 48;
  const std::size_t f = problem_->flows();
  std::vector<double>& starts = ends_;
  std::vector<double>& stops = times_;
  starts.clear();
  stops.clear();
  const auto thin = [](std::vector<double>& values, std::size_t most) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() <= most) return;
    for (std::size_t k = 0; k < most; ++k) {
      values[k] = values[(k + 1) * values.size() / most - 1];
    }
    values.resize(most);
  };
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] == 0.0 || due[j] == kInfinity) continue;
    for (std::size_t k = head_.offset[j]; k < head_.offset[j + 1]; ++k) {
      const double t = problem_->release[j] + head_.time[k];
      if (t > 0.0 && t < due[j]) starts.push_back(t);
    }
    stops.push_back(due[j]);
    for (std::size_t k = tail_.offset[j]; k < tail_.offset[j + 1]; k += 2) {
      if (tail_.time[k] < due[j]) stops.push_back(due[j] - tail_.time[k]);
    }
  }
  thin(starts, kFrom);
  thin(stops, kTo);
  Pair worst{0.0, 0.0, 0.0};
  for (const double to : stops) {
    for (const double from : starts) {
      if (!(from < to)) break;
      double sum = 0.0, scale = 0.0;
      for (std::size_t j = 0; j < f; ++j) {
        if (problem_->volume[j] == 0.0) continue;
        scale += problem_->volume[j];
        sum += between(j, due[j], from, to);
      }
      const double excess = sum - problem_->slots * (to - from);
      if (excess > kOver * scale && excess > worst.excess) worst = {from, to, excess};
    }
  }
  return worst;
}

double FlowBound::total_excess(const Penalties& penalties, double level, const Pair& pair) const {
  double sum = 0.0, scale = 0.0;
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] == 0.0) continue;
    const double latest = penalties.latest(j, level);
    if (latest == kInfinity) continue;
    scale += problem_->volume[j];
    sum += between(j, latest + tolerance(latest) - problem_->now, pair.from, pair.to);
  }
  const double room =
      pair.from == 0.0 ? all_.at(0, pair.to) : problem_->slots * (pair.to - pair.from);
  return sum - room > kOver / 2.0 * scale ? sum - room : 0.0;
}

double FlowBound::max_level(const Penalties& penalties, double from, double to, bool pairs) {
  const std::size_t f = problem_->flows();
  double level = std::max(from, alone(penalties, Aggregate::kMax));
  if (!(level < to)) return std::min(level, to);
  level_due_.resize(f);
  for (int round = 0; round < 100 && level < to; ++round) {
    deadlines(penalties, level, level_due_);
    const Peak peak_now = peak(level_due_);
    Pair top{0.0, peak_now.time, peak_now.excess};
    if (top.excess == 0.0 || total_excess(penalties, level, top) == 0.0) {
      if (!pairs) break;
      top = worst_pair(level_due_);
      if (top.excess == 0.0 || total_excess(penalties, level, top) == 0.0) break;
    }
    if (total_excess(penalties, to, top) > 0.0) return to;
    double fails = level, passes = to;
    for (int step = 0; step < 200; ++step) {
      const double middle = fails + (passes - fails) / 2.0;
      if (!(middle > fails && middle < passes)) break;
      if (passes - fails <= 1e-12 * std::max(std::fabs(passes), 1e-300)) break;
      (total_excess(penalties, middle, top) > 0.0 ? fails : passes) = middle;
    }
    // Above what fails the objective can only take a value that some flow's penalty takes.
    double next = kInfinity;
    for (std::size_t j = 0; j < f; ++j) next = std::min(next, penalties.next_value(j, fails));
    next = std::min(next, to);
    if (!(next > level)) break;
    level = next;
  }
  return std::min(level, to);
}

void FlowBound::relax(Problem& jobs) const {
  jobs.now = problem_->now;
  jobs.slots = problem_->slots;
  jobs.gang = jobs.minima_scaled = jobs.beyond_reach = false;
  jobs.work.assign(problem_->volume.begin(), problem_->volume.end());
  jobs.low.assign(problem_->flows(), 0.0);
  jobs.high.assign(high_.begin(), high_.end());
  jobs.idle_end.assign(problem_->idle_end.begin(), problem_->idle_end.end());
}

double FlowBound::busy_bound(const Penalties& penalties, std::span<const double> completion) {
  const std::size_t f = problem_->flows();
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] == 0.0) continue;
    if (penalties.is_custom(j) || !penalties.convex(j, -kInfinity, kInfinity)) return -kInfinity;
  }
  relax(jobs_);
  point_.resize(f);
  at_.resize(f);
  for (std::size_t j = 0; j < f; ++j) {
    if (problem_->volume[j] == 0.0) shift_[j] = 0.0;
    point_[j] = completion[j] - shift_[j];
    at_[j] = earliest_[j] - shift_[j];
  }
  shifted_.build_shifted(penalties, shift_);
  const int rounds = std::clamp(static_cast<int>(2000 / std::max<std::size_t>(f, 1)), 1, 60);
  double bound = mean_busy_time_.bound(jobs_, shifted_, point_, at_, rounds);
  if (!penalties.linear() && rounds > 1) {
    const double end = std::accumulate(jobs_.work.begin(), jobs_.work.end(), 0.0) / problem_->slots;
    for (const double share : {0.3, 0.6, 0.9}) {
      for (std::size_t j = 0; j < f; ++j) point_[j] = std::max(at_[j], share * end);
      bound = std::max(bound, mean_busy_time_.bound(jobs_, shifted_, point_, at_, rounds));
    }
  }
  return bound;
}

void FlowBound::list_options(const Penalties& penalties, double horizon) {
  option_offset_.assign(1, 0);
  options_.clear();
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    const std::size_t first = penalties.offset()[j], end = penalties.offset()[j + 1];
    if (problem_->volume[j] == 0.0) {
      options_.push_back({penalties(j, problem_->idle_end[j]), kInfinity});
      option_offset_.push_back(options_.size());
      continue;
    }
    for (std::size_t r = first; r < end; ++r) {
      double due = kInfinity;
      if (r + 1 < end) {
        const double at = penalties.at()[r + 1];
        due = at + tolerance(at) - problem_->now;
      }
      if (due < earliest_[j]) continue;
      if (due >= horizon) due = kInfinity;
      const bool same = options_.size() > option_offset_.back() &&
                        options_.back().penalty == penalties.value()[r];
      if (same) {
        options_.back().due = due;
      } else {
        options_.push_back({penalties.value()[r], due});
      }
      if (due == kInfinity) break;
    }
    option_offset_.push_back(options_.size());
  }
}

void FlowBound::pick_times(std::size_t most) {
  times_.clear();
  for (const Option& option : options_) {
    if (option.due < kInfinity) times_.push_back(option.due);
  }
  std::sort(times_.begin(), times_.end());
  times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
  if (times_.size() > most) {
    for (std::size_t k = 0; k < most; ++k) times_[k] = times_[(k + 1) * times_.size() / most - 1];
    times_.resize(most);
  }
  fill_force();
}

void FlowBound::fill_force() {
  room_.resize(times_.size());
  force_.assign(options_.size() * times_.size(), 0.0);
  // A little more than there is: rounding must not look like work that does not fit, since
  // multipliers would make much of it.
  double total = 0.0;
  for (const double volume : problem_->volume) total += volume;
  for (std::size_t t = 0; t < times_.size(); ++t) {
    room_[t] = all_.at(0, times_[t]) * (1.0 + kOver) + kOver * total;
  }
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    for (std::size_t o = option_offset_[j]; o < option_offset_[j + 1]; ++o) {
      for (std::size_t t = 0; t < times_.size(); ++t) {
        force_[o * times_.size() + t] = forced(j, options_[o].due, times_[t]);
      }
    }
  }
}

// Multipliers by subgradient steps towards `value`; the best bound they give, and them.
double FlowBound::relax_steps(double value, int most) {
  const std::size_t f = problem_->flows(), times = times_.size();
  multiplier_.assign(times, 0.0);
  best_multiplier_.assign(times, 0.0);
  gradient_.resize(times);
  double best = -kInfinity, share = 1.0;
  int stuck = 0;
  const int steps = static_cast<int>(std::min<std::size_t>(
      static_cast<std::size_t>(most),
      2 + 20'000'000 / (options_.size() * std::max<std::size_t>(times, 1) + 1)));
  for (int step = 0; step < steps; ++step) {
    double bound = 0.0;
    for (std::size_t t = 0; t < times; ++t) {
      bound -= multiplier_[t] * room_[t];
      gradient_[t] = -room_[t];
    }
    for (std::size_t j = 0; j < f; ++j) {
      double least = kInfinity;
      std::size_t choice = option_offset_[j];
      for (std::size_t o = option_offset_[j]; o < option_offset_[j + 1]; ++o) {
        double price = options_[o].penalty;
        const double* force = force_.data() + o * times;
        for (std::size_t t = 0; t < times; ++t) price += multiplier_[t] * force[t];
        if (price < least) {
          least = price;
          choice = o;
        }
      }
      bound += least;
      for (std::size_t t = 0; t < times; ++t) gradient_[t] += force_[choice * times + t];
    }
    if (bound > best) {
      best = bound;
      best_multiplier_ = multiplier_;
      stuck = 0;
    } else if (++stuck == 15) {
      share /= 2.0;
      stuck = 0;
      multiplier_ = best_multiplier_;
      continue;
    }
    double length = 0.0;
    for (std::size_t t = 0; t < times; ++t) {
      if (multiplier_[t] > 0.0 || gradient_[t] > 0.0) length += gradient_[t] * gradient_[t];
    }
    if (length == 0.0 || !(value > best)) break;
    const double size = share * (value - bound) / length;
    for (std::size_t t = 0; t < times; ++t) {
      multiplier_[t] = std::max(0.0, multiplier_[t] + size * gradient_[t]);
    }
  }
  return best;
}

// Completions that a flow may choose between: where its penalty bends, and even steps.
void FlowBound::list_grid(const Penalties& penalties, double horizon) {
  constexpr int kSteps = 32;
  option_offset_.assign(1, 0);
  options_.clear();
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    if (problem_->volume[j] == 0.0) {
      options_.push_back({penalties(j, problem_->idle_end[j]), kInfinity});
      option_offset_.push_back(options_.size());
      continue;
    }
    ends_.assign(1, earliest_[j]);
    for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
      const double at = penalties.at()[r] - problem_->now;
      if (at > earliest_[j]) ends_.push_back(at);
    }
    for (int k = 1; k <= kSteps; ++k) {
      ends_.push_back(earliest_[j] + (horizon - earliest_[j]) * k / kSteps);
    }
    std::sort(ends_.begin(), ends_.end());
    for (const double end : ends_) options_.push_back({penalties(j, problem_->now + end), end});
    option_offset_.push_back(options_.size());
  }
}

// The least that penalty and forced work, at the best multipliers, can cost flow j at any
// completion: both are linear between the places that are looked at.
double FlowBound::least_price(const Penalties& penalties, std::size_t j) {
  ends_.assign(1, earliest_[j]);
  for (std::size_t r = penalties.offset()[j] + 1; r < penalties.offset()[j + 1]; ++r) {
    const double at = penalties.at()[r] - problem_->now;
    if (at > earliest_[j]) ends_.push_back(at);
  }
  for (std::size_t t = 0; t < times_.size(); ++t) {
    if (best_multiplier_[t] == 0.0) continue;
    for (std::size_t k = tail_.offset[j]; k < tail_.offset[j + 1]; ++k) {
      const double end = times_[t] + tail_.time[k];
      if (end > earliest_[j]) ends_.push_back(end);
    }
  }
  double least = kInfinity;
  for (const double end : ends_) {
    double price = penalties(j, problem_->now + end);
    // A completion within the tolerance of a break point still pays what comes before it.
    const double due = end + tolerance(problem_->now + end);
    for (std::size_t t = 0; t < times_.size() && price < least; ++t) {
      if (best_multiplier_[t] > 0.0) price += best_multiplier_[t] * forced(j, due, times_[t]);
    }
    least = std::min(least, price);
  }
  return least;
}

double FlowBound::grid_bound(const Penalties& penalties, double value) {
  const std::size_t f = problem_->flows();
  if (f == 0 || f > kMostGrid || all_.time.empty()) return -kInfinity;
  for (std::size_t j = 0; j < f; ++j) {
    if (penalties.is_custom(j)) return -kInfinity;
  }
  const double end = all_.time.back();
  list_grid(penalties, end * 1.1);
  constexpr std::size_t kTimes = 40;
  times_.clear();
  for (std::size_t k = 1; k <= kTimes; ++k) {
    times_.push_back(end * static_cast<double>(k) / static_cast<double>(kTimes + 1));
  }
  fill_force();
  relax_steps(value, kDualSteps);
  double bound = 0.0;
  for (std::size_t t = 0; t < times_.size(); ++t) bound -= best_multiplier_[t] * room_[t];
  double size = std::fabs(bound);
  for (std::size_t j = 0; j < f; ++j) {
    const double least =
        problem_->volume[j] > 0.0 ? least_price(penalties, j) : penalties(j, problem_->idle_end[j]);
    bound += least;
    size += std::fabs(least);
  }
  return std::min(bound - 1e-12 * size, value);
}

// Depth first through the flows, options by their price under the multipliers.
struct FlowBound::Search {
  FlowBound& own;
  double best;           // a choice must cost less
  std::uint64_t nodes;   // left
  bool complete = true;  // every branch was settled
  std::size_t times = 0;
  double base = 0.0;
  std::vector<std::size_t> order, chosen, best_chosen;
  std::vector<double> price_left, force_left, used;  // least of the flows from a depth on
  std::vector<std::vector<std::size_t>> by_price;

  void descend(std::size_t depth, double paid, double price) {
    if (nodes == 0) {
      complete = false;
      return;
    }
    --nodes;
    const std::size_t f = order.size();
    if (depth == f) {
      if (paid < best) {
        best = paid;
        best_chosen = chosen;
      }
      return;
    }
    const double small = 1e-9 * std::max(1.0, std::fabs(best));
    for (const std::size_t o : by_price[depth]) {
      const double below = price + own.reduced_[o] + price_left[depth + 1] + base;
      if (below >= best - small) break;
      const double* force = own.force_.data() + o * times;
      bool fits = true;
      for (std::size_t t = 0; fits && t < times; ++t) {
        fits = used[t] + force[t] + force_left[(depth + 1) * times + t] <= own.room_[t];
      }
      if (!fits) continue;
      for (std::size_t t = 0; t < times; ++t) used[t] += force[t];
      chosen[order[depth]] = o;
      descend(depth + 1, paid + own.options_[o].penalty, price + own.reduced_[o]);
      for (std::size_t t = 0; t < times; ++t) used[t] -= force[t];
      if (!complete) return;
    }
  }
};

double FlowBound::step_bound(const Penalties& penalties, double value, std::uint64_t nodes,
                             std::span<double> due) {
  const std::size_t f = problem_->flows();
  const double end =
      std::accumulate(problem_->volume.begin(), problem_->volume.end(), 0.0) / problem_->slots;
  double last = end;
  for (std::size_t j = 0; j < f; ++j) last = std::max(last, end + earliest_[j]);
  list_options(penalties, last);
  pick_times(nodes == 0 ? kMostTimes / 2 : kMostTimes);
  double bound = relax_steps(value, nodes == 0 ? kQuickSteps : kDualSteps);
  const std::size_t times = times_.size();
  reduced_.resize(options_.size());
  for (std::size_t o = 0; o < options_.size(); ++o) {
    reduced_[o] = options_[o].penalty;
    for (std::size_t t = 0; t < times; ++t) {
      reduced_[o] += best_multiplier_[t] * force_[o * times + t];
    }
  }
  const auto pick = [&](std::size_t j, std::size_t o) {
    if (!due.empty()) due[j] = options_[o].due;
  };
  std::vector<std::size_t> least(f);
  for (std::size_t j = 0; j < f; ++j) {
    std::size_t choice = option_offset_[j];
    for (std::size_t o = choice; o < option_offset_[j + 1]; ++o) {
      if (reduced_[o] < reduced_[choice]) choice = o;
    }
    least[j] = choice;
    pick(j, choice);
  }
  if (nodes == 0 || f > kMostTimes || !(bound < value)) return std::min(bound, value);

  Search search{*this, value, nodes, true, times, 0.0, {}, {}, {}, {}, {}, {}, {}};
  for (std::size_t t = 0; t < times; ++t) search.base -= best_multiplier_[t] * room_[t];
  search.order.resize(f);
  std::iota(search.order.begin(), search.order.end(), std::size_t{0});
  std::vector<double> spread(f, 0.0);
  for (std::size_t j = 0; j < f; ++j) {
    double second = kInfinity;
    for (std::size_t o = option_offset_[j]; o < option_offset_[j + 1]; ++o) {
      if (o != least[j]) second = std::min(second, reduced_[o] - reduced_[least[j]]);
    }
    spread[j] = second;
  }
  std::stable_sort(search.order.begin(), search.order.end(),
                   [&](std::size_t a, std::size_t b) { return spread[a] > spread[b]; });
  search.chosen.assign(f, 0);
  search.used.assign(times, 0.0);
  search.price_left.assign(f + 1, 0.0);
  search.force_left.assign((f + 1) * times, 0.0);
  search.by_price.resize(f);
  for (std::size_t d = f; d-- > 0;) {
    const std::size_t j = search.order[d];
    search.price_left[d] = search.price_left[d + 1] + reduced_[least[j]];
    auto& list = search.by_price[d];
    for (std::size_t o = option_offset_[j]; o < option_offset_[j + 1]; ++o) list.push_back(o);
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return reduced_[a] < reduced_[b]; });
    for (std::size_t t = 0; t < times; ++t) {
      double force = kInfinity;
      for (const std::size_t o : list) force = std::min(force, force_[o * times + t]);
      search.force_left[d * times + t] = search.force_left[(d + 1) * times + t] + force;
    }
  }
  search.descend(0, 0.0, 0.0);
  if (!search.best_chosen.empty()) {
    for (std::size_t j = 0; j < f; ++j) pick(j, search.best_chosen[j]);
  }
  // Every choice that costs less than this forces more work than fits.
  if (search.complete) bound = std::max(bound, search.best);
  return std::min(bound, value);
}

}  // namespace malleable
