#include "malleable/kernel/multiple_choice_knapsack.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Costs closer than this (relative) count as equal when options and states are pruned.

struct Step {  // one edge of a class's lower convex envelope
  double slope, size;
  std::size_t cls, to;
};

}  // namespace

void MultipleChoiceKnapsack::clear() {
  options_.clear();
  first_.clear();
}

void MultipleChoiceKnapsack::begin_class() { first_.push_back(options_.size()); }

// Walks down the envelopes' edges from steep to flat until the capacity is used: that is the linear
// relaxation, and the slope of the last edge is the multiplier.
double MultipleChoiceKnapsack::relax(double capacity) {
  const std::size_t classes = first_.size() - 1;
  std::vector<Step> steps;
  std::vector<std::size_t> hull;
  double used = 0.0, cost = 0.0;
  at_multiplier_.resize(classes);
  for (std::size_t c = 0; c < classes; ++c) {
    hull.clear();
    for (std::size_t o = first_[c]; o < first_[c + 1]; ++o) {
      while (hull.size() > 1) {
        const Option &a = options_[hull[hull.size() - 2]], &b = options_[hull.back()];
        if ((b.cost - a.cost) * (options_[o].size - b.size) <
            (options_[o].cost - b.cost) * (b.size - a.size)) {
          break;
        }
        hull.pop_back();
      }
      hull.push_back(o);
    }
    for (std::size_t k = 1; k < hull.size(); ++k) {
      const Option &a = options_[hull[k - 1]], &b = options_[hull[k]];
      steps.push_back({(b.cost - a.cost) / (b.size - a.size), b.size - a.size, c, hull[k]});
    }
    at_multiplier_[c] = first_[c];
    used += options_[first_[c]].size;
    cost += options_[first_[c]].cost;
  }
  assert(used <= capacity);
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return a.slope != b.slope ? a.slope < b.slope : a.cls != b.cls ? a.cls < b.cls : a.to < b.to;
  });
  multiplier_ = 0.0;
  for (const Step& step : steps) {
    if (used + step.size > capacity) {
      multiplier_ = -step.slope;
      cost += step.slope * (capacity - used);
      break;
    }
    used += step.size;
    cost += options_[step.to].cost - options_[at_multiplier_[step.cls]].cost;
    at_multiplier_[step.cls] = step.to;
  }
  // From here on greedily whatever still fits, dearest gain per slot first.
  chosen_ = at_multiplier_;
  for (const Step& step : steps) {
    const std::size_t now = chosen_[step.cls];
    if (step.to <= now) continue;
    const double more = options_[step.to].size - options_[now].size;
    if (used + more <= capacity) {
      used += more;
      chosen_[step.cls] = step.to;
    }
  }
  return cost;
}

// Single exchanges: move one class to the best option that the free capacity admits.
double MultipleChoiceKnapsack::round_down(double capacity) {
  double used = 0.0, cost = 0.0;
  for (std::size_t c = 0; c + 1 < first_.size(); ++c) {
    used += options_[chosen_[c]].size;
    cost += options_[chosen_[c]].cost;
  }
  for (std::size_t c = 0; c + 1 < first_.size(); ++c) {
    for (std::size_t o = first_[c + 1] - 1; o > chosen_[c]; --o) {
      if (used + options_[o].size - options_[chosen_[c]].size <= capacity) {
        used += options_[o].size - options_[chosen_[c]].size;
        cost += options_[o].cost - options_[chosen_[c]].cost;
        chosen_[c] = o;
        break;
      }
    }
  }
  return cost;
}

MultipleChoiceKnapsack::Result MultipleChoiceKnapsack::solve(double capacity, std::size_t effort,
                                                             std::span<double> choice) {
  const std::size_t classes = first_.size();
  assert(choice.size() == classes);
  first_.push_back(options_.size());
  Result result;
  const double bound = relax(capacity);
  double best = round_down(capacity);
  const double margin = kRounding * std::max(1.0, std::fabs(best));
  result.exact = best - bound <= margin || search(capacity, bound, best, effort);
  first_.pop_back();
  result.value = 0.0;
  for (std::size_t c = 0; c < classes; ++c) {
    choice[c] = options_[chosen_[c]].size;
    result.value += options_[chosen_[c]].cost;
  }
  result.lower_bound = result.exact ? result.value : std::min(bound, result.value);
  return result;
}

// The options of each class that might still be part of something better. Where that is one only,
// `base` has it.
std::vector<MultipleChoiceKnapsack::CoreClass> MultipleChoiceKnapsack::core(
    double bound, double best, State& base, std::vector<std::size_t>& choice) const {
  std::vector<CoreClass> core;
  std::vector<std::uint32_t> kept;
  for (std::size_t c = 0; c + 1 < first_.size(); ++c) {
    double least = priced(first_[c]);
    for (std::size_t o = first_[c] + 1; o < first_[c + 1]; ++o) least = std::min(least, priced(o));
    kept.clear();
    for (std::size_t o = first_[c]; o < first_[c + 1]; ++o) {
      if (bound + (priced(o) - least) < best || priced(o) == least) {
        kept.push_back(static_cast<std::uint32_t>(o));
      }
    }
    if (kept.size() == 1) {
      choice[c] = kept[0];
      base.size += options_[kept[0]].size;
      base.cost += options_[kept[0]].cost;
    } else {
      core.push_back({c, kept});
    }
  }
  // Classes whose options differ most first: their choices use up the difference to the bound.
  const auto spread = [&](const CoreClass& entry) {
    double low = priced(entry.kept[0]), high = low;
    for (const auto o : entry.kept) {
      low = std::min(low, priced(o));
      high = std::max(high, priced(o));
    }
    return high - low;
  };
  std::stable_sort(core.begin(), core.end(),
                   [&](const CoreClass& a, const CoreClass& b) { return spread(a) > spread(b); });
  return core;
}

bool MultipleChoiceKnapsack::search(double capacity, double bound, double& best,
                                    std::size_t effort) {
  const double target = best - kRounding * std::max(1.0, std::fabs(best));  // cost less than that
  State base{0.0, 0.0, 0, 0};
  std::vector<std::size_t> kept_choice = chosen_;
  const std::vector<CoreClass> core = this->core(bound, target, base, kept_choice);
  // Suffix sums of the smallest sizes, for feasibility, and of the least priced costs, for the
  // bound.
  std::vector<double> rest_size(core.size() + 1, 0.0), rest_priced(core.size() + 1, 0.0);
  for (std::size_t k = core.size(); k-- > 0;) {
    double size = options_[core[k].kept[0]].size, least = priced(core[k].kept[0]);
    for (const auto o : core[k].kept) {
      size = std::min(size, options_[o].size);
      least = std::min(least, priced(o));
    }
    rest_size[k] = rest_size[k + 1] + size;
    rest_priced[k] = rest_priced[k + 1] + least;
  }
  std::vector<std::vector<State>> layers(core.size() + 1);
  layers[0].push_back(base);
  std::vector<State> merged;
  std::size_t visited = 0;
  for (std::size_t k = 0; k < core.size(); ++k) {
    merged.clear();
    for (std::size_t s = 0; s < layers[k].size(); ++s) {
      const State& state = layers[k][s];
      for (const auto o : core[k].kept) {
        const double size = state.size + options_[o].size, cost = state.cost + options_[o].cost;
        if (size + rest_size[k + 1] > capacity) continue;
        if (cost + multiplier_ * (size - capacity) + rest_priced[k + 1] >= target) continue;
        merged.push_back({size, cost, static_cast<std::uint32_t>(s), o});
      }
      // Now, not after the layer: a layer may have as many states as the effort times the options.
      if (visited + merged.size() > effort) return false;
    }
    visited += merged.size();
    layers[k + 1] = undominated(merged);
    if (layers[k + 1].empty()) return true;  // nothing beats what we have
  }
  const auto& last = layers.back();
  if (last.empty() || last.back().size > capacity || last.back().cost >= target) return true;
  best = last.back().cost;
  chosen_ = kept_choice;
  std::size_t s = last.size() - 1;
  for (std::size_t k = core.size(); k-- > 0;) {
    chosen_[core[k].index] = layers[k + 1][s].option;
    s = layers[k + 1][s].parent;
  }
  return true;
}

// Of states sorted by size, those that cost less than all smaller ones.
std::vector<MultipleChoiceKnapsack::State> MultipleChoiceKnapsack::undominated(
    std::vector<State>& states) {
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.size != b.size ? a.size < b.size : a.cost < b.cost;
  });
  std::vector<State> kept;
  for (const State& state : states) {
    if (kept.empty() || state.cost < kept.back().cost) kept.push_back(state);
  }
  return kept;
}

}  // namespace malleable
