// Sorts job indices by a key: ascending, ties by position in the input.
//
// A least-significant-digit radix sort over the leading bits in which the keys differ, then
// every run of neighbours that agree in those bits is settled by comparison. Short inputs use a
// comparison sort. O(n) for keys that spread; O(n log n) when nearly all leading bits agree.
#pragma once

#include <span>
#include <vector>

#include "malleable/model/problem.hpp"
#include "malleable/model/scratch.hpp"

namespace malleable {

class KeySort {
 public:
  // Fills `order` with the permutation that sorts `keys` (no NaN; infinities allowed).
  void sort(std::span<const double> keys, std::span<Index> order);

 private:
  struct Entry {
    std::uint32_t head;  // leading bits of the key
    Index index;
  };
  // Sorts runs of equal leading bits by the whole keys.
  void settle(std::span<const double> keys, std::span<Entry> entries) const;

  Scratch<Entry> from_, to_;  // before and after a pass
  std::vector<std::uint32_t> counts_;
};

}  // namespace malleable
