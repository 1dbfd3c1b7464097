#include "malleable/model/speedups.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/problem.hpp"
#include "malleable/model/tolerance.hpp"

namespace malleable {

// Speed-up of job `row`: a table of speeds with 1, 2, ... slots, or slots^p with its exponent p. A
// hull is the least concave curve above a table, given by its corners. A gang runs on at least its
// minimum, or not at all.
std::span<const double> SpeedupView::table(std::size_t row) const {
  if (offset.empty()) return {};
  const auto first = static_cast<std::size_t>(offset[row]);
  return rate.subspan(first, static_cast<std::size_t>(offset[row + 1]) - first);
}

bool SpeedupView::curved() const {
  for (std::size_t j = 0; j < exponent.size(); ++j) {
    if (curved(j)) return true;
  }
  return false;
}

// The speed with so many slots.
double SpeedupView::at(std::size_t row, double slots) const {
  if (!(slots > 0.0)) return 0.0;
  if (const auto own = table(row); !own.empty()) {
    const double last = std::min(slots, static_cast<double>(own.size()));
    return own[static_cast<std::size_t>(last) - 1];
  }
  const double p = power(row);
  return p == 1.0 ? slots : std::pow(slots, p);
}

// The slots (maybe a fraction) at which the job has the wanted speed; infinite if it never has.
double SpeedupView::slots_for(std::size_t row, double wanted) const {
  if (wanted <= 0.0) return 0.0;
  if (wanted <= 1.0) return wanted;  // one slot for a part of the time
  if (const auto own = table(row); !own.empty()) {
    const auto found = std::lower_bound(own.begin(), own.end(), wanted);
    if (found == own.end()) return kInfinity;
    const double before = found[-1], slots = static_cast<double>(found - own.begin());
    return slots + (wanted - before) / (*found - before);
  }
  const double p = power(row);
  return p > 0.0 ? std::pow(wanted, 1.0 / p) : kInfinity;
}

// The fewest slots with which the job is as fast as with `most`.
double SpeedupView::useful(std::size_t row, double most) const {
  if (const auto own = table(row); !own.empty()) {
    const auto top = std::lower_bound(own.begin(), own.end(), at(row, most));
    return std::min(most, static_cast<double>(top - own.begin()) + 1.0);
  }
  return power(row) > 0.0 ? most : std::min(most, 1.0);
}

double SpeedupView::most_per_slot(std::size_t row) const {
  const auto own = table(row);
  double most = 1.0;
  for (std::size_t k = 1; k < own.size(); ++k) {
    most = std::max(most, own[k] / static_cast<double>(k + 1));
  }
  return most;
}

double SpeedupView::largest_exponent(std::size_t row) const {
  const auto own = table(row);
  if (own.empty()) return power(row);
  double p = 0.0;
  for (std::size_t k = 1; k < own.size(); ++k) {
    p = std::max(p, std::log(own[k]) / std::log(static_cast<double>(k + 1)));
  }
  return std::min(p, 1.0);
}

void SpeedupHulls::build(const SpeedupView& speedup, std::span<const double> low,
                         std::span<const double> high, bool gang) {
  offset_.assign(1, 0);
  rough_ = false;
  slots_.clear();
  rate_.clear();
  for (std::size_t j = 0; j < low.size(); ++j) {
    const auto own = speedup.table(j);
    const std::size_t first = slots_.size();
    const double start = gang ? 0.0 : low[j];
    const auto add = [&](double s) {
      const double rate = speedup.at(j, s);
      while (slots_.size() >= first + 2) {  // the last corner lies below the line over it
        const double s1 = slots_.back(), s0 = slots_[slots_.size() - 2];
        const double r1 = rate_.back(), r0 = rate_[rate_.size() - 2];
        if ((r1 - r0) * (s - s0) >= (rate - r0) * (s1 - s0)) break;
        slots_.pop_back();
        rate_.pop_back();
        rough_ = true;
      }
      slots_.push_back(s);
      rate_.push_back(rate);
    };
    if (!own.empty()) {
      const double least = std::max({1.0, low[j], start + 1.0});
      double last = speedup.useful(j, high[j]);
      if (gang) last = std::min(high[j], std::max(least, last));
      add(start);
      for (double s = least; s <= last; s += 1.0) add(s);
    }
    offset_.push_back(slots_.size());
  }
}

// The slots at which the speed less the price of the slots is largest, at least 1.
double SpeedupHulls::best(const SpeedupView& speedup, std::size_t row, double price,
                          double most) const {
  const Corners own = of(row);
  if (own.slots.empty()) {
    const double p = speedup.power(row);
    if (p == 1.0) return price < 1.0 ? most : 1.0;
    return std::clamp(std::pow(p / price, 1.0 / (1.0 - p)), 1.0, most);
  }
  // Gains fall along the hull: takes as many slots as gain more than they cost.
  std::size_t from = own.slots[0] == 0.0 && own.slots.size() > 1 ? 1 : 0;
  std::size_t to = own.slots.size() - 1;
  while (from < to) {
    const std::size_t k = from + (to - from) / 2;
    if (own.rate[k + 1] - own.rate[k] > price * (own.slots[k + 1] - own.slots[k])) {
      from = k + 1;
    } else {
      to = k;
    }
  }
  return std::max(1.0, own.slots[from]);
}

// The least cost of a unit of work, if a second costs `value` and `price` for each slot.
double SpeedupHulls::cost(const SpeedupView& speedup, std::size_t row, double value, double price,
                          double most) const {
  const Corners own = of(row);
  double least = kInfinity;
  const auto consider = [&](double s, double rate) {
    if (rate > 0.0) least = std::min(least, (value + price * s) / rate);
  };
  for (std::size_t k = 0; k < own.slots.size(); ++k) consider(own.slots[k], own.rate[k]);
  if (!own.slots.empty() || most < 1.0) return least;
  const double p = speedup.power(row);
  double near = most;
  if (p < 1.0 && price > 0.0) {
    near = std::clamp(std::floor(p * value / ((1.0 - p) * price)), 1.0, most);
  }
  consider(near, speedup.at(row, near));
  const double next = std::min(near + 1.0, most);
  consider(next, speedup.at(row, next));
  return least;
}

void SpeedupColumns::clear() {
  exponent.clear();
  offset.clear();
  rate.clear();
}

void SpeedupColumns::add(double p, std::span<const double> rates) {
  exponent.push_back(p);
  if (offset.empty()) {
    if (rates.empty()) return;
    offset.assign(exponent.size(), 0);
  }
  rate.insert(rate.end(), rates.begin(), rates.end());
  offset.push_back(static_cast<std::int64_t>(rate.size()));
}

void SpeedupColumns::add_hulls(const SpeedupView& from, const SpeedupHulls& hulls) {
  std::vector<double> rates;
  for (std::size_t j = 0; j < from.exponent.size(); ++j) {
    const SpeedupHulls::Corners own = hulls.of(j);
    rates.clear();
    for (std::size_t k = 1; k < own.slots.size(); ++k) {
      const double s0 = own.slots[k - 1], s1 = own.slots[k];
      const double gain = (own.rate[k] - own.rate[k - 1]) / (s1 - s0);
      for (double s = s0 + 1.0; s < s1; s += 1.0)
        rates.push_back(own.rate[k - 1] + gain * (s - s0));
      rates.push_back(own.rate[k]);
    }
    if (own.slots.size() == 1) rates.push_back(1.0);  // a gang may have no slots
    add(from.exponent[j], rates);
  }
}

void SpeedupColumns::add(const SpeedupView& from, std::size_t row) {
  add(from.given() ? from.exponent[row] : 1.0, from.table(row));
}

namespace {

// Checks the table of row j.
void check_table(std::size_t j, std::span<const double> own) {
  double before = 0.0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const char* wrong = !std::isfinite(own[k])     ? "must be finite"
                        : k == 0 && own[k] != 1.0  ? "one slot does 1"
                        : own[k] < before          ? "more slots must not do less than fewer do"
                        : own[k] > kRateRange.most ? kRateRange.text
                                                   : nullptr;
    if (wrong != nullptr) throw FieldError("speedup[" + std::to_string(j) + "]", k, own[k], wrong);
    before = own[k];
  }
}

}  // namespace

void validate(const SpeedupView& speedup, std::size_t rows, const char* beside) {
  if (!speedup.given()) {
    if (!speedup.offset.empty() || !speedup.rate.empty()) {
      throw std::invalid_argument("rate: needs the column exponent, 1 where there are rates");
    }
    return;
  }
  check_length("speedup", speedup.exponent.size(), rows, beside);
  for (std::size_t j = 0; j < rows; ++j) {
    if (speedup.exponent[j] >= 0.0 && speedup.exponent[j] <= 1.0) continue;
    throw FieldError("speedup", j, speedup.exponent[j], "must be from 0 to 1");
  }
  if (speedup.offset.empty()) {
    if (speedup.rate.empty()) return;
    throw std::invalid_argument("rate: needs the column rate_offset");
  }
  check_length("rate_offset", speedup.offset.size(), rows + 1, "rows");
  check_offsets("rate_offset", speedup.offset, rows, speedup.rate.size());
  for (std::size_t j = 0; j < rows; ++j) check_table(j, speedup.table(j));
}

}  // namespace malleable
