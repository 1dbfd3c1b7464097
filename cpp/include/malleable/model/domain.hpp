// The numbers that are accepted, and the checks that refuse all others.
//
// All numbers that a table, an epoch or a kernel takes lie in these ranges, so that their sums,
// products and quotients stay finite and far from the limits of doubles: slots times the longest
// span stay below 1e40, a sum over 2^31 jobs below 1e25. Works and weights may differ by 27 and 24
// powers of ten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace malleable {

// From `least` to `most`; also 0 if `zero`.
struct Range {
  double least, most;
  bool zero;
  const char* text;
  bool holds(double x) const { return (x >= least && x <= most) || (zero && x == 0.0); }
};

// Work: slot-seconds, seconds of a task or a phase, bytes.
inline constexpr Range kWorkRange{1e-12, 1e15, true, "must be 0 or from 1e-12 to 1e15"};
// Work left of a running job. Callers compute it as a difference, whose rounding must not be an
// error: less than the least work counts as nothing.
inline constexpr Range kLeftRange{0.0, 1e15, true, "must be from 0 to 1e15"};
inline double left_of(double work) { return work < kWorkRange.least ? 0.0 : work; }
// Sums of works: of a flow, or of a job of many tasks.
inline constexpr Range kTotalRange{1e-12, 1e24, true, "must be 0 or from 1e-12 to 1e24"};
// Weights, penalties, and other factors that may be 0.
inline constexpr Range kWeightRange{1e-12, 1e12, true, "must be 0 or from 1e-12 to 1e12"};
// Rates, loads, means: factors that must not be 0.
inline constexpr Range kRateRange{1e-12, 1e12, false, "must be from 1e-12 to 1e12"};
// Bytes, and bytes a second.
inline constexpr Range kBytesRange{1e-12, 1e18, true, "must be 0 or from 1e-12 to 1e18"};
// Parts of a whole, and p if s slots do s^p.
inline constexpr Range kPartRange{0.0, 1.0, true, "must be from 0 to 1"};
// Absolute times [s] lie between minus this and this: 30,000 years.
inline constexpr double kLatestTime = 1e12;

// max_slots of a job that may use all slots; larger numbers mean the same.
inline constexpr std::int64_t kAllSlots = std::int64_t{1} << 62;
// Slot counts are doubles inside the kernels; up to this number they are exact.
inline constexpr std::int64_t kMostSlots = std::int64_t{1} << 50;

// Each throws FieldError for the first value that is out of range.
void check_amounts(const char* field, std::span<const double> values, const Range& range);
void check_times(const char* field, std::span<const double> values);
void check_deadlines(std::span<const double> values);  // infinite: none
void check_counts(const char* field, std::span<const std::int64_t> values, std::int64_t least,
                  std::int64_t most, const char* reason);
// Throws unless rows[k] is one of `count` rows.
void check_row(std::span<const std::int64_t> rows, std::size_t k, std::size_t count);
// The same for one number: `field = value: ...`.
void check_amount(const char* field, double value, const Range& range);
void check_time(const char* field, double value);
// Throws unless `now` is a valid time and not before `last`.
void check_now(double now, double last);

// The capacity of a cluster: at least 1, at most kMostSlots.
void validate_slots(std::int64_t slots);
// The same for a capacity that may be 0 for a while.
void validate_capacity(std::int64_t slots);

// Throws std::invalid_argument unless there are `rows` + 1 entries from 0 up to `end`, never
// falling. Call it before you read through offsets.
void check_offsets(const std::string& field, std::span<const std::int64_t> offset, std::size_t rows,
                   std::size_t end);

}  // namespace malleable
