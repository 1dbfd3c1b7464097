#include "malleable/model/jobs.hpp"

#include <cmath>
#include <string>

#include "malleable/model/error.hpp"

namespace malleable {
namespace {

void same_length(const char* field, std::size_t length, std::size_t jobs) {
  if (length != jobs) {
    throw std::invalid_argument(std::string(field) + " has " + std::to_string(length) +
                                " entries but work has " + std::to_string(jobs));
  }
}

template <typename Ok, typename T>
void check(const char* field, std::span<const T> values, const char* reason, Ok ok) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!ok(values[j])) {
      if constexpr (std::is_floating_point_v<T>) {
        throw FieldError(field, j, values[j], reason);
      } else {
        throw FieldError(field, j, static_cast<long long>(values[j]), reason);
      }
    }
  }
}

bool nonnegative(double x) { return std::isfinite(x) && x >= 0.0; }

void validate_sla(const JobsView& jobs) {
  const auto& offset = jobs.sla_offset;
  if (offset.empty() && jobs.size() == 0 && jobs.sla_time.empty()) return;
  if (offset.empty()) same_length("sla", 0, jobs.size() > 0 ? jobs.size() : 1);
  same_length("sla", offset.size() - 1, jobs.size());
  if (offset.front() != 0 || offset.back() != static_cast<std::int64_t>(jobs.sla_time.size()) ||
      jobs.sla_time.size() != jobs.sla_penalty.size()) {
    throw std::invalid_argument("sla offsets do not match the steps");
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (offset[j + 1] < offset[j]) throw std::invalid_argument("sla offsets decrease");
    for (auto k = static_cast<std::size_t>(offset[j]); k < static_cast<std::size_t>(offset[j + 1]);
         ++k) {
      const bool first = k == static_cast<std::size_t>(offset[j]);
      if (!std::isfinite(jobs.sla_time[k])) {
        throw FieldError("sla", j, jobs.sla_time[k], "a step's time must be finite");
      }
      if (!nonnegative(jobs.sla_penalty[k])) {
        throw FieldError("sla", j, jobs.sla_penalty[k],
                         "a step's penalty must be finite and at least 0");
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
  same_length("arrival", jobs.arrival.size(), n);
  same_length("min_slots", jobs.min_slots.size(), n);
  same_length("max_slots", jobs.max_slots.size(), n);
  same_length("weight", jobs.weight.size(), n);
  same_length("deadline", jobs.deadline.size(), n);
  check("work", jobs.work, "must be finite and at least 0", nonnegative);
  check("arrival", jobs.arrival, "must be finite", [](double x) { return std::isfinite(x); });
  check("weight", jobs.weight, "must be finite and at least 0", nonnegative);
  check("deadline", jobs.deadline, "must be a time (none: leave it out)",
        [](double x) { return !std::isnan(x) && x > -INFINITY; });
  check("min_slots", jobs.min_slots, "must be at least 0",
        [](std::int64_t m) { return m >= 0 && m <= kAllSlots; });
  check("max_slots", jobs.max_slots, "must be at least 1",
        [](std::int64_t m) { return m >= 1 && m <= kAllSlots; });
  for (std::size_t j = 0; j < n; ++j) {
    if (jobs.min_slots[j] > jobs.max_slots[j]) {
      throw FieldError(
          "min_slots", j, static_cast<long long>(jobs.min_slots[j]),
          "above max_slots[" + std::to_string(j) + "] = " + std::to_string(jobs.max_slots[j]));
    }
  }
  validate_sla(jobs);
}

void validate_slots(std::int64_t slots) {
  if (slots < 1 || slots > kMostSlots) {
    throw std::invalid_argument("slots = " + std::to_string(slots) +
                                ": must be at least 1 and at most 2^50");
  }
}

}  // namespace malleable
