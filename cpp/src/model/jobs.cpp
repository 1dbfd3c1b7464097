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

// The steps of job j.
void check_steps(std::size_t j, std::span<const double> time, std::span<const double> penalty) {
  for (std::size_t k = 0; k < time.size(); ++k) {
    if (!(std::fabs(time[k]) <= kLatestTime)) {
      throw FieldError("sla", j, time[k],
                       "a step's time must be finite, from -1e12 to 1e12 seconds");
    }
    if (!kWeightRange.holds(penalty[k])) {
      throw FieldError("sla", j, penalty[k],
                       "a step's penalty must be finite and at least 0: 0 or from 1e-12 to 1e12");
    }
    if (k > 0 && time[k] <= time[k - 1]) {
      throw FieldError("sla", j, time[k], "the steps' times must increase");
    }
    if (k > 0 && penalty[k] < penalty[k - 1]) {
      throw FieldError("sla", j, penalty[k], "penalties are cumulative and must not fall");
    }
  }
}

}  // namespace

void validate_steps(std::size_t jobs, std::span<const std::int64_t> offset,
                    std::span<const double> time, std::span<const double> penalty) {
  if (offset.empty() && jobs == 0 && time.empty()) return;
  if (offset.empty()) check_length("sla", 0, jobs > 0 ? jobs : 1, "work");
  check_length("sla", offset.size() - 1, jobs, "work");
  if (offset.front() != 0 || offset.back() != static_cast<std::int64_t>(time.size()) ||
      time.size() != penalty.size()) {
    throw std::invalid_argument("sla offsets do not match the steps");
  }
  for (std::size_t j = 0; j < jobs; ++j) {
    if (offset[j + 1] < offset[j]) throw std::invalid_argument("sla offsets decrease");
  }
  for (std::size_t j = 0; j < jobs; ++j) {
    const auto first = static_cast<std::size_t>(offset[j]);
    const auto count = static_cast<std::size_t>(offset[j + 1]) - first;
    check_steps(j, time.subspan(first, count), penalty.subspan(first, count));
  }
}

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
  validate_steps(n, jobs.sla_offset, jobs.sla_time, jobs.sla_penalty);
}

}  // namespace malleable
