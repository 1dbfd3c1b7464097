#include "malleable/model/problem.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace malleable {

MinMode min_mode_of(std::string_view name) {
  if (name == "guarantee") return MinMode::kGuarantee;
  if (name == "gang") return MinMode::kGang;
  if (name == "start") return MinMode::kStart;
  throw std::invalid_argument("min_mode = '" + std::string(name) +
                              "': expected guarantee, gang or start");
}

// Scales minima that need more slots than there are, in proportion, to whole numbers (largest
// remainder).
void scale_minima(std::span<double> minima, double slots) {
  __extension__ using Wide = unsigned __int128;
  Wide sum = 0;
  for (double m : minima) sum += static_cast<std::uint64_t>(m);
  const auto capacity = static_cast<Wide>(slots);
  std::vector<std::pair<Wide, Index>> fractions(minima.size());
  double used = 0.0;
  for (std::size_t j = 0; j < minima.size(); ++j) {
    const Wide product = static_cast<std::uint64_t>(minima[j]) * capacity;
    minima[j] = static_cast<double>(static_cast<std::uint64_t>(product / sum));
    fractions[j] = {product % sum, static_cast<Index>(j)};
    used += minima[j];
  }
  const auto left = static_cast<std::ptrdiff_t>(slots - used);
  const auto larger = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  };
  std::nth_element(fractions.begin(), fractions.begin() + left, fractions.end(), larger);
  for (std::ptrdiff_t k = 0; k < left; ++k)
    minima[fractions[static_cast<std::size_t>(k)].second] += 1.0;
}

void Problem::build(std::span<const double> remaining, std::span<const double> ended,
                    std::span<const std::int64_t> min_slots,
                    std::span<const std::int64_t> max_slots, std::int64_t slot_count, double time,
                    MinMode mode) {
  const std::size_t n = remaining.size();
  now = time;
  slots = static_cast<double>(slot_count);
  // A start condition (no slots until the minimum is there, then never less) is treated like a gang
  // (none or at least the minimum, at any time) here.
  gang = mode != MinMode::kGuarantee;
  minima_scaled = beyond_reach = false;
  work.assign(remaining.begin(), remaining.end());
  idle_end.assign(ended.begin(), ended.end());  // read only for jobs without work
  low.resize(n);
  high.resize(n);
  double total = 0.0;
  bool unreachable = false;
  for (std::size_t j = 0; j < n; ++j) {
    const double m = remaining[j] > 0.0 ? static_cast<double>(min_slots[j]) : 0.0;
    low[j] = m;
    high[j] = std::min(static_cast<double>(max_slots[j]), slots);
    total += m;
    unreachable |= m > slots;
  }
  if (gang) {
    beyond_reach = unreachable;
  } else if (total > slots) {
    scale_minima(low, slots);
    minima_scaled = true;
  }
}

void Problem::drop_minima() {
  std::fill(low.begin(), low.end(), 0.0);
  gang = minima_scaled = beyond_reach = false;
}

}  // namespace malleable
