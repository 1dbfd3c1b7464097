#include "malleable/kernel/held_prices.hpp"

#include <algorithm>
#include <cmath>

#include "malleable/kernel/slot_periods.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Choices of a period that are looked at altogether (some seconds, some milliseconds); by one step
// at most so many times as many.
constexpr double kChoices = 6e7, kQuickChoices = 5e5, kMostOfStep = 5.0;
constexpr std::size_t kMostSteps = 600;
constexpr int kStuckSteps = 12;  // steps without a better bound before steps become shorter

}  // namespace

double HeldPrices::units(std::int64_t last, std::int64_t count, std::int64_t high) const {
  const std::int64_t whole = count / high, rest = count - whole * high;
  const auto sum = [&](std::int64_t k) {
    return before_[static_cast<std::size_t>(std::min(k, periods_))];
  };
  double cost = static_cast<double>(high) * (sum(last) - sum(last - whole));
  if (rest > 0) cost += static_cast<double>(rest) * price(last - whole - 1);
  return cost;
}

// A penalty of `base` at the period's start that rises by `slope` a second.
void HeldPrices::try_line(const Row& row, std::int64_t last, double base, double slope,
                          Choice& best) const {
  const std::int64_t least = std::max<std::int64_t>(0, row.need - row.high);
  const std::int64_t most =
      last > row.need / row.high ? row.need - 1 : std::min(row.need - 1, row.high * last);
  const double y = price(last);
  const auto try_slots = [&](std::int64_t a, std::int64_t b, double rest, double paid) {
    const auto count = static_cast<double>(a);
    const double cost = base + slope * rest / count + count * y + paid;
    if (cost < best.cost) best = {cost, last, a, b};
  };
  const auto try_before = [&](std::int64_t b) {
    const double rest = row.work - static_cast<double>(b) * period_;
    const double paid = units(last, b, row.high);
    const std::int64_t fewest = row.need - b;
    const double aim = y > 0.0 ? std::sqrt(std::max(0.0, slope * rest) / y)
                               : static_cast<double>(slope > 0.0 ? row.high : fewest);
    const auto floor =
        aim < static_cast<double>(row.high) ? static_cast<std::int64_t>(aim) : row.high;
    const std::int64_t a = std::clamp(floor, fewest, row.high);
    try_slots(a, b, rest, paid);
    if (a < row.high) try_slots(a + 1, b, rest, paid);
  };
  try_before(most);
  if (least < most) try_before(least);
  const std::int64_t kink = most / row.high * row.high;
  if (kink > least && kink < most) try_before(kink);
}

// The cheapest way to end in period `last`, which begins at `begin`. `line` is the penalty's row
// there, which only moves on.
HeldPrices::Choice HeldPrices::in_period(const Penalties& penalties, std::size_t j, const Row& row,
                                         std::int64_t last, double begin, std::size_t& line) const {
  Choice best;
  const std::size_t end = penalties.offset()[j + 1];
  const double until = begin + period_;
  const auto at = [&](std::size_t r) { return penalties.at()[r] + tolerance(penalties.at()[r]); };
  if (!penalties.is_custom(j)) {
    while (line + 1 < end && begin > at(line + 1)) ++line;
    const bool one = line + 1 >= end || until <= penalties.at()[line + 1];
    if (one || penalties.convex(j, begin, until)) {
      for (std::size_t r = line; r < end && (r == line || penalties.at()[r] < until); ++r) {
        Choice own;
        try_line(row, last, penalties.line(r, begin), penalties.slope()[r], own);
        if (r == line || own.cost > best.cost) best = own;
      }
      return best;
    }
  }
  try_line(row, last, penalties(j, begin), 0.0, best);
  return best;
}

HeldPrices::Choice HeldPrices::choose(const Penalties& penalties, std::size_t j,
                                      const Row& row) const {
  Choice best;
  const std::int64_t shortest = (row.need + row.high - 1) / row.high;  // periods
  std::size_t line = penalties.offset()[j];
  for (std::int64_t last = shortest - 1; last <= periods_ + shortest; ++last) {
    const double begin = now_ + static_cast<double>(last) * period_;
    if (penalties(j, begin) >= best.cost) break;  // prices are never negative
    const Choice own = in_period(penalties, j, row, last, begin, line);
    if (own.cost < best.cost) best = own;
  }
  return best;
}

// Adds the slots of a choice to the gradient, as differences.
void HeldPrices::use(const Choice& choice, const Row& row) {
  const auto add = [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    if (from >= periods_) return;
    gradient_[static_cast<std::size_t>(from)] += static_cast<double>(count);
    gradient_[static_cast<std::size_t>(std::min(to, periods_))] -= static_cast<double>(count);
  };
  const std::int64_t whole = choice.before / row.high, rest = choice.before - whole * row.high;
  const std::int64_t first = choice.last - whole;
  add(choice.last, choice.last + 1, choice.slots);
  if (whole > 0) add(first, choice.last, row.high);
  if (rest > 0) add(first - 1, first, rest);
}

// The bound at the present prices, and its gradient.
double HeldPrices::evaluate(const Penalties& penalties) {
  before_[0] = 0.0;
  for (std::size_t k = 0; k < price_.size(); ++k) before_[k + 1] = before_[k] + price_[k];
  std::fill(gradient_.begin(), gradient_.end(), 0.0);
  double bound = constant_ - slots_ * before_.back();
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].work == 0.0) continue;
    const Choice choice = choose(penalties, j, rows_[j]);
    bound += choice.cost;
    use(choice, rows_[j]);
  }
  double used = 0.0;
  for (std::size_t k = 0; k < price_.size(); ++k) {
    used += gradient_[k];
    gradient_[k] = used - slots_;
  }
  return bound;
}

// The nearest prices that never rise and are never negative: pool adjacent violators.
void HeldPrices::project() {
  blocks_.clear();
  for (const double y : price_) {
    blocks_.push_back({y, 1});
    while (blocks_.size() > 1) {
      const Block last = blocks_.back();
      Block& own = blocks_[blocks_.size() - 2];
      if (own.sum * static_cast<double>(last.count) >= last.sum * static_cast<double>(own.count)) {
        break;
      }
      own.sum += last.sum;
      own.count += last.count;
      blocks_.pop_back();
    }
  }
  std::size_t k = 0;
  for (const Block& block : blocks_) {
    const double mean = std::max(0.0, block.sum / static_cast<double>(block.count));
    for (std::size_t i = 0; i < block.count; ++i) price_[k++] = mean;
  }
}

// Prices to begin with: what it costs all that are there to wait for a period, a slot.
void HeldPrices::start(const Problem& problem, const Penalties& penalties,
                       std::span<const double> completion) {
  const std::size_t n = problem.size();
  double latest = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] > 0.0) latest = std::max(latest, completion[j]);
  }
  periods_ = static_cast<std::int64_t>(std::ceil(latest / period_)) + 1;
  const auto count = static_cast<std::size_t>(periods_);
  price_.assign(count, 0.0);
  before_.resize(count + 1);
  gradient_.resize(count + 1);
  direction_.assign(count, 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0 || penalties.is_custom(j)) continue;
    const double end = problem.now + completion[j];
    std::size_t r = penalties.offset()[j];
    while (r + 1 < penalties.offset()[j + 1] && penalties.at()[r + 1] < end) ++r;
    const auto last = static_cast<std::size_t>(completion[j] / period_);
    price_[last] += penalties.slope()[r];
  }
  double waiting = 0.0;
  for (std::size_t k = count; k-- > 0;) {
    waiting += price_[k];
    price_[k] = period_ * waiting / slots_;
  }
}

double HeldPrices::run(const Problem& problem, const Penalties& penalties, double period,
                       std::span<const double> completion, double value, bool quick) {
  const double choices = quick ? kQuickChoices : kChoices, most = kMostOfStep * choices;
  const std::size_t n = problem.size();
  now_ = problem.now;
  period_ = period;
  slots_ = problem.slots;
  constant_ = 0.0;
  rows_.resize(n);
  double latest = 0.0, work = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    if (problem.work[j] == 0.0) {
      constant_ += penalties(j, problem.idle_end[j]);
    } else {
      latest = std::max(latest, completion[j]);
      work += completion[j] / period + 1.0;
    }
    rows_[j] = {problem.work[j], static_cast<std::int64_t>(problem.high[j]),
                static_cast<std::int64_t>(slot_periods(problem.work[j], period))};
  }
  if (!(work <= most) || !(latest / period <= most / 30.0)) return -kInfinity;
  start(problem, penalties, completion);
  const std::size_t steps =
      std::clamp<std::size_t>(static_cast<std::size_t>(choices / (work + 1.0)), 1, kMostSteps);
  double best = -kInfinity, share = 1.0;
  int stuck = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const double bound = evaluate(penalties);
    if (bound > best) {
      best = bound;
      best_price_ = price_;
      stuck = 0;
    } else if (++stuck == kStuckSteps) {
      share /= 2.0;
      stuck = 0;
      price_ = best_price_;
      std::fill(direction_.begin(), direction_.end(), 0.0);
      continue;
    }
    if (!(bound < value)) break;
    double along = 0.0, last = 0.0;
    for (std::size_t k = 0; k < price_.size(); ++k) {
      along += gradient_[k] * direction_[k];
      last += direction_[k] * direction_[k];
    }
    // Camerini, Fratta, Maffioli 1975: a step that hardly undoes the last one.
    const double keep = along < 0.0 ? -0.9 * along / last : 0.0;
    double length = 0.0;
    for (std::size_t k = 0; k < price_.size(); ++k) {
      direction_[k] = gradient_[k] + keep * direction_[k];
      length += direction_[k] * direction_[k];
    }
    if (length == 0.0) break;
    const double size = share * (value - bound) / length;
    for (std::size_t k = 0; k < price_.size(); ++k) price_[k] += size * direction_[k];
    project();
  }
  // Rounding must not lift a bound above a loop that exists.
  best -= kMinor * std::max(std::fabs(best), std::fabs(value));
  return std::min(best, value);
}

}  // namespace malleable
