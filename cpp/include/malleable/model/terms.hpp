// The terms of a job or a flow, by which its penalty is computed: arrival, weight, deadline, SLA
// steps, original size. All tables share these columns; this is the one place where they are named
// and checked.
//
// A view never owns; the owner of columns validates them once. Times are absolute seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "malleable/model/domain.hpp"
#include "malleable/model/state.hpp"

namespace malleable {

// SLA steps: a completion after time[k] costs penalty[k], times the weight. Row j owns the steps
// offset[j] .. offset[j + 1].
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

// The SLA steps of one row.
struct SlaSteps {
  std::vector<double> time, penalty;

  void set(SlaView::Steps to) {
    time.assign(to.time.begin(), to.time.end());
    penalty.assign(to.penalty.begin(), to.penalty.end());
  }
  SlaView::Steps view() const { return {time, penalty}; }
  void state(State& s) { s(time, penalty); }
};

// Columns by name. `each` visits them all as (name, column, length, may it be left out), first the
// columns that give the number of rows. Code that reads, shows, saves or compares a table needs no
// other list. kAnyLength: the column itself gives the length.
inline constexpr std::size_t kAnyLength = ~std::size_t{0};

struct SlaColumns {
  std::vector<std::int64_t> offset;
  std::vector<double> time, penalty;

  SlaView view() const { return {offset, time, penalty}; }
  void clear();
  void add(SlaView::Steps steps);  // appends the steps of a row

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
  std::span<const double> original;  // work at arrival, the divisor of stretch
  SlaView sla;
};

struct TermColumns {
  std::vector<double> arrival, weight, deadline, original;
  SlaColumns sla;

  TermsView terms() const { return {arrival, weight, deadline, original, sla.view()}; }
  // Fills deadlines and steps that were left out with none.
  void complete(std::size_t rows);
  void clear();
  // Appends a row of another table.
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

// Throws FieldError for the first invalid value and std::invalid_argument for lengths other than
// `rows`, the length of the column `beside`. O(rows + steps).
void validate(const TermsView& terms, std::size_t rows, const char* beside = "");
// The same for steps alone.
void validate(const SlaView& sla, std::size_t rows, const char* beside = "");

}  // namespace malleable
