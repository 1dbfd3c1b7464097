// How fast jobs are on s slots: s (linear), s^p, or what a table says of 1, 2, ... slots.
//
// One slot does 1: work is the slot-seconds of a job that runs on one. Rates never fall; beyond a
// table's end they are those of its last entry. Tables are as measured: steps, flat parts, slots
// that add more than those before. Who decides by gains takes the least concave rates above them
// (SpeedupHulls): only slot counts where those meet the table are worth having, as between them a
// slot brings more elsewhere. O(1) for a rate, O(log entries) for its inverse and for hulls'
// best().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/state.hpp"

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
  // The least p, at most 1, with at(row, s) <= each(row) s^p for all whole s.
  double steepest(std::size_t row) const;
  // The most that a slot does on average; 1 but for tables with s slots that do more than s.
  double each(std::size_t row) const;
};

// The least concave rates that are nowhere below those of rows `low` .. `high` slots, each row by
// the slot counts where it meets its table, the first `low`. Rows without a table have none here:
// all whole numbers are such counts. O(rows + entries); vectors keep their memory.
class SpeedupHulls {
 public:
  // `gang`: a job has no slots or at least as many as low.
  void build(const SpeedupView& speedup, std::span<const double> low, std::span<const double> high,
             bool gang = false);
  // Some table is below its hull somewhere.
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
  // What is left of a row's seconds by a price of slots: the least of (value + price s) / rate(s)
  // over the counts from 1 on; infinite where no count helps.
  double cost(const SpeedupView& speedup, std::size_t row, double value, double price,
              double most) const;

 private:
  std::vector<std::size_t> offset_;
  std::vector<double> slots_, rate_;
  bool rough_ = false;
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
  // Linear rows until there are so many.
  void pad(std::size_t rows) {
    while (exponent.size() < rows) add(1.0, {});
  }
  // The same rows, tables up to `high` slots by their hulls, which start at 0.
  void add_hulls(const SpeedupView& from, const SpeedupHulls& hulls);

  void state(State& s) { s(exponent, offset, rate); }
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
