// The instance of one decision in the form that the kernels read: the work left of each job and the
// slots on which it may run, after minima were made feasible and maxima cut to the number of slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace malleable {

using Index = std::uint32_t;  // position of a job in its table, or of a job in an order
inline constexpr Index kNone = ~Index{0};  // no job, no row, no place
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The meaning of a minimum. kGuarantee: slots that the job always has. kGang: none or at least so
// many. kStart: none until it gets so many, and never less after that. The numbers are those in the
// column of a table.
enum class MinMode : std::uint8_t { kGuarantee, kGang, kStart };
// Throws std::invalid_argument for an unknown name.
MinMode min_mode_of(std::string_view name);

// `work` [slot-seconds], `low` and `high`: least and most slots of each job. Slot counts are
// doubles with integer values (exact up to 2^50), so that kernels need no conversions. A job
// without work has low = 0. Times inside kernels count from `now`.
struct Problem {
  double now = 0.0;
  double slots = 0.0;
  bool gang = false;  // a job has none or at least `low` slots
  bool minima_scaled = false;
  bool beyond_reach = false;  // a gang needs more slots than there are: it can never run
  std::vector<double> work, low, high;
  std::vector<double> idle_end;  // absolute completion of a job that has no work

  std::size_t size() const { return work.size(); }

  // Guaranteed minima that add up to more than the slots are scaled by scale_minima(), gang sizes
  // never. `ended`: absolute completions of jobs without work left. Allocates nothing if the
  // vectors are large enough. O(J) for J jobs, and O(J log J) when minima are scaled.
  void build(std::span<const double> remaining, std::span<const double> ended,
             std::span<const std::int64_t> min_slots, std::span<const std::int64_t> max_slots,
             std::int64_t slot_count, double time, MinMode mode);
  // The same instance for a policy that obeys maxima only.
  void drop_minima();
};

// Each minimum m becomes floor(m slots / sum of minima); the remainder goes to the largest
// fractions, then to lower indices. `minima` add up to more than `slots`. Exact in integers. O(J
// log J) for J minima.
void scale_minima(std::span<double> minima, double slots);

}  // namespace malleable
