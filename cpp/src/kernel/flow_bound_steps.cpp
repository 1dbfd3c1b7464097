// Bounds of sums by multipliers for the work forced before certain times: for steps, and for any
// penalties on a grid. Options are the completions that a flow may choose, with their penalties.
// Each time has a Lagrangian multiplier, a price of the work that must be done by then; room_ is
// the work that fits before it, force_ the work that each option forces before it (by option, then
// by time). all_ has one row, 0: the most work that all flows together can have done by a time;
// tail_ has a row for each flow: the most work that can be done in the last seconds before its end.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "malleable/kernel/flow_bound.hpp"
#include "malleable/kernel/quantiles.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Most times with a multiplier; subgradient steps, and those before the search; times of the grid.
constexpr std::size_t kMostTimes = 64;
constexpr int kDualSteps = 400, kQuickSteps = 40;
constexpr double kGridTimes = 40.0;

}  // namespace

// Lists the last times of each step of a flow's penalty; completions from `horizon` on cost the
// same.
void FlowBound::list_options(const Penalties& penalties, double horizon) {
  option_offset_.assign(1, 0);
  options_.clear();
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    const std::size_t first = penalties.offset()[j], end = penalties.offset()[j + 1];
    if (problem_->volume[j] == 0.0) {  // no work: it ends at idle_end (absolute)
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

// Gives multipliers to at most so many of the options' due times.
void FlowBound::pick_times(std::size_t most) {
  times_.clear();
  for (const Option& option : options_) {
    if (option.due < kInfinity) times_.push_back(option.due);
  }
  keep_quantiles(times_, most);
  fill_force();
}

// Fills room_ and force_.
void FlowBound::fill_force() {
  room_.resize(times_.size());
  force_.assign(options_.size() * times_.size(), 0.0);
  // Slightly more capacity than there is, because multipliers would magnify an overload that is
  // only rounding.
  double total = 0.0;
  for (const double volume : problem_->volume) total += volume;
  for (std::size_t t = 0; t < times_.size(); ++t) {
    room_[t] = all_.at(0, times_[t]) * (1.0 + kAmple) + kAmple * total + rounding(times_[t]);
    // Rounding may add so much to the forced work of each flow, most at its last due time.
    for (std::size_t j = 0; j < problem_->flows(); ++j) {
      double last = 0.0;
      for (std::size_t o = option_offset_[j]; o < option_offset_[j + 1]; ++o) {
        if (options_[o].due < kInfinity) last = std::max(last, options_[o].due);
      }
      room_[t] += rounding(j, last, times_[t]);
    }
  }
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
    for (std::size_t o = option_offset_[j]; o < option_offset_[j + 1]; ++o) {
      for (std::size_t t = 0; t < times_.size(); ++t) {
        force_[o * times_.size() + t] = forced(j, options_[o].due, times_[t]);
      }
    }
  }
}

// The bound at the present multipliers, and its gradient: every flow takes its cheapest option.
double FlowBound::price_options() {
  const std::size_t times = times_.size();
  double bound = 0.0;
  for (std::size_t t = 0; t < times; ++t) {
    bound -= multiplier_[t] * room_[t];
    gradient_[t] = -room_[t];
  }
  for (std::size_t j = 0; j < problem_->flows(); ++j) {
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
  return bound;
}

// Finds multipliers by subgradient steps towards `value`; returns their best bound.
double FlowBound::relax_steps(double value, int most) {
  const std::size_t times = times_.size();
  multiplier_.assign(times, 0.0);
  best_multiplier_.assign(times, 0.0);
  gradient_.resize(times);
  double best = -kInfinity, share = 1.0;
  int stuck = 0;
  const int steps = static_cast<int>(std::min<std::size_t>(
      static_cast<std::size_t>(most),
      2 + 20'000'000 / (options_.size() * std::max<std::size_t>(times, 1) + 1)));
  for (int step = 0; step < steps; ++step) {
    if (step >= kQuickSteps && is_late()) break;
    const double bound = price_options();
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

// Lists the completions that a flow may choose: where its penalty bends, and even steps.
void FlowBound::list_grid(const Penalties& penalties, double horizon) {
  constexpr int kSteps = 32;  // even steps from a flow's earliest end to the horizon
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

// The bound for any piecewise linear penalties, at most `value`; `share` scales the effort.
double FlowBound::grid_bound(const Penalties& penalties, double value, double share) {
  const std::size_t f = problem_->flows();
  // The places to look at rise with the square of the times.
  const auto times = static_cast<std::size_t>(kGridTimes * std::sqrt(share));
  if (f == 0 || f > kMostGrid || all_.time.empty() || times == 0) return -kInfinity;
  for (std::size_t j = 0; j < f; ++j) {
    if (penalties.is_custom(j)) return -kInfinity;
  }
  const double end = all_.time.back();
  list_grid(penalties, end * 1.1);
  times_.clear();
  for (std::size_t k = 1; k <= times; ++k) {
    times_.push_back(end * static_cast<double>(k) / static_cast<double>(times + 1));
  }
  fill_force();
  relax_steps(value, static_cast<int>(std::ceil(kDualSteps * share)));
  double bound = 0.0;
  for (std::size_t t = 0; t < times_.size(); ++t) bound -= best_multiplier_[t] * room_[t];
  double size = std::fabs(bound);
  for (std::size_t j = 0; j < f; ++j) {
    const double least =
        problem_->volume[j] > 0.0 ? least_price(penalties, j) : penalties(j, problem_->idle_end[j]);
    bound += least;
    size += std::fabs(least);
  }
  return std::min(bound - kRounding * size, value);
}

// Searches depth first through the flows, options by their price under the multipliers.
struct FlowBound::Search {
  FlowBound& own;
  double best;           // a choice must cost less
  std::uint64_t nodes;   // left
  bool complete = true;  // every branch was settled
  std::size_t times = 0;
  double base = 0.0;
  std::vector<std::size_t> order, chosen, best_chosen;
  // least price and work of the flows from a depth on
  std::vector<double> price_left, force_left, used;
  std::vector<std::vector<std::size_t>> by_price;

  // Tries the options of the depth-th flow; `paid` and `price`: of the flows before it, without and
  // with the multipliers.
  void descend(std::size_t depth, double paid, double price) {
    if (nodes == 0) {
      complete = false;
      return;
    }
    if (--nodes % 256 == 0 && own.is_late()) nodes = 0;
    const std::size_t f = order.size();
    if (depth == f) {
      if (paid < best) {
        best = paid;
        best_chosen = chosen;
      }
      return;
    }
    const double small = kAmple * std::max(1.0, std::fabs(best));
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

// Searches all choices that the relaxation leaves open. Flows whose second best option costs most
// more than the best come first.
double FlowBound::search_steps(double value, std::uint64_t nodes,
                               std::span<const std::size_t> least, std::span<double> due) {
  const std::size_t f = problem_->flows(), times = times_.size();
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
    for (std::size_t j = 0; j < due.size(); ++j) due[j] = options_[search.best_chosen[j]].due;
  }
  // Every choice that costs less than this forces more work than fits.
  return search.complete ? search.best : -kInfinity;
}

// The bound for steps, at most `value`, with a search of so many nodes; writes the due times of the
// chosen options.
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
  std::vector<std::size_t> least(f);
  for (std::size_t j = 0; j < f; ++j) {
    std::size_t choice = option_offset_[j];
    for (std::size_t o = choice; o < option_offset_[j + 1]; ++o) {
      if (reduced_[o] < reduced_[choice]) choice = o;
    }
    least[j] = choice;
    if (!due.empty()) due[j] = options_[choice].due;
  }
  if (nodes == 0 || f > kMostTimes || !(bound < value)) return std::min(bound, value);

  bound = std::max(bound, search_steps(value, nodes, least, due));
  return std::min(bound, value);
}

}  // namespace malleable
