// The cost of a change of a job's slots: the job holds the new slots, and does nothing for so many
// seconds. A job that loses all slots pays when it gets slots again. O(1) a change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/state.hpp"

namespace malleable {

// [s] Of one job: if it gets more slots, fewer, and for each slot that it gets or gives.
struct Restart {
  double grow = 0.0, shrink = 0.0, slot = 0.0;

  bool operator==(const Restart&) const = default;
  double cost(std::int64_t from, std::int64_t to) const {
    if (to == 0 || to == from) return 0.0;
    const double moved = static_cast<double>(to > from ? to - from : from - to);
    return (to > from ? grow : shrink) + slot * moved;
  }
  void state(State& s) { s(grow, shrink, slot); }
};

// Columns of a table; each may be empty. `any` stands for an empty `grow` or `shrink`.
struct RestartView {
  std::span<const double> any, grow, shrink, slot;

  bool given() const { return !any.empty() || !grow.empty() || !shrink.empty() || !slot.empty(); }
  // The costs of a row; a cost without a column is that of `otherwise`.
  Restart of(std::size_t row, const Restart& otherwise = {}) const;
};

struct RestartColumns {
  std::vector<double> any, grow, shrink, slot;

  RestartView view() const { return {any, grow, shrink, slot}; }
  void clear() {
    for (auto* column : {&any, &grow, &shrink, &slot}) column->clear();
  }
  // Adds the costs of row `row` of `from`, in the columns that `from` has.
  void add(const RestartView& from, std::size_t row);
  void add(const Restart& own) {
    grow.push_back(own.grow);
    shrink.push_back(own.shrink);
    slot.push_back(own.slot);
  }

  // Visits each column as (name, column, length, may it be left out).
  template <typename Self, typename Visit>
  static void each(Self& self, std::size_t rows, Visit&& visit) {
    visit("restart", self.any, rows, true);
    visit("restart_grow", self.grow, rows, true);
    visit("restart_shrink", self.shrink, rows, true);
    visit("restart_slot", self.slot, rows, true);
  }
};

// FieldError for the first number out of range, std::invalid_argument for lengths that differ from
// `rows`, which the column `beside` has. O(rows).
void validate(const RestartView& restart, std::size_t rows, const char* beside);

}  // namespace malleable
