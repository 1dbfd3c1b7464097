#include "malleable/kernel/lagrangian_bound.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/quantiles.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Terms: f is the work that a job must have done by a time t so that it ends by C (its forced
// work); m and M are its least and most slots, W its work, l_k the price (multiplier) of time t_k.
// An option is a completion that a job may choose; its forced work rises by m a second until it is
// W (`rising`), or until only M slots up to the end would do (`own`), and is W at the end
// (`before`; all three are numbers of times). A gang runs on at least its minimum, or not at all.

// For each kRoundedJobs jobs, rounding may add kRounding of all work to the forced work.
constexpr double kRoundedJobs = 4096.0;
// Steps that the average of completions remembers, and the end of jobs that give up, over the last
// time.
constexpr double kMeanMemory = 20.0, kGaveUpEnd = 1.2;

}  // namespace

// At most `most` times at which work is forced; false for custom penalties.
bool LagrangianBound::pick_times(const Penalties& penalties, std::span<const double> earliest,
                                 std::span<const double> completion, double end, std::size_t most) {
  const auto offset = penalties.offset();
  times_.clear();
  for (std::size_t j = 0; j < problem_->size(); ++j) {
    if (penalties.is_custom(j)) return false;
    if (problem_->work[j] == 0.0) continue;
    for (std::size_t r = offset[j] + 1; r < offset[j + 1]; ++r) {
      const double t = last_of(penalties, r);
      if (t > 0.0 && t >= earliest[j] && t <= end) times_.push_back(t);
    }
    const bool slopes = penalties.slope()[offset[j + 1] - 1] > 0.0;
    if (slopes && completion[j] <= end) times_.push_back(completion[j]);
  }
  // Quantiles of a regular sample are close to those of all.
  const std::size_t stride = times_.size() / (16 * most) + 1;
  for (std::size_t k = 0; stride > 1 && k * stride < times_.size(); ++k) {
    times_[k] = times_[k * stride];
  }
  times_.resize((times_.size() + stride - 1) / stride);
  keep_quantiles(times_, most);
  return true;
}

// A completion within the tolerance after the break point still has the penalty before it.
double LagrangianBound::last_of(const Penalties& penalties, std::size_t row) const {
  const double at = penalties.at()[row];
  return at + tolerance(at) - problem_->now;
}

std::uint16_t LagrangianBound::first_from(double t) const {
  return static_cast<std::uint16_t>(std::lower_bound(times_.begin(), times_.end(), t) -
                                    times_.begin());
}

// One completion that job j may choose; `rising`: the number of the first time by which its minimum
// alone has done its work.
void LagrangianBound::add_option(std::size_t j, double completion, double penalty,
                                 std::uint16_t rising) {
  const double work = problem_->work[j], high = problem_->high[j], low = low_[j];
  Option option{completion, penalty, rising, 0, 0};
  option.before = first_from(completion);
  // Until this time the minimum does more than the maximum at the end forces.
  const double turn = high > low ? (high * completion - work) / (high - low) : kInfinity;
  // At the turn itself both are equal.
  const bool rushes = option.before > 0 && times_[option.before - 1u] > turn * (1.0 + kSameTime);
  option.own = rushes ? first_from(turn) : option.before;
  option.rising = std::min(rising, option.own);
  options_.push_back(option);
}

// Lists the completions that can be the best choice of job j at any prices.
void LagrangianBound::list_options(const Penalties& penalties, std::size_t j, double from) {
  const double work = problem_->work[j], low = low_[j], now = problem_->now;
  const auto rising =
      low > 0.0 ? first_from(work / low) : static_cast<std::uint16_t>(times_.size());
  const std::size_t stop = penalties.offset()[j + 1];
  for (std::size_t r = penalties.offset()[j]; r < stop; ++r) {
    const double to = r + 1 < stop ? last_of(penalties, r + 1) : kInfinity;
    if (to < from) continue;
    if (penalties.slope()[r] > 0.0) {
      add_option(j, from, penalties.line(r, now + from), rising);
      for (const double t : times_) {
        const double c = t + (work - std::min(work, low * t)) / problem_->high[j];
        if (c > from && c < to) add_option(j, c, penalties.line(r, now + c), rising);
      }
      if (to < kInfinity) add_option(j, to, penalties.line(r, now + to), rising);
    } else {
      add_option(j, to, penalties.value()[r], rising);
    }
    from = to;
  }
}

// Begins with all multipliers 0; false if there is nothing that they could improve.
bool LagrangianBound::begin(const Problem& problem, const Penalties& penalties,
                            std::span<const double> earliest, std::span<const double> completion,
                            std::size_t times) {
  const std::size_t n = problem.size();
  problem_ = &problem;
  double total = 0.0;
  for (const double work : problem.work) total += work;
  if (!pick_times(penalties, earliest, completion, total / problem.slots, times)) return false;
  if (times_.empty()) return false;
  rounding_ = 2.0 * kRounding * std::max(1.0, static_cast<double>(n) / kRoundedJobs) * total;
  options_.clear();
  offset_.assign(1, 0);
  low_.assign(n, 0.0);
  if (!problem.gang) low_.assign(problem.low.begin(), problem.low.end());
  constant_ = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) {
      constant_ += penalties(j, problem.idle_end[j]);
    } else {
      list_options(penalties, j, earliest[j]);
    }
    offset_.push_back(options_.size());
  }
  const std::size_t m = times_.size();
  multiplier_.assign(m, 0.0);
  best_multiplier_.assign(m, 0.0);
  gradient_.resize(m);
  direction_.assign(m, 0.0);
  level_.resize(m + 1);
  ramp_.resize(m + 1);
  sums_.resize(m + 1);
  average_.assign(n, 0.0);
  evaluations_ = 0.0;
  best_ = -kInfinity;
  share_ = 0.5;
  stuck_ = 0;
  return true;
}

// sums_[k]: the sum of the multipliers from k on, and of earlier multipliers times their times.
void LagrangianBound::sum_prices(std::span<const double> multiplier) {
  const std::size_t m = multiplier.size();
  sums_[m].after = 0.0;
  for (std::size_t k = m; k-- > 0;) sums_[k].after = sums_[k + 1].after + multiplier[k];
  sums_[0].moment = 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    sums_[k + 1].moment = sums_[k].moment + multiplier[k] * times_[k];
  }
}

// Penalty and sum_k l_k f(t_k; C), where f = m t before time number `rising`, W before `own`, W - M
// (C - t) before `before`, and W from there on.
inline double LagrangianBound::cost_of(std::size_t j, const Option& option) const {
  const Sums* sums = sums_.data();
  const Sums& rising = sums[option.rising];
  double cost = option.penalty + low_[j] * rising.moment + problem_->work[j] * rising.after;
  if (option.own < option.before) {  // a time lies within the job's last rush
    const Sums &own = sums[option.own], &before = sums[option.before];
    cost += problem_->high[j] *
            ((before.moment - own.moment) - option.completion * (own.after - before.after));
  }
  return cost;
}

// The option that costs job j least.
std::size_t LagrangianBound::choose(std::size_t j, double& cost) const {
  cost = kInfinity;
  std::size_t best = offset_[j];
  for (std::size_t o = offset_[j], end = offset_[j + 1]; o < end; ++o) {
    const double c = cost_of(j, options_[o]);
    if (c < cost) {
      cost = c;
      best = o;
    }
  }
  return best;
}

// The bound at the present multipliers, and its gradient.
double LagrangianBound::evaluate() {
  const std::size_t m = times_.size(), n = problem_->size();
  const double weight = 1.0 / std::min(++evaluations_, kMeanMemory),
               latest = kGaveUpEnd * times_.back();
  sum_prices(multiplier_);
  // f at t_k is the sum of level + ramp t_k over all changes up to k.
  std::fill(level_.begin(), level_.end(), 0.0);
  std::fill(ramp_.begin(), ramp_.end(), 0.0);
  double bound = constant_;
  for (std::size_t j = 0; j < n; ++j) {
    if (offset_[j] == offset_[j + 1]) continue;
    double cost = 0.0;
    const Option& option = options_[choose(j, cost)];
    bound += cost;
    average_[j] += weight * (std::min(option.completion, latest) - average_[j]);
    const double work = problem_->work[j], high = problem_->high[j];
    ramp_[0] += low_[j];
    ramp_[option.rising] -= low_[j];
    level_[option.rising] += work;
    if (option.before > option.own) {
      level_[option.own] -= high * option.completion;
      level_[option.before] += high * option.completion;
      ramp_[option.own] += high;
      ramp_[option.before] -= high;
    }
  }
  double level = 0.0, ramp = 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    level += level_[k];
    ramp += ramp_[k];
    const double room = problem_->slots * times_[k] + rounding_;
    gradient_[k] = level + ramp * times_[k] - room;
    bound -= multiplier_[k] * room;
  }
  return bound;
}

// Subgradient steps towards `value`, which no bound exceeds; returns the best bound.
double LagrangianBound::improve(double value, std::size_t steps) {
  const std::size_t m = times_.size();
  for (std::size_t step = 0; step < steps && value > best_; ++step) {
    const double bound = evaluate();
    if (bound > best_) {
      best_ = bound;
      best_multiplier_ = multiplier_;
      stuck_ = 0;
    } else if (++stuck_ == 15) {
      share_ /= 2.0;
      stuck_ = 0;
      multiplier_ = best_multiplier_;
      std::fill(direction_.begin(), direction_.end(), 0.0);
      continue;
    }
    // Camerini, Fratta, Maffioli 1975: a step that hardly undoes the last one. With their 1.5 in
    // place of 0.9 the step would turn back if there is only one time.
    double along = 0.0, last = 0.0;
    for (std::size_t k = 0; k < m; ++k) {
      along += gradient_[k] * direction_[k];
      last += direction_[k] * direction_[k];
    }
    const double keep = along < 0.0 ? -0.9 * along / last : 0.0;
    double length = 0.0;
    for (std::size_t k = 0; k < m; ++k) {
      direction_[k] = gradient_[k] + keep * direction_[k];
      if (multiplier_[k] <= 0.0 && direction_[k] < 0.0) direction_[k] = 0.0;
      length += direction_[k] * direction_[k];
    }
    if (length == 0.0) break;
    const double size = share_ * (value - bound) / length;
    for (std::size_t k = 0; k < m; ++k) {
      multiplier_[k] = std::max(0.0, multiplier_[k] + size * direction_[k]);
    }
  }
  return std::min(best_, value);
}

// Goes on with other times; each multiplier goes to the next of them.
void LagrangianBound::refine(const Penalties& penalties, std::span<const double> earliest,
                             std::span<const double> completion, std::size_t times) {
  const std::vector<double> before = times_, multiplier = best_multiplier_;
  begin(*problem_, penalties, earliest, completion, times);
  for (std::size_t k = 0; k < before.size(); ++k) {
    const std::size_t at = std::min<std::size_t>(first_from(before[k]), times_.size() - 1);
    multiplier_[at] += multiplier[k];
  }
  best_multiplier_ = multiplier_;
}

// Keeps the points (saved, price) of a job's options that are on the lower convex hull from (0, 0)
// on. `forced`: the price of work that the job must do even if it never ends.
void LagrangianBound::list_asks(std::vector<DueAsk>& asks) {
  sum_prices(best_multiplier_);
  asks.clear();
  struct Point {
    double saved, price, due;
    double over(const Point& other) const { return (price - other.price) / (saved - other.saved); }
  };
  std::vector<Point> hull;
  for (std::size_t j = 0; j < problem_->size(); ++j) {
    if (offset_[j] == offset_[j + 1]) continue;
    const Option& never = options_[offset_[j + 1] - 1];
    const double forced = cost_of(j, never) - never.penalty;
    hull.assign(1, {0.0, 0.0, kInfinity});
    for (std::size_t o = offset_[j + 1] - 1; o-- > offset_[j];) {  // later ends first
      const Option& option = options_[o];
      const Point point{never.penalty - option.penalty,
                        std::max(0.0, cost_of(j, option) - option.penalty - forced),
                        option.completion};
      if (!(point.saved > hull.back().saved)) continue;
      while (hull.size() > 1 &&
             point.over(hull[hull.size() - 2]) <= hull.back().over(hull[hull.size() - 2])) {
        hull.pop_back();
      }
      hull.push_back(point);
    }
    for (std::size_t k = 1; k < hull.size(); ++k) {
      asks.push_back({hull[k].over(hull[k - 1]), hull[k].due, static_cast<Index>(j)});
    }
  }
}

// The completion that each job chooses at the best multipliers.
void LagrangianBound::choices(std::span<double> due) {
  sum_prices(best_multiplier_);
  for (std::size_t j = 0; j < problem_->size(); ++j) {
    double cost = 0.0;
    due[j] = offset_[j] < offset_[j + 1] ? options_[choose(j, cost)].completion : 0.0;
  }
}

}  // namespace malleable
