// A job table as a struct of arrays, and the one place where its numbers are checked.
//
// Times are absolute seconds, work is in slot-seconds. A view never owns; whoever owns the columns
// validates them once and may trust them afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "malleable/model/domain.hpp"

namespace malleable {

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

// Throws FieldError for the first value that makes no sense (NaN, infinite, negative, beyond its
// range in domain.hpp, a minimum above its maximum, SLA steps out of order) and
// std::invalid_argument for lengths that differ. O(J).
void validate(const JobsView& jobs);
// The same for the SLA steps of so many jobs alone.
void validate_steps(std::size_t jobs, std::span<const std::int64_t> offset,
                    std::span<const double> time, std::span<const double> penalty);

}  // namespace malleable
