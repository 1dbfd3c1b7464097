// What people pay for, be it a job or a flow: when it came, what it weighs, when it is due, the
// steps of its SLA, and how large it was. The columns that all tables share, and the one place
// where they are spelled and checked.
//
// A view never owns; whoever owns columns validates them once and may trust them afterwards. Times
// are absolute seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/domain.hpp"

namespace malleable {

// Row j owns the steps offset[j] .. offset[j + 1].
struct SlaView {
  struct Steps {
    std::span<const double> time, penalty;
  };

  std::span<const std::int64_t> offset;   // rows + 1 entries
  std::span<const double> time, penalty;  // times increase, penalties are cumulative

  bool given() const { return !offset.empty(); }
  Steps of(std::size_t row) const {
    const auto first = static_cast<std::size_t>(offset[row]);
    const auto count = static_cast<std::size_t>(offset[row + 1]) - first;
    return {time.subspan(first, count), penalty.subspan(first, count)};
  }
};

// Columns by name. `each` visits them all as (name, column, its length, may it be left out), those
// first that say how many rows there are: whatever reads, shows, saves or compares a table needs no
// other list. kAnyLength: it says itself.
inline constexpr std::size_t kAnyLength = ~std::size_t{0};

struct SlaColumns {
  std::vector<std::int64_t> offset;
  std::vector<double> time, penalty;

  SlaView view() const { return {offset, time, penalty}; }
  void clear();
  void add(SlaView::Steps steps);  // of one more row

  template <typename Self, typename Visit>
  static void each(Self& self, std::size_t offsets, Visit&& visit) {
    visit("sla_offset", self.offset, offsets, true);
    visit("sla_time", self.time, kAnyLength, true);
    visit("sla_penalty", self.penalty, kAnyLength, true);
  }
};

struct TermsView {
  std::span<const double> arrival, weight;
  std::span<const double> deadline;  // +infinity: none
  std::span<const double> original;  // work when it came, which stretch divides by
  SlaView sla;
};

struct TermColumns {
  std::vector<double> arrival, weight, deadline, original;
  SlaColumns sla;

  TermsView terms() const { return {arrival, weight, deadline, original, sla.view()}; }
  // No deadline and no steps where they were left out.
  void complete(std::size_t rows);
  void clear();
  // One more row, that of another table.
  void add(const TermsView& from, std::size_t row);

  template <typename Self, typename Visit>
  static void each(Self& self, std::size_t rows, Visit&& visit) {
    visit("arrival", self.arrival, rows, false);
    visit("weight", self.weight, rows, false);
    visit("deadline", self.deadline, rows, true);
    visit("size", self.original, rows, true);
    SlaColumns::each(self.sla, rows + 1, visit);
  }
};

// Throws FieldError for the first value that makes no sense and std::invalid_argument for lengths
// that differ from `rows`, which the column `beside` has. O(rows + steps).
void validate(const TermsView& terms, std::size_t rows, const char* beside = "");
// The steps of so many rows alone.
void validate(const SlaView& sla, std::size_t rows, const char* beside = "");

}  // namespace malleable
