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

double SpeedupView::at(std::size_t row, double slots) const {
  if (!(slots > 0.0)) return 0.0;
  if (const auto own = table(row); !own.empty()) {
    const double last = std::min(slots, static_cast<double>(own.size()));
    return own[static_cast<std::size_t>(last) - 1];
  }
  const double p = power(row);
  return p == 1.0 ? slots : std::pow(slots, p);
}

double SpeedupView::slots_for(std::size_t row, double wanted) const {
  if (wanted <= 0.0) return 0.0;
  if (wanted <= 1.0) return wanted;  // a part of the time on one slot
  if (const auto own = table(row); !own.empty()) {
    const auto found = std::lower_bound(own.begin(), own.end(), wanted);
    if (found == own.end()) return kInfinity;
    const double before = found[-1], slots = static_cast<double>(found - own.begin());
    return slots + (wanted - before) / (*found - before);
  }
  const double p = power(row);
  return p > 0.0 ? std::pow(wanted, 1.0 / p) : kInfinity;
}

double SpeedupView::useful(std::size_t row, double most) const {
  if (const auto own = table(row); !own.empty()) {
    const auto top = std::lower_bound(own.begin(), own.end(), own.back());
    return std::min(most, static_cast<double>(top - own.begin()) + 1.0);
  }
  return power(row) > 0.0 ? most : std::min(most, 1.0);
}

double SpeedupView::best(std::size_t row, double price, double most) const {
  if (const auto own = table(row); !own.empty()) {
    // Gains fall: as many slots as bring in more than they cost.
    std::size_t from = 1, to = std::min(own.size(), static_cast<std::size_t>(most));
    while (from < to) {
      const std::size_t middle = from + (to - from) / 2;
      if (own[middle] - own[middle - 1] > price) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return static_cast<double>(from);
  }
  const double p = power(row);
  if (p == 1.0) return price < 1.0 ? most : 1.0;
  return std::clamp(std::pow(p / price, 1.0 / (1.0 - p)), 1.0, most);
}

double SpeedupView::steepest(std::size_t row) const {
  const auto own = table(row);
  if (own.empty()) return power(row);
  double p = 0.0;
  for (std::size_t k = 1; k < own.size(); ++k) {
    p = std::max(p, std::log(own[k]) / std::log(static_cast<double>(k + 1)));
  }
  return std::min(p, 1.0);
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

void SpeedupColumns::add(const SpeedupView& from, std::size_t row) {
  add(from.given() ? from.exponent[row] : 1.0, from.table(row));
}

namespace {

// The table of row j.
void check_table(std::size_t j, std::span<const double> own) {
  double before = 0.0, gain = 1.0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const double more = own[k] - before, slack = kAmple * std::max(1.0, std::fabs(own[k]));
    const char* wrong = !std::isfinite(own[k])    ? "must be finite"
                        : k == 0 && own[k] != 1.0 ? "one slot does 1"
                        : more < 0.0              ? "more slots must not do less than fewer do"
                        : more > gain + slack     ? "adds more than the slot before"
                                                  : nullptr;
    if (wrong != nullptr) throw FieldError("speedup[" + std::to_string(j) + "]", k, own[k], wrong);
    before = own[k];
    gain = more;
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
