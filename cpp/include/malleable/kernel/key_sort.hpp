// Sorts job indices by a key: ascending, ties by position in the input.
//
// A least-significant-digit radix sort over the leading 33 bits in which the keys differ, then an
// insertion pass over the few neighbours that agree in those bits. Short inputs use a comparison
// sort. O(n) for keys that spread; O(n log n) when nearly all leading bits agree.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "malleable/model/problem.hpp"

namespace malleable {

class KeySort {
 public:
  // Fills `order` with the permutation that sorts `keys` (no NaN; infinities allowed).
  void sort(std::span<const double> keys, std::span<Index> order);

 private:
  struct Entry {
    std::uint64_t key;
    Index index;
  };
  void sort_runs(std::span<Entry> entries) const;

  std::vector<Entry> from_, to_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace malleable
