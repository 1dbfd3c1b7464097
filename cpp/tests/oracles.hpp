// Slow, obvious schedulers to compare with. They share no code with the kernels.
#pragma once

#include <span>
#include <vector>

#include "instances.hpp"

namespace malleable::check {

// Slots of every job given who is unfinished: the packing rule by the letter (FLEX, figure 3), or
// for gangs "none or at least the minimum".
inline Doubles first_layer(const Problem& problem, const Doubles& left,
                           std::span<const Index> order) {
  Doubles slots(problem.size(), 0.0);
  double slack = problem.slots;
  if (!problem.gang) {
    for (std::size_t j = 0; j < problem.size(); ++j) {
      if (left[j] > 0.0) slots[j] = problem.low[j];
      slack -= slots[j];
    }
  }
  for (const Index j : order) {
    if (left[j] <= 0.0 || (problem.gang && std::max(1.0, problem.low[j]) > slack)) continue;
    const double more = std::min(slack, problem.high[j] - slots[j]);
    slots[j] += more;
    slack -= more;
  }
  return slots;
}

// Completions, from now, of a schedule that asks rule(left) for everybody's slots at every
// completion.
template <typename Rule>
Doubles schedule_by(const Problem& problem, Rule rule) {
  const std::size_t n = problem.size();
  Doubles left = problem.work, completion(n, 0.0);
  std::size_t unfinished = 0;
  for (const double work : left) unfinished += work > 0.0;
  double time = 0.0;
  while (unfinished > 0) {
    const Doubles slots = rule(left);
    double span = kInfinity;
    for (std::size_t j = 0; j < n; ++j) {
      if (slots[j] > 0.0) span = std::min(span, left[j] / slots[j]);
    }
    if (span == kInfinity) break;
    time += span;
    for (std::size_t j = 0; j < n; ++j) {
      if (left[j] <= 0.0 || slots[j] == 0.0) continue;
      // Jobs that end together do so within rounding.
      left[j] = left[j] / slots[j] <= span * (1.0 + 1e-13) ? 0.0 : left[j] - slots[j] * span;
      if (left[j] <= 1e-14 * problem.work[j]) {
        left[j] = 0.0;
        completion[j] = time;
        --unfinished;
      }
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (left[j] > 0.0) completion[j] = kInfinity;
  }
  return completion;
}

inline Doubles pack_slowly(const Problem& problem, std::span<const Index> order) {
  return schedule_by(problem,
                     [&](const Doubles& left) { return first_layer(problem, left, order); });
}

// Some schedule that keeps the limits: random slots, drawn again at every completion.
inline Doubles pack_at_random(const Problem& problem, Random& random) {
  return schedule_by(problem, [&](const Doubles& left) {
    Problem changed = problem;
    for (std::size_t j = 0; j < problem.size(); ++j) {
      if (problem.gang || left[j] <= 0.0) continue;
      const auto low = static_cast<std::int64_t>(problem.low[j]);
      const auto high = static_cast<std::int64_t>(problem.high[j]);
      // Somebody must make progress: at least one slot.
      changed.high[j] = static_cast<double>(std::max<std::int64_t>(integer(random, low, high), 1));
    }
    return first_layer(changed, left, shuffled(random, problem.size()));
  });
}

__extension__ using Wide = __int128;  // slots times weights

// clamp(level w, m, M) with exact fractions for whole weights > 0: rounded down, then one slot each
// to the largest fractions, ties to the lower index.
inline void water_filling_of(const Problem& problem, const std::vector<std::int64_t>& weight,
                             const Order& jobs, Wide slots, Doubles& shares) {
  const auto low = [&](Index j) { return static_cast<Wide>(problem.low[j]); };
  const auto high = [&](Index j) { return static_cast<Wide>(problem.high[j]); };
  // Total at the level p / q, times q.
  const auto total = [&](Wide p, Wide q) {
    Wide sum = 0;
    for (const Index j : jobs) sum += std::clamp(p * weight[j], low(j) * q, high(j) * q);
    return sum;
  };
  Wide most = 0, p = 0, q = 1;  // the highest level with a kink that can be afforded
  for (const Index j : jobs) most += high(j);
  slots = std::min(slots, most);
  for (const Index j : jobs) {
    for (const Wide bend : {low(j), high(j)}) {
      if (total(bend, weight[j]) <= slots * weight[j] && bend * q >= p * weight[j]) {
        p = bend;
        q = weight[j];
      }
    }
  }
  Wide fixed = 0, rate = 0;
  const auto rises = [&](Index j) {
    return low(j) * q <= p * weight[j] && p * weight[j] < high(j) * q;
  };
  for (const Index j : jobs) {
    fixed += rises(j) ? 0 : p * weight[j] < low(j) * q ? low(j) : high(j);
    rate += rises(j) ? weight[j] : 0;
  }
  std::vector<std::pair<Wide, Index>> fractions;  // negative, so that the largest come first
  Wide left = slots - fixed;
  const Wide water = left;
  for (const Index j : jobs) {
    if (!rises(j)) {
      shares[j] = p * weight[j] < low(j) * q ? problem.low[j] : problem.high[j];
      continue;
    }
    shares[j] = static_cast<double>(water * weight[j] / rate);
    left -= water * weight[j] / rate;
    fractions.emplace_back(-(water * weight[j] % rate), j);
  }
  std::sort(fractions.begin(), fractions.end());
  for (Wide k = 0; k < left; ++k) shares[fractions[static_cast<std::size_t>(k)].second] += 1.0;
}

// The water_filling of the jobs with work; without `weight` all weigh the same. Weight 0: minima
// until all others are at their maxima, then equal shares.
inline Doubles water_filling_slowly(const Problem& problem, const Doubles& weight) {
  Doubles shares(problem.size(), 0.0);
  Order weighted, light;
  std::int64_t admitted = 0, most = 0, reserved = 0;
  const auto slots = static_cast<std::int64_t>(problem.slots);
  std::vector<std::int64_t> whole(problem.size(), 1);
  for (Index j = 0; j < problem.size(); ++j) {
    if (problem.work[j] <= 0.0) continue;
    const auto need = static_cast<std::int64_t>(std::max(1.0, problem.low[j]));
    if (problem.gang && admitted + need > slots) continue;
    admitted += need;
    if (!weight.empty()) whole[j] = static_cast<std::int64_t>(weight[j]);
    if (whole[j] > 0) {
      weighted.push_back(j);
      most += static_cast<std::int64_t>(problem.high[j]);
    } else {
      whole[j] = 1;
      light.push_back(j);
      reserved += static_cast<std::int64_t>(problem.low[j]);
    }
  }
  const std::int64_t used = std::min(most, slots - reserved);
  water_filling_of(problem, whole, weighted, used, shares);
  water_filling_of(problem, whole, light, slots - used, shares);
  return shares;
}

inline Doubles absolute(const Problem& problem, const Doubles& completion) {
  Doubles times(problem.size());
  for (std::size_t j = 0; j < problem.size(); ++j) {
    times[j] = problem.work[j] > 0.0 ? problem.now + completion[j] : problem.idle_end[j];
  }
  return times;
}

inline double value_of(const Problem& problem, const Penalties& penalties, Aggregate aggregate,
                       const Doubles& completion) {
  const Doubles times = absolute(problem, completion);
  double sum = 0.0, worst = -kInfinity;
  for (std::size_t j = 0; j < times.size(); ++j) {
    const double paid = penalties(j, times[j]);
    sum += paid;
    worst = std::max(worst, paid);
  }
  return times.empty() ? 0.0 : aggregate == Aggregate::kSum ? sum : worst;
}

// Least value over all packing orders.
inline double best_of_all_orders(const Problem& problem, const Penalties& penalties,
                                 Aggregate aggregate) {
  double best = kInfinity;
  all_orders(problem.size(), [&](const Order& order) {
    best = std::min(best, value_of(problem, penalties, aggregate, pack_slowly(problem, order)));
  });
  return best;
}

}  // namespace malleable::check
