#include "malleable/kernel/marginal_gains.hpp"

#include <algorithm>
#include <cmath>

namespace malleable {
// Terms: the gain of slots is the value of the speed that they add, per slot. A hull is the least
// concave curve above a job's table of speeds, its corners are where the slope changes. A gang runs
// on at least its minimum, or not at all.
namespace {

// The size of a step, as a part of the job's slots, if every whole number is a corner.
constexpr double kStepPart = 1.0 / 32.0;
// With more slots per job than this, most are given at one price at once.
constexpr double kManySlots = 2.0;
// Halvings of the logarithm of a price; single steps give the last few slots.
constexpr int kPriceHalvings = 40;
constexpr double kClose = 1e-3;  // of logarithms of prices: near enough to stop halving

}  // namespace

void MarginalGains::prepare(const Problem& problem, const SpeedupView& speedup) {
  speedup_ = speedup;
  hulls_.build(speedup, problem.low, problem.high, problem.gang);
}

// The next step of job k; it has no slots if there is nothing to gain.
MarginalGains::Step MarginalGains::next(const Ask& ask, std::size_t k) const {
  const Index row = ask.row_of(k);
  const double has = ask.slots[k], value = ask.value_of(k), high = ask.jobs.high[k];
  const auto step = [&](double to, double more, bool whole) {
    return Step{value * more / (to - has), to - has, static_cast<Index>(k), whole};
  };
  if (has >= high) return {};
  if (const auto own = hulls_.of(row); !own.slots.empty()) {
    const auto corner = std::upper_bound(own.slots.begin(), own.slots.end(), has);
    if (corner == own.slots.end()) return {};
    const double rate = own.rate[static_cast<std::size_t>(corner - own.slots.begin())];
    return step(*corner, rate - speedup_.at(row, has), /*whole=*/true);
  }
  const bool gang = ask.jobs.gang && has == 0.0;
  const double p = speedup_.power(row);
  const double least = gang       ? std::max(1.0, ask.jobs.low[k])
                       : p == 1.0 ? high
                       : p > 0.0  ? has + std::max(1.0, std::floor(has * kStepPart))
                                  : std::max(1.0, has);
  const double to = std::min(high, least);
  if (!(to > has)) return {};
  return step(to, speedup_.at(row, to) - speedup_.at(row, has), gang);
}

// The slots of job k at this price of a slot.
double MarginalGains::at_price(const Ask& ask, std::size_t k, double price) const {
  const Index row = ask.row_of(k);
  const double value = ask.value_of(k), has = ask.slots[k], high = ask.jobs.high[k];
  if (has >= high) return has;
  if (const auto own = hulls_.of(row); !own.slots.empty()) {
    std::size_t from = 0, to = own.slots.size() - 1;
    while (from < to) {
      const std::size_t c = from + (to - from) / 2;
      const double gain = value * (own.rate[c + 1] - own.rate[c]);
      if (gain > price * (own.slots[c + 1] - own.slots[c])) {
        from = c + 1;
      } else {
        to = c;
      }
    }
    return own.slots[from] <= high ? std::max(has, own.slots[from]) : has;
  }
  if (ask.jobs.gang && has == 0.0) return has;  // a step that single steps decide
  const double p = speedup_.power(row);
  if (p == 1.0) return value > price ? high : has;
  const double wanted = std::pow(value * p / price, 1.0 / (1.0 - p));
  // The slot before the whole number gains more than the slope there; the next may gain enough.
  const double near = std::clamp(std::floor(wanted), has, high);
  if (near >= high) return near;
  const double gain = speedup_.at(row, near + 1.0) - speedup_.at(row, near);
  return value * gain > price ? near + 1.0 : near;
}

// Gives the slots that jobs take at the highest price at which all fits; returns the rest.
double MarginalGains::start_high(const Ask& ask, double free) {
  const std::size_t n = ask.jobs.size();
  double dearest = 0.0, cheapest = kInfinity, before = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    if (!(ask.jobs.work[k] > 0.0)) continue;
    const double value = ask.value_of(k);
    before += ask.slots[k];
    if (!(value > 0.0)) continue;
    dearest = std::max(dearest, value * speedup_.most_per_slot(ask.row_of(k)));
    cheapest = std::min(cheapest, value);
  }
  if (!(dearest > 0.0)) return free;
  // The lowest price is e^40 times lower than the least value a slot, so that any gain exceeds it.
  double high = std::log(dearest), low = std::log(cheapest) - std::log(ask.jobs.slots) - 40.0;
  high_.resize(n);
  bool found = false;
  for (int step = 0; step < kPriceHalvings && high - low > kClose; ++step) {
    const double middle = low + (high - low) / 2.0, price = std::exp(middle);
    double asked = 0.0;
    for (std::size_t k = 0; k < n && asked - before <= free; ++k) {
      if (ask.jobs.work[k] > 0.0) asked += at_price(ask, k, price);
    }
    (asked - before > free ? low : high) = middle;
    found |= asked - before <= free;
  }
  if (!found) return free;
  const double price = std::exp(high);
  for (std::size_t k = 0; k < n; ++k) {
    high_[k] = ask.jobs.work[k] > 0.0 ? at_price(ask, k, price) : ask.slots[k];
  }
  for (std::size_t k = 0; k < n; ++k) {
    free -= high_[k] - ask.slots[k];
    ask.slots[k] = high_[k];
  }
  return free;
}

// Gives free slots step by step to the job that gains most per slot.
void MarginalGains::climb(const Ask& ask, double free) {
  const std::size_t n = ask.jobs.size();
  heap_.clear();
  blocked_.clear();
  for (std::size_t k = 0; k < n; ++k) {
    if (!(ask.jobs.work[k] > 0.0)) continue;
    if (const Step first = next(ask, k); first.gain > 0.0) heap_.push_back(first);
  }
  std::make_heap(heap_.begin(), heap_.end());
  while (free > 0.0 && !heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Step best = heap_.back();
    heap_.pop_back();
    double& has = ask.slots[best.job];
    if (best.whole && (best.slots > free || has + best.slots > ask.jobs.high[best.job])) {
      blocked_.push_back(best.job);
      continue;
    }
    const double taken = std::min(best.slots, free);
    has += taken;
    free -= taken;
    const Step more = next(ask, best.job);
    if (!(more.gain > 0.0)) continue;
    heap_.push_back(more);
    std::push_heap(heap_.begin(), heap_.end());
  }
  if (free > 0.0) give_rest(ask, free);
}

// Gives single slots by the tables themselves, between corners.
void MarginalGains::give_rest(const Ask& ask, double free) {
  std::sort(blocked_.begin(), blocked_.end());
  for (bool more = true; more && free > 0.0;) {
    Step best{};
    for (const Index k : blocked_) {
      const Index row = ask.row_of(k);
      const double has = ask.slots[k], now = speedup_.at(row, has);
      const double table = static_cast<double>(speedup_.table(row).size());
      const double most = std::min({has + free, ask.jobs.high[k], std::max(table, has)});
      const double least = ask.jobs.gang ? std::max(1.0, ask.jobs.low[k]) : 1.0;
      for (double to = std::max(least, has + 1.0); to <= most; to += 1.0) {
        const double gain = ask.value_of(k) * (speedup_.at(row, to) - now) / (to - has);
        if (gain > best.gain) best = {gain, to - has, k, true};
      }
    }
    more = best.gain > 0.0;
    if (!more) break;
    ask.slots[best.job] += best.slots;
    free -= best.slots;
  }
}

void MarginalGains::allocate(const Problem& jobs, std::span<const Index> row,
                             std::span<const double> value, std::span<double> slots) {
  const Ask ask{jobs, row, value, slots};
  double free = jobs.slots, count = 0.0;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const bool works = jobs.work[k] > 0.0;
    slots[k] = works && !jobs.gang ? jobs.low[k] : 0.0;
    free -= slots[k];
    count += works ? 1.0 : 0.0;
  }
  if (free > kManySlots * count) free = start_high(ask, free);
  climb(ask, free);
}

// Rounds given slots down to corners and gives what is left over again.
void MarginalGains::settle(const Problem& jobs, std::span<const Index> row,
                           std::span<const double> value, std::span<double> slots) {
  const Ask ask{jobs, row, value, slots};
  double used = 0.0;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const auto own = hulls_.of(ask.row_of(k));
    const double has = slots[k];
    if (!own.slots.empty() && has > own.slots[0]) {
      slots[k] = *(std::upper_bound(own.slots.begin(), own.slots.end(), has) - 1);
    }
    used += slots[k];
  }
  climb(ask, jobs.slots - used);
}

}  // namespace malleable
