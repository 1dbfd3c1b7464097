#include "malleable/model/domain.hpp"

#include <cmath>
#include <limits>

#include "malleable/model/error.hpp"
#include "malleable/model/length.hpp"
#include "malleable/model/problem.hpp"

namespace malleable {
namespace {

bool is_time(double x) { return std::fabs(x) <= kLatestTime; }

const char* reason(double x, const Range& range) {
  if (range.least < 0.0) return std::isfinite(x) ? range.text : "must be finite";
  if (std::isfinite(x) && (x > 0.0 || (x == 0.0 && range.zero))) return range.text;
  return range.zero ? "must be finite and at least 0" : "must be finite and above 0";
}

const char* time_reason(double x) {
  return std::isfinite(x) ? "must be from -1e12 to 1e12 seconds" : "must be finite";
}

}  // namespace

void check_amounts(const char* field, std::span<const double> values, const Range& range) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!range.holds(values[j])) throw FieldError(field, j, values[j], reason(values[j], range));
  }
}

void check_times(const char* field, std::span<const double> values) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!is_time(values[j])) throw FieldError(field, j, values[j], time_reason(values[j]));
  }
}

void check_deadlines(std::span<const double> values) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (is_time(values[j]) || values[j] == kInfinity) continue;
    throw FieldError("deadline", j, values[j],
                     std::isfinite(values[j]) ? "must be from -1e12 to 1e12 seconds, or infinite"
                                              : "must be a time (none: leave it out)");
  }
}

void check_counts(const char* field, std::span<const std::int64_t> values, std::int64_t least,
                  std::int64_t most, const char* reason) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (values[j] >= least && values[j] <= most) continue;
    throw FieldError(field, j, static_cast<long long>(values[j]), reason);
  }
}

void check_row(std::span<const std::int64_t> rows, std::size_t k, std::size_t count) {
  if (rows[k] >= 0 && rows[k] < static_cast<std::int64_t>(count)) return;
  throw FieldError("rows", k, static_cast<long long>(rows[k]),
                   "there are " + counted(count, "row"));
}

void check_amount(const char* field, double value, const Range& range) {
  if (!range.holds(value)) throw FieldError(field, value, reason(value, range));
}

void check_time(const char* field, double value) {
  if (!is_time(value)) throw FieldError(field, value, time_reason(value));
}

void check_now(double now, double last) {
  check_time("now", now);
  if (now >= last) return;
  throw FieldError("now", now, "before " + std::to_string(last) + ", times never fall");
}

void validate_slots(std::int64_t slots) {
  if (slots < 1 || slots > kMostSlots) {
    throw std::invalid_argument("slots = " + std::to_string(slots) +
                                ": must be at least 1 and at most 2^50");
  }
}

void validate_capacity(std::int64_t slots) {
  if (slots < 0 || slots > kMostSlots) {
    throw std::invalid_argument("slots = " + std::to_string(slots) +
                                ": must be at least 0 and at most 2^50");
  }
}

void check_offsets(const std::string& field, std::span<const std::int64_t> offset, std::size_t rows,
                   std::size_t end) {
  check_length(field, offset.size(), rows + 1);
  for (std::size_t k = 0; k < rows; ++k) {
    if (offset[k + 1] < offset[k]) throw std::invalid_argument(field + " decreases");
  }
  if (offset.front() != 0 || offset.back() != static_cast<std::int64_t>(end)) {
    throw std::invalid_argument(field + " must run from 0 to " + std::to_string(end));
  }
}

}  // namespace malleable
