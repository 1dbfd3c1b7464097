#include "malleable/kernel/key_sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace malleable {
namespace {

constexpr std::size_t kShort = 192;  // below this a comparison sort is faster (measured)
constexpr int kDigit = 11;
constexpr std::size_t kRadix = std::size_t{1} << kDigit;

// Order-preserving map of doubles to integers; adding zero merges -0.0 with 0.0.
std::uint64_t ordered(double key) {
  const auto bits = std::bit_cast<std::uint64_t>(key + 0.0);
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

}  // namespace

void KeySort::sort(std::span<const double> keys, std::span<Index> order) {
  assert(keys.size() == order.size());
  const std::size_t n = keys.size();
  if (from_.size() < n) {
    from_.resize(n);
    to_.resize(n);
  }
  const auto earlier = [](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  };
  std::uint64_t least = ~std::uint64_t{0}, most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t key = ordered(keys[i]);
    from_[i] = {key, static_cast<Index>(i)};
    least = std::min(least, key);
    most = std::max(most, key);
  }
  if (n < kShort) {
    std::sort(from_.begin(), from_.begin() + static_cast<std::ptrdiff_t>(n), earlier);
    for (std::size_t i = 0; i < n; ++i) order[i] = from_[i].index;
    return;
  }
  const int width = std::bit_width(most - least);
  const int shift = std::max(0, width - 3 * kDigit);
  const int passes = (width - shift + kDigit - 1) / kDigit;
  counts_.assign(kRadix * 3, 0);
  for (std::size_t i = 0; i < n; ++i) {
    from_[i].key -= least;
    const std::uint64_t head = from_[i].key >> shift;
    for (int p = 0; p < passes; ++p) {
      ++counts_[static_cast<std::size_t>(p) * kRadix + ((head >> (p * kDigit)) & (kRadix - 1))];
    }
  }
  for (int p = 0; p < passes; ++p) {
    std::uint32_t* count = &counts_[static_cast<std::size_t>(p) * kRadix];
    std::uint32_t at = 0;
    for (std::size_t d = 0; d < kRadix; ++d) at += std::exchange(count[d], at);
    for (std::size_t i = 0; i < n; ++i) {
      to_[count[((from_[i].key >> shift) >> (p * kDigit)) & (kRadix - 1)]++] = from_[i];
    }
    from_.swap(to_);
  }
  if (shift > 0) sort_runs({from_.data(), n});
  for (std::size_t i = 0; i < n; ++i) order[i] = from_[i].index;
}

// The entries are sorted by their leading bits; put right what the trailing bits still disagree on.
void KeySort::sort_runs(std::span<Entry> entries) const {
  const auto begin = entries.begin();
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].key >= entries[i - 1].key) continue;
    const auto here = begin + static_cast<std::ptrdiff_t>(i);
    // What lies before is sorted, so the misplaced entry's spot is found by halving.
    const auto spot =
        std::upper_bound(begin, here, entries[i].key, [](std::uint64_t key, const Entry& entry) {
          return key < entry.key;
        });
    if (here - spot > 64) {  // many keys share their leading bits: sort the rest by comparison
      std::stable_sort(spot, entries.end(),
                       [](const Entry& a, const Entry& b) { return a.key < b.key; });
      return;
    }
    std::rotate(spot, here, here + 1);
  }
}

}  // namespace malleable
