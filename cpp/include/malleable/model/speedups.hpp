// How fast jobs are on s slots: s (linear), s^p, or a table of rates for 1, 2, ... slots.
//
// The rate on one slot is 1: work is the slot-seconds of a job that runs on one slot. Rates never
// fall; beyond a table's end the last rate holds. Tables are as measured: with steps, flat parts,
// slots that add more than earlier ones. Policies that decide by gains use the least concave rates
// above the table (SpeedupHulls). Only slot counts where these meet the table are useful, because
// between them a slot brings more elsewhere. O(1) for a rate, O(log entries) for its inverse and
// for hulls' best().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/state.hpp"

namespace malleable {

struct SpeedupView {
  // p of each row, 1 for a row with a table; empty: all linear
  std::span<const double> exponent;
  std::span<const std::int64_t> offset;  // rows + 1 entries: row j has the rates offset[j] ..
  std::span<const double> rate;  // offset[j + 1] if there are any; empty: no row has a table

  bool given() const { return !exponent.empty(); }
  // Whether this job, or any job, may be below linear.
  bool curved(std::size_t row) const { return power(row) < 1.0 || !table(row).empty(); }
  bool curved() const;
  std::span<const double> table(std::size_t row) const;  // empty: s^p
  double power(std::size_t row) const { return exponent.empty() ? 1.0 : exponent[row]; }

  // The rate on `slots` slots, a whole number.
  double at(std::size_t row, double slots) const;
  // The fewest slots with at least `rate`, perhaps a fraction; infinite if none.
  double slots_for(std::size_t row, double rate) const;
  // The slots, up to `most`, beyond which the job gets no faster.
  double useful(std::size_t row, double most) const;
  // The exponent that bounds all rates from above: the least p, at most 1, with at(row, s) <=
  // most_per_slot(row) s^p for all whole s.
  double largest_exponent(std::size_t row) const;
  // The largest rate per slot; 1 unless a table has s slots with a rate above s.
  double most_per_slot(std::size_t row) const;
};

// The least concave rates that are nowhere below the table, between `low` and `high` slots: for
// each row the slot counts where they meet the table, the first being `low`. Rows without a table
// have no entries: all whole numbers are such counts. O(rows + entries); vectors keep their memory.
class SpeedupHulls {
 public:
  // `gang`: a job has no slots or at least `low`.
  void build(const SpeedupView& speedup, std::span<const double> low, std::span<const double> high,
             bool gang = false);
  // Whether some table is below its hull somewhere.
  bool rough() const { return rough_; }
  struct Corners {
    std::span<const double> slots, rate;
  };
  Corners of(std::size_t row) const {
    const std::size_t first = offset_[row], count = offset_[row + 1] - first;
    return {std::span(slots_).subspan(first, count), std::span(rate_).subspan(first, count)};
  }
  // The slots from 1 to `most` at which rate - price * slots is largest, perhaps a fraction.
  double best(const SpeedupView& speedup, std::size_t row, double price, double most) const;
  // The cost of a unit of a row's work at a price of slots: the least (value + price s) / rate(s)
  // over slot counts s from 1 to `most`, `value` being that of a second; infinite if no count
  // helps.
  double cost(const SpeedupView& speedup, std::size_t row, double value, double price,
              double most) const;

 private:
  std::vector<std::size_t> offset_;
  std::vector<double> slots_, rate_;
  bool rough_ = false;  // some table is not concave
};

struct SpeedupColumns {
  std::vector<double> exponent;
  std::vector<std::int64_t> offset;
  std::vector<double> rate;

  SpeedupView view() const { return {exponent, offset, rate}; }
  void clear();
  // Appends a row of another table; a linear row if that table has no speed-ups.
  void add(const SpeedupView& from, std::size_t row);
  // Adds a job with this exponent, or this table.
  void add(double p, std::span<const double> rates);
  // Appends linear rows up to `rows`.
  void pad(std::size_t rows) {
    while (exponent.size() < rows) add(1.0, {});
  }
  // Appends the rows with tables replaced by their hulls, which were built from 0 slots on.
  void add_hulls(const SpeedupView& from, const SpeedupHulls& hulls);

  void state(State& s) { s(exponent, offset, rate); }
  // Calls visit(name, column, its length, whether it may be left out) for each column; the largest
  // number stands for any length.
  template <typename Self, typename Visit>
  static void each(Self& self, std::size_t rows, Visit&& visit) {
    visit("exponent", self.exponent, rows, true);
    visit("rate_offset", self.offset, rows + 1, true);
    visit("rate", self.rate, std::size_t{~std::size_t{0}}, true);
  }
};

// Throws FieldError for the first invalid value and std::invalid_argument for lengths other than
// `rows`, the length of the column `beside`. O(rows + rates).
void validate(const SpeedupView& speedup, std::size_t rows, const char* beside);

}  // namespace malleable
