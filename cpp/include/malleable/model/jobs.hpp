// A job table as a struct of arrays, and the one place where its numbers are checked.
//
// Times are absolute seconds, work is in slot-seconds. A view never owns; whoever owns the columns
// validates them once and may trust them afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace malleable {

// max_slots of a job that may use every slot there is; also the largest value that is accepted, so
// that sums of two slot counts cannot overflow.
inline constexpr std::int64_t kAllSlots = std::int64_t{1} << 62;
// Slot counts live in doubles inside the kernels; up to this many they are exact.
inline constexpr std::int64_t kMostSlots = std::int64_t{1} << 50;

struct JobsView {
  std::span<const double> arrival;
  std::span<const double> work;
  std::span<const std::int64_t> min_slots;
  std::span<const std::int64_t> max_slots;
  std::span<const double> weight;
  std::span<const double> deadline;          // +infinity: none
  std::span<const std::int64_t> sla_offset;  // size() + 1 entries
  std::span<const double> sla_time;
  std::span<const double> sla_penalty;  // cumulative

  std::size_t size() const { return work.size(); }
};

// Throws FieldError for the first value that makes no sense (NaN, infinite, negative, a minimum
// above its maximum, SLA steps out of order) and std::invalid_argument for lengths that differ.
// O(J).
void validate(const JobsView& jobs);

// The capacity of a cluster: at least 1, at most kMostSlots.
void validate_slots(std::int64_t slots);

}  // namespace malleable
