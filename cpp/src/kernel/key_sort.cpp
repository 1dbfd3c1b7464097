#include "malleable/kernel/key_sort.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <utility>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

constexpr std::size_t kAhead = 16;
constexpr std::size_t kShort = 192;  // below this a comparison sort is faster (measured)

// Leading bits sorted by counting, and how many of them at a time; what they leave equal is put
// right afterwards, so they need only tell most keys apart (measured).
struct Digits {
  int width, digit;
};
Digits digits_for(std::size_t n) {
  if (n < 4096) return {16, 8};
  if (n <= std::size_t{1} << 18) return {22, 11};
  return {31, 11};
}

// Order-preserving map of doubles to integers; adding zero merges -0.0 with 0.0.
std::uint64_t ordered(double key) {
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);
  return bits ^ (static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63) |
                 (std::uint64_t{1} << 63));
}

struct Extent {
  double least, most;  // of the keys below infinity
};

MALLEABLE_VECTOR_CLONES
Extent finite_extent(const double* keys, std::size_t n) {
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
  // Infinite keys share a head of their own, lest they blur the differences among the others.
  const std::uint64_t never = ordered(kInfinity);
  const Extent extent = finite_extent(keys.data(), n);
  const std::uint64_t least = std::min(ordered(extent.least), never - 1);
  const std::uint64_t most = std::max(ordered(extent.most), least);
  const auto [head_width, digit] = digits_for(n);
  const std::size_t radix = std::size_t{1} << digit;
  const int width = std::bit_width(most - least + 1);
  const int shift = std::max(0, width - head_width);
  const std::uint64_t last = ((most - least) >> shift) + 1;
  const int passes = (static_cast<int>(std::bit_width(last)) + digit - 1) / digit;
  const auto head_of = [&](double key) {
    const std::uint64_t bits = ordered(key);
    return static_cast<std::uint32_t>(bits < never ? (bits - least) >> shift : last);
  };
  counts_.assign(radix * 3, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t head = head_of(keys[i]);
    ++counts_[head & (radix - 1)];
    ++counts_[radix + ((head >> digit) & (radix - 1))];
    ++counts_[2 * radix + (head >> (2 * digit))];
  }
  for (int p = 0; p < passes; ++p) {
    std::uint32_t* count = &counts_[static_cast<std::size_t>(p) * radix];
    std::uint32_t at = 0;
    for (std::size_t d = 0; d < radix; ++d) at += std::exchange(count[d], at);
    // Where a later entry will go is fetched while earlier ones are written.
    const int down = 32 + p * digit;
    const auto place = [&](std::uint64_t entry) -> std::uint32_t& {
      return count[(entry >> down) & (radix - 1)];
    };
    const auto scatter = [&](const auto& entry_of) {
      std::uint64_t ahead[kAhead];
      for (std::size_t i = 0; i < kAhead; ++i) ahead[i] = entry_of(i);
      for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t& next = ahead[i % kAhead];
        const std::uint64_t entry = next;
        if (i + kAhead < n) {
          next = entry_of(i + kAhead);
          __builtin_prefetch(&to_[place(next)], 1);
        }
        to_[place(entry)++] = entry;
      }
    };
    if (p == 0) {
      scatter([&](std::size_t i) { return std::uint64_t{head_of(keys[i])} << 32 | i; });
    } else {
      scatter([&](std::size_t i) { return from_[i]; });
    }
    from_.swap(to_);
  }
  settle(keys, {from_.data(), n}, order);
}

// The entries are sorted by their leading bits; puts right what the keys still disagree on.
void KeySort::settle(std::span<const double> keys, std::span<const std::uint64_t> entries,
                     std::span<Index> order) {
  constexpr std::size_t kLong = 32;
  const auto before = [&](Index a, Index b) {
    return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
  };
  std::size_t first = 0;  // of a run of equal heads, whose entries come in order of index
  const auto finish = [&](std::size_t end) {
    if (end - first <= kLong) return;
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
    const auto stop = order.begin() + static_cast<std::ptrdiff_t>(end);
    // Equal keys, the usual reason for a long run, are in order already.
    if (!std::is_sorted(begin, stop, before)) std::sort(begin, stop, before);
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto job = static_cast<Index>(entries[i]);
    std::size_t to = i;
    if (i > 0 && (entries[i] ^ entries[i - 1]) >> 32 == 0) {
      for (; i - first < kLong && to > first && keys[order[to - 1]] > keys[job]; --to) {
        order[to] = order[to - 1];
      }
    } else {
      finish(i);
      first = i;
    }
    order[to] = job;
  }
  finish(entries.size());
}

}  // namespace malleable
