// How fast jobs are on s slots: s (linear), s^p, or what a table says of 1, 2, ... slots.
//
// One slot does 1: work is the slot-seconds of a job that runs on one. Rates never fall, and each
// further slot adds no more than the one before (they are concave); beyond a table's end they are
// those of its last entry. O(1) for a rate; its inverse and best() O(log entries) with a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace malleable {

struct SpeedupView {
  std::span<const double> exponent;      // p of each row, 1 where it has a table; empty: all linear
  std::span<const std::int64_t> offset;  // rows + 1 entries: row j has the rates offset[j] ..
  std::span<const double> rate;  // offset[j + 1] if there are any; empty: nobody has a table

  bool given() const { return !exponent.empty(); }
  // Whether a job, or some job, may be below linear.
  bool curved(std::size_t row) const { return power(row) < 1.0 || !table(row).empty(); }
  bool curved() const;
  std::span<const double> table(std::size_t row) const;  // empty: s^p
  double power(std::size_t row) const { return exponent.empty() ? 1.0 : exponent[row]; }

  // What `slots` slots do together; whole numbers.
  double at(std::size_t row, double slots) const;
  // The fewest slots that do `rate`, perhaps a fraction; infinite where none do.
  double slots_for(std::size_t row, double rate) const;
  // Slots beyond which it gets no faster, up to `most`.
  double useful(std::size_t row, double most) const;
  // The slots from 1 to `most` at which rate - price * slots is largest, perhaps a fraction.
  double best(std::size_t row, double price, double most) const;
  // The least p with at(row, s) <= s^p for all whole s.
  double steepest(std::size_t row) const;
};

struct SpeedupColumns {
  std::vector<double> exponent;
  std::vector<std::int64_t> offset;
  std::vector<double> rate;

  SpeedupView view() const { return {exponent, offset, rate}; }
  void clear();
  // One more row, that of another table; of rows that are linear where that has none.
  void add(const SpeedupView& from, std::size_t row);
  void add(double p, std::span<const double> rates);

  template <typename Self, typename Visit>
  static void each(Self& self, std::size_t rows, Visit&& visit) {
    visit("exponent", self.exponent, rows, true);
    visit("rate_offset", self.offset, rows + 1, true);
    visit("rate", self.rate, std::size_t{~std::size_t{0}}, true);
  }
};

// Throws FieldError for the first value that makes no sense and std::invalid_argument for lengths
// that differ from `rows`, which the column `beside` has. O(rows + rates).
void validate(const SpeedupView& speedup, std::size_t rows, const char* beside);

}  // namespace malleable
