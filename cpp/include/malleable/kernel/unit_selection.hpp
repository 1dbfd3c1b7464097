// Selection of the cheapest units: the heart of separable resource allocation.
//
// Every job may have slots between `low` and `high`, and each further slot, a unit, has a price
// that never falls along a job's units. The cheapest `capacity` units are found by bracketing their
// dearest price, first on a sample and then on all jobs; only units inside the bracket are looked
// at one by one. About three totals over all jobs, O(J) each; `Cost` computes them: ClosedForm
// counts units below a price with vector instructions.
//
// Frederickson and Johnson 1982; Galil and Megiddo 1979.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

struct Unit {    // one more slot for a job
  double price;  // one over what the slot saves, or less what it saves: cheap units save much
  Index job;
};

// Prices if s slots cost scale / s: the unit after s slots costs s (s + 1) / scale. A job with a
// scale above 0 cannot end without slots, so it has at least one.
class ClosedForm {
 public:
  ClosedForm(std::span<const double> scale, std::span<const double> low,
             std::span<const double> high)
      : scale_(scale), low_(low), high_(high) {}
  // Slots of the jobs from `first` to `end` when every unit priced at most x is bought.
  double total(double x, std::size_t first, std::size_t end) const;
  // Slots of all jobs if no unit is bought.
  void fewest(std::span<double> out) const { counts(0.0, 0, out); }
  // Slots of the jobs from `first` on, if every unit priced at most x is bought.
  void counts(double x, std::size_t first, std::span<double> out) const;
  double price(std::size_t j, double s) const { return s * (s + 1.0) / scale_[j]; }
  double dearest() const { return 1e300; }  // no price is above it

 private:
  std::span<const double> scale_, low_, high_;
};

// The least whole number in [from, to) with a property that all larger numbers then have, too; or
// `to`. Fewer rounds than a double has bits.
template <typename Property>
double first_where(double from, double to, Property holds) {
  while (from < to) {
    const double middle = std::floor(from + (to - from) / 2.0);
    if (holds(middle)) {
      to = middle;
    } else {
      from = middle + 1.0;
    }
  }
  return from;
}

// Units with any price that does not fall along a job's units.
template <typename Price>
class ByHalving {
 public:
  ByHalving(Price price, double dearest, std::span<const double> low, std::span<const double> high)
      : price_(price), dearest_(dearest), low_(low), high_(high) {}
  double count(double x, std::size_t j) const {
    return first_where(low_[j], high_[j], [&](double s) { return !(price_(j, s) <= x); });
  }
  void fewest(std::span<double> out) const { std::copy(low_.begin(), low_.end(), out.begin()); }
  double total(double x, std::size_t first, std::size_t end) const {
    double sum = 0.0;
    for (std::size_t j = first; j < end; ++j) sum += count(x, j);
    return sum;
  }
  void counts(double x, std::size_t first, std::span<double> out) const {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = count(x, first + k);
  }
  double price(std::size_t j, double s) const { return price_(j, s); }
  double dearest() const { return dearest_; }

 private:
  Price price_;
  double dearest_;
  std::span<const double> low_, high_;
};

// Orders doubles as integers, so that bisection takes at most 64 steps at any scale.
inline std::int64_t price_rank(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x + 0.0);
  return bits >= 0 ? bits : std::int64_t{-0x7fffffffffffffff} - 1 - bits;
}
// Ranks of opposite sign may lie further apart than a signed integer reaches.
inline std::uint64_t rank_distance(std::int64_t below, std::int64_t above) {
  return static_cast<std::uint64_t>(above) - static_cast<std::uint64_t>(below);
}
inline std::int64_t halfway(std::int64_t below, std::int64_t above) {
  return below + static_cast<std::int64_t>(rank_distance(below, above) / 2);
}
inline double price_of_rank(std::int64_t rank) {
  return std::bit_cast<double>(rank >= 0 ? rank : std::int64_t{-0x7fffffffffffffff} - 1 - rank);
}

// Ranks of two prices, and how many slots are bought at each: bought <= capacity < dearer.
struct PriceBracket {
  std::int64_t below, above;
  double bought, dearer;
  double capacity;
  void narrow(std::int64_t rank, double sum) {
    (sum <= capacity ? below : above) = rank;
    (sum <= capacity ? bought : dearer) = sum;
  }
};

// Narrows the bracket by evenly spread blocks of jobs as a sample.
template <typename Cost>
void narrow_by_sample(const Cost& cost, std::size_t n, PriceBracket& bracket) {
  constexpr std::size_t kBlocks = 64, kBlock = 16;  // of the sample; jobs of a block
  const auto sampled = [&](double x) {
    double sum = 0.0;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::size_t first = b * (n - kBlock) / (kBlocks - 1);
      sum += cost.total(x, first, first + kBlock);
    }
    return sum;
  };
  const double share =
      bracket.capacity * static_cast<double>(kBlocks * kBlock) / static_cast<double>(n);
  std::int64_t guess = bracket.below, end = bracket.above;
  while (rank_distance(guess, end) > (std::uint64_t{1} << 44)) {  // to one part in 2^8
    const std::int64_t middle = halfway(guess, end);
    (sampled(price_of_rank(middle)) <= share ? guess : end) = middle;
  }
  // Widen until the totals of all jobs bracket the capacity.
  const std::int64_t lowest = bracket.below, highest = bracket.above;
  std::int64_t width = std::int64_t{1} << 47;
  for (; (bracket.below == lowest || bracket.above == highest) && width < (std::int64_t{1} << 60);
       width *= 8) {
    for (const std::int64_t rank : {guess - width, guess + width}) {
      if (rank <= bracket.below || rank >= bracket.above) continue;
      bracket.narrow(rank, cost.total(price_of_rank(rank), 0, n));
    }
  }
}

// Buys the units below the bracket, then the rest inside it: the cheapest of `units`, or, if all
// have one price, in the order of the jobs.
template <typename Cost>
void buy_units(const Cost& cost, std::span<const double> high, const PriceBracket& bracket,
               std::span<double> slots, std::vector<Unit>& units) {
  // One price may have very many units, so these are not listed.
  const bool one_price = rank_distance(bracket.below, bracket.above) <= 1;
  double left = bracket.capacity - bracket.bought;
  units.clear();
  constexpr std::size_t kBlock = 512;
  double upper[kBlock];
  for (std::size_t first = 0; first < slots.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, slots.size() - first);
    cost.counts(price_of_rank(bracket.below), first, slots.subspan(first, count));
    cost.counts(price_of_rank(bracket.above), first, {upper, count});
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t j = first + k;
      if (one_price) {
        const double more = std::min(left, upper[k] - slots[j]);
        slots[j] += more;
        left -= more;
        continue;
      }
      for (double s = slots[j]; s < upper[k]; ++s) {
        units.push_back({cost.price(j, s), static_cast<Index>(j)});
      }
    }
  }
  const auto cheaper = [](const Unit& a, const Unit& b) {
    return a.price != b.price ? a.price < b.price : a.job < b.job;
  };
  const auto keep = static_cast<std::ptrdiff_t>(std::min(left, static_cast<double>(units.size())));
  std::nth_element(units.begin(), units.begin() + keep, units.end(), cheaper);
  for (std::ptrdiff_t k = 0; k < keep; ++k) {
    const Index job = units[static_cast<std::size_t>(k)].job;
    if (slots[job] < high[job]) slots[job] += 1.0;
  }
}

// Gives out `capacity` slots, cheapest units first, ties to the lower index. Units dearer than
// cost.dearest() gain nothing and are not bought. `needed`: the sum of the lower ends of the
// ranges; `most`: all units at cost.dearest(); `cheapest`: a price at which cost.counts, which may
// round, buys nothing.
template <typename Cost>
void select_units(const Cost& cost, std::span<const double> high, double capacity, double needed,
                  double most, double cheapest, std::span<double> slots, std::vector<Unit>& units) {
  const std::size_t n = slots.size();
  if (needed >= capacity || cheapest > cost.dearest()) {
    cost.fewest(slots);
    return;
  }
  if (most <= capacity) {
    cost.counts(cost.dearest(), 0, slots);
    return;
  }
  // Nothing is bought below the first price, unless prices are mere rounding.
  const std::int64_t first = price_rank(cheapest) - 1;
  const bool bought = cost.total(price_of_rank(first), 0, n) > needed;
  PriceBracket bracket{bought ? price_rank(-kInfinity) : first, price_rank(cost.dearest()), needed,
                       most, capacity};
  if (n > 4096) narrow_by_sample(cost, n, bracket);
  const double few = static_cast<double>(n) / 4.0 + 32.0;
  while (bracket.dearer - bracket.bought > few && rank_distance(bracket.below, bracket.above) > 1) {
    const std::int64_t middle = halfway(bracket.below, bracket.above);
    bracket.narrow(middle, cost.total(price_of_rank(middle), 0, n));
  }
  buy_units(cost, high, bracket, slots, units);
}

}  // namespace malleable
