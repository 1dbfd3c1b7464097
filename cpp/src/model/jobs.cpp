#include "malleable/model/jobs.hpp"

#include <cmath>
#include <string>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"

namespace malleable {
namespace {

void check_counts(const char* field, std::span<const std::int64_t> values, std::int64_t least,
                  std::int64_t most, const char* reason) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (values[j] < least || values[j] > most) {
      throw FieldError(field, j, static_cast<long long>(values[j]), reason);
    }
  }
}

void validate_sla(const JobsView& jobs) {
  const auto& offset = jobs.sla_offset;
  if (offset.empty() && jobs.size() == 0 && jobs.sla_time.empty()) return;
  if (offset.empty()) check_length("sla", 0, jobs.size() > 0 ? jobs.size() : 1, "work");
  check_length("sla", offset.size() - 1, jobs.size(), "work");
  if (offset.front() != 0 || offset.back() != static_cast<std::int64_t>(jobs.sla_time.size()) ||
      jobs.sla_time.size() != jobs.sla_penalty.size()) {
    throw std::invalid_argument("sla offsets do not match the steps");
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (offset[j + 1] < offset[j]) throw std::invalid_argument("sla offsets decrease");
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (auto k = static_cast<std::size_t>(offset[j]); k < static_cast<std::size_t>(offset[j + 1]);
         ++k) {
      const bool first = k == static_cast<std::size_t>(offset[j]);
      if (!(std::fabs(jobs.sla_time[k]) <= kLatestTime)) {
        throw FieldError("sla", j, jobs.sla_time[k],
                         "a step's time must be finite, from -1e12 to 1e12 seconds");
      }
      if (!kWeightRange.holds(jobs.sla_penalty[k])) {
        throw FieldError("sla", j, jobs.sla_penalty[k],
                         "a step's penalty must be finite and at least 0: 0 or from 1e-12 to 1e12");
      }
      if (!first && jobs.sla_time[k] <= jobs.sla_time[k - 1]) {
        throw FieldError("sla", j, jobs.sla_time[k], "the steps' times must increase");
      }
      if (!first && jobs.sla_penalty[k] < jobs.sla_penalty[k - 1]) {
        throw FieldError("sla", j, jobs.sla_penalty[k],
                         "penalties are cumulative and must not fall");
      }
    }
  }
}

}  // namespace

void validate(const JobsView& jobs) {
  const std::size_t n = jobs.size();
  check_length("arrival", jobs.arrival.size(), n, "work");
  check_length("min_slots", jobs.min_slots.size(), n, "work");
  check_length("max_slots", jobs.max_slots.size(), n, "work");
  check_length("weight", jobs.weight.size(), n, "work");
  check_length("deadline", jobs.deadline.size(), n, "work");
  check_amounts("work", jobs.work, kWorkRange);
  check_times("arrival", jobs.arrival);
  check_amounts("weight", jobs.weight, kWeightRange);
  check_deadlines(jobs.deadline);
  check_counts("min_slots", jobs.min_slots, 0, kMostSlots, "must be at least 0 and at most 2^50");
  check_counts("max_slots", jobs.max_slots, 1, kAllSlots, "must be at least 1");
  for (std::size_t j = 0; j < n; ++j) {
    if (jobs.min_slots[j] > jobs.max_slots[j]) {
      throw FieldError(
          "min_slots", j, static_cast<long long>(jobs.min_slots[j]),
          "above max_slots[" + std::to_string(j) + "] = " + std::to_string(jobs.max_slots[j]));
    }
  }
  validate_sla(jobs);
}

}  // namespace malleable
