#include "malleable/kernel/key_sort.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

constexpr std::size_t kShort = 192;  // below this a comparison sort is faster (measured)

// Leading bits sorted by counting, and how many of them at a time. Keys that are equal in these
// bits are sorted afterwards, so the bits need only separate most keys (measured).
struct Digits {  // in bits
  int width, digit;
};
Digits digits_for(std::size_t n) {
  if (n < 512) return {16, 8};  // above, keys with few far ones would leave long runs
  if (n <= std::size_t{1} << 18) return {22, 11};
  return {31, 11};
}

// Order-preserving map of doubles to integers; adding zero merges -0.0 with 0.0.
std::uint64_t ordered(double key) {
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);
  return bits ^ (static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63) |
                 (std::uint64_t{1} << 63));
}

struct FiniteExtent {
  double least, most;  // of the keys below infinity
};

MALLEABLE_VECTOR_CLONES
FiniteExtent finite_extent(const double* keys, std::size_t n) {
  double least = kInfinity, most = -kInfinity;
#pragma omp simd reduction(min : least) reduction(max : most)
  for (std::size_t i = 0; i < n; ++i) {
    const double key = keys[i], finite = key < kInfinity ? key : -kInfinity;
    least = key < least ? key : least;
    most = finite > most ? finite : most;
  }
  return {least, most};
}

}  // namespace

void KeySort::sort(std::span<const double> keys, std::span<Index> order) {
  assert(keys.size() == order.size());
  const std::size_t n = keys.size();
  if (n < kShort) {
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    return;
  }
  if (from_.size() < n) {
    from_.resize(n);
    to_.resize(n);
  }
  // Infinite keys have their own head, so that the other heads can use all bits.
  const std::uint64_t never = ordered(kInfinity);
  const FiniteExtent extent = finite_extent(keys.data(), n);
  const std::uint64_t least = std::min(ordered(extent.least), never - 1);
  const std::uint64_t most = std::max(ordered(extent.most), least);
  const auto [head_width, digit] = digits_for(n);
  const std::size_t radix = std::size_t{1} << digit;
  const int width = std::bit_width(most - least + 1);
  const int shift = std::max(0, width - head_width);
  const std::uint64_t last = ((most - least) >> shift) + 1;
  const int passes = (static_cast<int>(std::bit_width(last)) + digit - 1) / digit;
  counts_.assign(radix * 3, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = ordered(keys[i]);
    const auto head = static_cast<std::uint32_t>(bits < never ? (bits - least) >> shift : last);
    from_[i] = {head, static_cast<Index>(i)};
    ++counts_[head & (radix - 1)];
    ++counts_[radix + ((head >> digit) & (radix - 1))];
    ++counts_[2 * radix + (head >> (2 * digit))];
  }
  // Entries will be scattered over memory that is no longer in the near caches: prefetching it in
  // order is faster than loading each line when it is first written (measured).
  constexpr std::size_t kEntriesOfLine = 64 / sizeof(Entry);
  for (std::size_t i = 0; i < n; i += kEntriesOfLine) to_[i].index = 0;
  for (int p = 0; p < passes; ++p) {
    std::uint32_t* count = &counts_[static_cast<std::size_t>(p) * radix];
    std::uint32_t at = 0;
    for (std::size_t d = 0; d < radix; ++d) at += std::exchange(count[d], at);
    const int down = p * digit;
    for (std::size_t i = 0; i < n; ++i) {
      to_[count[(from_[i].head >> down) & (radix - 1)]++] = from_[i];
    }
    from_.swap(to_);
  }
  if (shift > 0) settle(keys, {from_.data(), n});
  for (std::size_t i = 0; i < n; ++i) order[i] = from_[i].index;
}

// The entries are sorted by their leading bits; sorts runs of equal bits by the whole keys.
void KeySort::settle(std::span<const double> keys, std::span<Entry> entries) const {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].head != entries[i - 1].head) continue;
    // A run of equal heads: its entries are in order of index.
    std::size_t end = i + 1;
    while (end < entries.size() && entries[end].head == entries[i].head) ++end;
    const std::size_t first = i - 1;
    if (end - first <= 32) {
      for (std::size_t k = i; k < end; ++k) {
        const Entry entry = entries[k];
        std::size_t to = k;
        for (; to > first && keys[entries[to - 1].index] > keys[entry.index]; --to) {
          entries[to] = entries[to - 1];
        }
        entries[to] = entry;
      }
    } else {
      const auto before = [&](const Entry& a, const Entry& b) {
        const double x = keys[a.index], y = keys[b.index];
        return x != y ? x < y : a.index < b.index;
      };
      const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
      const auto stop = entries.begin() + static_cast<std::ptrdiff_t>(end);
      // Equal keys, the usual reason for a long run, are in order already.
      if (!std::is_sorted(begin, stop, before)) std::sort(begin, stop, before);
    }
    i = end;
  }
}

}  // namespace malleable
