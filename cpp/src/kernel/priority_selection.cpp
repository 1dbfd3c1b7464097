#include "malleable/kernel/priority_selection.hpp"

#include <cstdint>

#include "malleable/kernel/vector_clones.hpp"

namespace malleable {
namespace {

// Terms: room is the slots that a job can use beyond its minimum; slack is the slots to hand out.
constexpr std::size_t kSampledKeys = 1024;
constexpr std::size_t kKeyBlock = 16;  // keys compared at once

// The first whole block of keys from `first` on with a key that is at most the limit, or the end of
// the last whole block. Few of many keys are.
MALLEABLE_VECTOR_CLONES
std::size_t block_below(const double* key, std::size_t first, std::size_t n, double limit) {
  for (; first + kKeyBlock <= n; first += kKeyBlock) {
    std::int64_t hits = 0;
#pragma omp simd reduction(| : hits)
    for (std::size_t k = 0; k < kKeyBlock; ++k) hits |= key[first + k] <= limit;
    if (hits != 0) break;
  }
  return first;
}

}  // namespace

// Lists the jobs with keys between `from` and the limit; returns their room.
double PrioritySelection::collect(std::span<const double> key, std::span<const double> room,
                                  double slack, double limit, double from) {
  candidates_.clear();
  double total = 0.0, most = -kInfinity;
  const std::size_t n = key.size();
  std::size_t j = 0;
  for (; (j = block_below(key.data(), j, n, limit)) + kKeyBlock <= n; j += kKeyBlock) {
    for (std::size_t k = j; k < j + kKeyBlock; ++k) {
      if (key[k] <= limit && key[k] >= from && room[k] > 0.0) {
        candidates_.push_back({key[k], static_cast<Index>(k), room[k]});
        total += room[k];
        most = std::max(most, key[k]);
      }
    }
    // Once the candidates can use all the slack, only smaller keys matter, because ties go to lower
    // indices.
    if (total > slack && limit >= most) limit = std::nextafter(most, -kInfinity);
  }
  for (; j < n; ++j) {
    if (key[j] <= limit && key[j] >= from && room[j] > 0.0) {
      candidates_.push_back({key[j], static_cast<Index>(j), room[j]});
      total += room[j];
    }
  }
  return total;
}

// Draws a sorted sample of the keys of jobs with room; all of them if they are few.
void PrioritySelection::draw(std::span<const double> key, std::span<const double> room) {
  const std::size_t n = key.size(), count = std::min(n, kSampledKeys);
  sample_.clear();
  for (std::size_t k = 0; k < count; ++k) {
    // Scattered, so that sorted or periodic tables are sampled fairly.
    const std::size_t j =
        count < n ? static_cast<std::size_t>((k * 0x9e3779b97f4a7c15u >> 11) % n) : k;
    if (room[j] > 0.0) sample_.push_back({key[j], static_cast<Index>(j), room[j]});
  }
  std::sort(sample_.begin(), sample_.end(), before);
}

// A key below which jobs with about `slack` room lie, from a sample.
double PrioritySelection::guess(std::span<const double> key, std::span<const double> room,
                                double slack) {
  const std::size_t n = key.size();
  if (n <= 2 * kSampledKeys) return kInfinity;
  draw(key, room);
  double wanted = 0.0;
  const double share = slack * 1.1 * static_cast<double>(kSampledKeys) / static_cast<double>(n);
  for (const Candidate& candidate : sample_) {
    wanted += candidate.room;
    if (wanted > share) return candidate.key;
  }
  return kInfinity;
}

// A larger limit, for a few jobs in a thousand more, then for several times as many.
double PrioritySelection::further(std::span<const double> key, std::span<const double> room,
                                  double limit) {
  constexpr std::size_t kMore = 8,
                        kTimes = 4;  // of the sampled keys, of which kSampledKeys are drawn
  draw(key, room);
  const auto inside = static_cast<std::size_t>(
      std::upper_bound(sample_.begin(), sample_.end(), limit,
                       [](double value, const Candidate& one) { return value < one.key; }) -
      sample_.begin());
  const std::size_t next = limit > threshold_ ? kTimes * (inside + kMore) : inside + kMore;
  return next < sample_.size() ? sample_[next].key : kInfinity;
}

// Collects up to a limit that is raised until the candidates can use all the slack.
double PrioritySelection::widen(std::span<const double> key, std::span<const double> room,
                                double slack, double& limit) {
  double total = collect(key, room, slack, limit);
  // First scale the limit by the missing room, because sorting a sample takes as long as several
  // passes.
  for (int k = 0; k < 3 && total < slack && limit > 0.0 && limit < kInfinity; ++k) {
    limit *= std::min(2.0, 1.1 * slack / total);
    total = collect(key, room, slack, limit);
  }
  for (double more = 1.25; total < slack && limit < kInfinity; more *= 2.0) {
    const double next = guess(key, room, slack * more);
    if (next <= limit) continue;
    limit = next;
    total = collect(key, room, slack, limit);
  }
  return total;
}

}  // namespace malleable
