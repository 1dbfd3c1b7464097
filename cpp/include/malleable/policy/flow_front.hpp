// Who among many flows comes first, while what they pay rises in straight lines: prices that are
// kept between decisions, and slots now without an order of all flows (FlowFlex, section 5.2).
//
// Flows count as malleable jobs and stand by variations of Smith's ratio, as in flow_order.hpp:
//     log(work / rate) + e log(parallelism / slots), e one of kExponents.
// Both logarithms are worked out again for flows that changed alone. Which e is the cheapest is
// seen by packing kSample flows, spread evenly, on as many slots as their part of the work. Slots
// then go to the least keys, to each flow what it can use, by selection instead of sorting: O(1) a
// change, O(F) a decision and six packings of the sample. Kernels: malleable_packing,
// priority_selection.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "malleable/kernel/key_sort.hpp"
#include "malleable/kernel/malleable_packing.hpp"
#include "malleable/kernel/priority_selection.hpp"

namespace malleable {

class FlowFront {
 public:
  // By how much the parallelism of a flow counts beside its work.
  static constexpr double kExponents[] = {0.0, 0.1, 0.2, 0.3, 0.5, 0.8};
  static constexpr std::size_t kSample = 512;

  std::size_t size() const { return work_.size(); }
  // More rows, which have to be set, or fewer.
  void resize(std::size_t rows);
  // What is left of a flow, its mean parallelism, at most `slots`, and the rate at which what it
  // pays rises; all above 0, but for the rate, which may be 0. `room`: slots that it can use now.
  void set(std::size_t row, double work, double high, double rate, double slots, double room);
  // Drops rows; keep(row) is asked in order.
  template <typename Keep>
  void compact(const Keep& keep) {
    std::size_t kept = 0;
    for (std::size_t row = 0; row < size(); ++row) {
      if (!keep(row)) continue;
      for (auto* column : columns()) (*column)[kept] = (*column)[row];
      ++kept;
    }
    resize(kept);
  }

  std::span<const double> work() const { return work_; }
  std::span<const double> high() const { return high_; }

  // The cheapest exponent, the first of equal ones; not without flows.
  double exponent(double slots);
  // Of all rows, the least first; valid until the next call.
  std::span<const double> keys(double exponent);
  // Calls give(row, slots) for each flow that gets some, in no particular order; equal keys in the
  // order of the rows.
  template <typename Give>
  void hand_out(double slots, double exponent, const Give& give) {
    if (size() > 0 && slots > 0.0) selection_.run(keys(exponent), room_, slots, give);
  }

 private:
  std::array<std::vector<double>*, 6> columns() {
    return {&work_, &high_, &rate_, &room_, &ratio_, &narrow_};
  }

  std::vector<double> work_, high_, rate_, room_;
  std::vector<double> ratio_, narrow_;  // logarithms: work over rate, parallelism over slots
  std::vector<double> key_;
  PrioritySelection selection_;
  // Of the sample.
  Problem sample_;
  std::vector<Index> row_, order_;
  std::vector<double> sample_key_, completion_;
  KeySort sorter_;
  MalleablePacking packing_;
};

}  // namespace malleable
